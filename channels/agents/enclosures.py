"""What came with a question, as a chat model can take it: pictures as data, short text files in their words.

Whatever is not enclosed is named, so that the model does not speak as if it had seen it. Files lie in a folder that
other agents may write to: they are opened without following links. Blocking: call it in a thread.
"""

import base64
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from channels.agents.failures import is_chinese
from channels.agents.protocol import Attachment, TurnRequest
from channels.rules.downloads import ending_of

PICTURES_AT_MOST: Final = 10
PICTURE_LIMIT_BYTES: Final = 5 * 2**20
TEXT_LIMIT_BYTES: Final = 65_536
ALL_TEXT_LIMIT_BYTES: Final = 131_072
MEDIA_TYPES: Final = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class Enclosed:
    """The question's text with the words of its files, and its pictures as data addresses."""

    text: str
    pictures: tuple[str, ...] = ()


def enclose(turn: TurnRequest, *, vision: bool) -> Enclosed:
    """The question with everything that can go along; `vision`: the model takes pictures."""
    words, left_out = [turn.text], list[str]()
    pictures: list[str] = []
    room = ALL_TEXT_LIMIT_BYTES
    for one in turn.attachments:
        data = read_bounded(one)
        if data is None:
            continue
        picture = _picture(data) if vision and len(pictures) < PICTURES_AT_MOST else None
        text = as_text(data) if len(data) <= min(room, TEXT_LIMIT_BYTES) else None
        if picture is not None:
            pictures.append(picture)
        elif text is not None:
            room -= len(data)
            words.append(f"{one.name}:\n{_fenced(text)}")
        else:
            left_out.append(one.name)
    if left_out:
        words.append(_not_enclosed(left_out, turn.language))
    return Enclosed("\n\n".join(part for part in words if part), tuple(pictures))


def read_bounded(one: Attachment) -> bytes | None:
    """The bytes of a file that is there; of one that is far too large, some that nobody takes for text."""
    if one.path is None:
        return None
    try:
        opened = os.open(one.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return None
        return file.read() if found.st_size <= PICTURE_LIMIT_BYTES else b"\x00"


def _picture(data: bytes) -> str | None:
    media_type = MEDIA_TYPES.get(ending_of(data))
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}" if media_type else None


def as_text(data: bytes) -> str | None:
    """The words of a text file; None for anything else."""
    if b"\x00" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _fenced(text: str) -> str:
    """In a code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _not_enclosed(names: Iterable[str], language: str) -> str:
    listed = ", ".join(names)
    return f"（以下内容未随附：{listed}）" if is_chinese(language) else f"(Not shown to you: {listed})"


def has_files(turn: TurnRequest) -> bool:
    """Whether there is anything to read."""
    return any(isinstance(one.path, Path) for one in turn.attachments)
