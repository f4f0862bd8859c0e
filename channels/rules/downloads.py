"""Files that people send: how much of them is taken, and under which names they are kept. Pure.

A name comes from whoever sent the file. `file_name` makes it one harmless component of a path on any system: no
separator, no control or direction characters, no device name, no leading dot, at most 120 bytes with its ending kept.
"""

import re
import unicodedata
from dataclasses import dataclass

MEGABYTE = 2**20
LONGEST_NAME_BYTES = 120
LONGEST_ENDING_BYTES = 16

_SEPARATORS = re.compile(r"[/\\:*?\"<>|\x00-\x1f\x7f]")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_DEFAULTS = {"image": "picture", "audio": "voice", "video": "video", "file": "file"}
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "png"),
    (0, b"\xff\xd8\xff", "jpg"),
    (0, b"GIF8", "gif"),
    (8, b"WEBP", "webp"),
    (0, b"BM", "bmp"),
    (0, b"OggS", "opus"),
    (4, b"ftyp", "mp4"),
    (0, b"%PDF", "pdf"),
)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What one turn may take: files, bytes of each, seconds for all."""

    largest_bytes: int = 30 * MEGABYTE
    most: int = 20
    time_limit_s: float = 60.0


def file_name(name: str, kind: str, data: bytes = b"") -> str:
    """The name to keep a file under; made from its kind and its first bytes where it has none of its own."""
    cleaned = "".join("_" if unicodedata.category(sign) in _UNSEEN else sign for sign in _SEPARATORS.sub("_", name))
    cleaned = " ".join(cleaned.split()).lstrip(". ").rstrip(". ")
    if not cleaned.strip("_. "):
        cleaned = _default(kind, data)
    stem, dot, ending = cleaned.rpartition(".")
    if not dot or len(ending.encode()) > LONGEST_ENDING_BYTES:
        stem, ending = cleaned, ""
    if stem.partition(".")[0].strip().lower() in _RESERVED:
        stem = f"_{stem}"
    ending = f".{ending}" if ending else ""
    return _cut(stem, LONGEST_NAME_BYTES - len(ending.encode())).rstrip(". ") + ending


def numbered(name: str, number: int) -> str:
    """The same name for the second, third … file that has it; the first keeps it."""
    if number == 1:
        return name
    stem, dot, ending = name.rpartition(".")
    return f"{stem} ({number}).{ending}" if dot else f"{name} ({number})"


def ending_of(data: bytes) -> str:
    """What kind of file begins so; "" where that is not known."""
    return next((ending for at, sign, ending in _SIGNATURES if data[at : at + len(sign)] == sign), "")


def _default(kind: str, data: bytes) -> str:
    ending = ending_of(data)
    stem = _DEFAULTS.get(kind, "file")
    return f"{stem}.{ending}" if ending else stem


def _cut(text: str, limit_bytes: int) -> str:
    """The beginning of `text` within so many bytes, whole characters."""
    return text.encode("utf-8", "replace")[:limit_bytes].decode("utf-8", "ignore")
