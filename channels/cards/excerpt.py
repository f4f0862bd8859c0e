"""Cutting text to fit: by bytes in the request, and never inside a character."""

import re
import unicodedata

from channels.cards.card import wire_size

# Control characters that no client shows; newline and tab stay. Half surrogates come from models that cut an emoji in
# two: they cannot be sent as UTF-8.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ZERO_WIDTH_JOINER = "\u200d"


def tidy(text: str) -> str:
    """The same text, fit to be sent: one kind of line end, no control characters, no half characters."""
    return _SURROGATE.sub("\ufffd", _UNSHOWABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def clip(text: str, limit_bytes: int) -> str:
    """The beginning of `text` within `limit_bytes` of the request, with "…" where something was left out."""
    text = tidy(text).strip()
    if wire_size(text) <= limit_bytes:
        return text
    return text[: fitting(text, limit_bytes - 3)].rstrip() + "…"


def cut_lines(text: str, limit_bytes: int, limit_lines: int) -> tuple[str, int]:
    """The first lines of `text` that fit, and how many do not (a line that is too long by itself counts)."""
    lines, kept, room = text.split("\n"), [], limit_bytes
    for line in lines[:limit_lines]:
        room -= wire_size(line + "\n")
        if room < 0:
            break
        kept.append(line)
    if not kept:
        return clip(lines[0], limit_bytes), len(lines)
    return "\n".join(kept), len(lines) - len(kept)


def tail(text: str, limit_bytes: int) -> str:
    """The end of `text` within `limit_bytes`, beginning at a line or a word where one is near."""
    if len(text) * 12 <= limit_bytes or (len(text) <= limit_bytes and wire_size(text) <= limit_bytes):
        return text
    cut = text[-limit_bytes:]
    backwards = cut[::-1]
    cut = cut[len(cut) - _fitting_characters(backwards, limit_bytes) :]
    near = re.search(r"\n|(?<=[。！？.!?])\s?|\s", cut[:200])
    return cut[near.end() :] if near else cut


def one_line(text: str, limit_characters: int) -> str:
    """The text on one line, at most so many characters."""
    line = " ".join(tidy(text[: limit_characters * 4]).split())
    return line if len(line) <= limit_characters else line[: limit_characters - 1].rstrip() + "…"


def fitting(text: str, limit_bytes: int) -> int:
    """How many characters of `text` fit, ending at the end of a character as people see it (≥ 1)."""
    end = max(_fitting_characters(text, limit_bytes), 1)
    return grapheme_end(text, end)


def grapheme_end(text: str, end: int) -> int:
    """The last place at or before `end` that does not split a character, its accents or a joined emoji (≥ 1)."""
    place = end
    while 0 < place < len(text) and _joined(text, place):
        place -= 1
    return place or end


def _joined(text: str, place: int) -> bool:
    after, before = text[place], text[place - 1]
    if unicodedata.combining(after) or after in "\ufe0e\ufe0f\u20e3" or after == _ZERO_WIDTH_JOINER:
        return True
    if before == _ZERO_WIDTH_JOINER or 0x1F3FB <= ord(after) <= 0x1F3FF:
        return True
    return _is_flag(after) and _is_flag(before)


def _is_flag(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _fitting_characters(text: str, limit_bytes: int) -> int:
    low, high = 0, min(len(text), max(limit_bytes, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if wire_size(text[:middle]) <= limit_bytes else (low, middle - 1)
    return low
