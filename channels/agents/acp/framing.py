"""A byte stream cut into lines, in bounded memory. Pure.

An agent may write anything: half lines, lines of many megabytes, no line end at all. A line longer than the limit is
not kept; what stood at its beginning is, so that the reader can tell what was lost.
"""

from dataclasses import dataclass
from typing import Final

LONGEST_LINE_BYTES: Final = 16 * 2**20
HEAD_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line that was too long: its first bytes, and how many there were when that showed."""

    head: bytes
    size_bytes: int


class LineCutter:
    """Feed bytes, take lines (without their end). An unfinished last line stays until its end comes."""

    def __init__(self, limit_bytes: int = LONGEST_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._skipping = False

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def take(self) -> bytes | Oversized | None:
        """The next whole line, or None when there is none yet. A line that is too long is told of as soon as that
        shows, once; its rest is passed over."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0 and len(self._buffer) <= self._limit:
            self._searched = len(self._buffer)
            return None
        size = len(self._buffer) if end < 0 else end
        first, self._searched = not self._skipping, 0
        line = bytes(self._buffer[: size if first and size <= self._limit else HEAD_BYTES])
        del self._buffer[: size + 1]
        self._skipping = end < 0
        if not first:
            return self.take()
        return line if size <= self._limit else Oversized(line, size)
