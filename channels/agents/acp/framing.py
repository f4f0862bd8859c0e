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
    """A line that was too long: its first bytes and its whole size so far."""

    head: bytes
    size_bytes: int


class LineCutter:
    """Feed bytes, take lines (without their end). An unfinished last line stays until its end comes."""

    def __init__(self, limit_bytes: int = LONGEST_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._head: bytes | None = None  # of a line that is being skipped
        self._skipped = 0

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def take(self) -> bytes | Oversized | None:
        """The next whole line, or None when there is none yet."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            if self._searched > self._limit:
                self._skip(self._searched)
            return None
        size = self._skipped + end
        if self._head is not None or size > self._limit:
            self._skip(end + 1)
            lost, self._head, self._skipped = Oversized(self._head or b"", size), None, 0
            return lost
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def _skip(self, size: int) -> None:
        if self._head is None:
            self._head = bytes(self._buffer[:HEAD_BYTES])
        self._skipped += size
        del self._buffer[:size]
        self._searched = 0
