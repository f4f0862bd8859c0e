"""A question as the blocks of a prompt: text, and what came with it as far as the agent takes it.

Pictures go along as data where the agent takes pictures, short text files in their words where it takes embedded
resources, everything else as a link to the file in the session's folder, which every agent takes. Files are opened
without following links. Blocking: call it in a thread.
"""

import base64
import mimetypes
from dataclasses import dataclass
from typing import Any, Final

from channels.agents.enclosures import (
    MEDIA_TYPES,
    PICTURES_AT_MOST,
    TEXT_LIMIT_BYTES,
    as_text,
    read_bounded,
)
from channels.agents.failures import is_chinese
from channels.agents.history import fit_history
from channels.agents.protocol import Attachment, Said, TurnRequest
from channels.rules.downloads import ending_of

Block = dict[str, Any]
FILES_AT_MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Takes:
    """What the agent takes besides text and links."""

    image: bool = False
    embedded: bool = False


def blocks_of(turn: TurnRequest, takes: Takes, past: str = "") -> list[Block]:
    """The prompt. `past` is put before the question."""
    blocks: list[Block] = [{"type": "text", "text": f"{past}{turn.text}"}]
    pictures = 0
    for one in [one for one in turn.attachments if one.path is not None][:FILES_AT_MOST]:
        block = _block(one, takes, picture=takes.image and pictures < PICTURES_AT_MOST)
        pictures += block["type"] == "image"
        blocks.append(block)
    return blocks


def past_of(history: tuple[Said, ...], budget_tokens: int, language: str) -> str:
    """What was said so far, to be put before a question to an agent that does not know it; "" where there is none."""
    said = fit_history(history, budget_tokens)
    if not said:
        return ""
    names = {"user": "用户", "assistant": "你"} if is_chinese(language) else {"user": "User", "assistant": "You"}
    talk = "\n\n".join(f"{names.get(one.role, one.role)}: {one.text}" for one in said)
    if is_chinese(language):
        return f"以下是本次对话之前的内容，供你了解上下文：\n\n{talk}\n\n---\n现在的问题：\n\n"
    return f"This is what was said in this conversation so far, for your information:\n\n{talk}\n\n---\nNow:\n\n"


def _block(one: Attachment, takes: Takes, *, picture: bool) -> Block:
    assert one.path is not None
    uri = one.path.absolute().as_uri()
    kind = mimetypes.guess_type(one.name)[0]
    data = read_bounded(one)
    media_type = MEDIA_TYPES.get(ending_of(data)) if data is not None else None
    if picture and media_type is not None and data is not None:
        return {"type": "image", "mimeType": media_type, "data": base64.b64encode(data).decode(), "uri": uri}
    text = as_text(data) if takes.embedded and data is not None and len(data) <= TEXT_LIMIT_BYTES else None
    if text is not None:
        resource = {"uri": uri, "text": text} | ({"mimeType": kind} if kind else {})
        return {"type": "resource", "resource": resource}
    link = {"type": "resource_link", "uri": uri, "name": one.name} | ({"mimeType": kind} if kind else {})
    return link | ({"size": one.size_bytes} if one.size_bytes else {})
