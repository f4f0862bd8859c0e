"""Whose file is this, and of which version: read from its bytes alone, so that a refused file is never touched.

Opening a file through SQLite may recover its -wal, and closing it checkpoints: both write. So the two numbers come from
page 1 of the file, or from the newest committed copy of page 1 in the -wal that a killed process left.
Format: https://www.sqlite.org/fileformat2.html §1.3 (bytes 60 and 68) and §4.1 (WAL header and frames).
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from channels.errors import StartRefused

APPLICATION_ID = 0x4643484E  # "FCHN"

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_WAL_HEADER = struct.Struct(">IIIIIIII")  # magic, version, page size, checkpoint number, salt 1, salt 2, checksums
_WAL_MAGICS = (0x377F0682, 0x377F0683)
_WAL_FRAME = struct.Struct(">IIIIII")  # page number, pages after commit (0: no commit), salt 1, salt 2, checksums


@dataclass(frozen=True, slots=True)
class Header:
    """The two numbers that SQLite keeps for the application."""

    application_id: int
    user_version: int


def read_header(path: Path) -> Header | None:
    """The header of a database file; None when the file is missing or empty. Raises `StartRefused`, writes nothing."""
    wal = path.with_name(path.name + "-wal")
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        if wal.exists() and wal.stat().st_size > 0:
            raise StartRefused(f"{path} is missing or empty but {wal.name} has data: put both back, or move it away")
        return None
    if not path.is_file():
        raise StartRefused(f"{path} is {'a folder' if path.is_dir() else 'not a plain file'}: name a file in it")
    with path.open("rb") as file:
        first = file.read(_HEADER_BYTES)
    if len(first) < _HEADER_BYTES or not first.startswith(_MAGIC):
        raise StartRefused(f"{path} is not a database: it was left as it is; name another file")
    if wal.exists():
        with wal.open("rb") as file:
            first = _newest_first_page(file) or first
    return Header(
        application_id=int.from_bytes(first[68:72], "big", signed=True),
        user_version=int.from_bytes(first[60:64], "big", signed=True),
    )


def check_header(path: Path, newest: int) -> Header | None:
    """`read_header`, refusing a file of another program and one of a newer version than `newest`."""
    header = read_header(path)
    if header is None:
        return None
    if header.application_id != APPLICATION_ID:
        raise StartRefused(
            f"{path} belongs to another program (application id {header.application_id:#x}, ours is "
            f"{APPLICATION_ID:#x}): it was left as it is; name another file"
        )
    if not 0 <= header.user_version <= newest:
        raise StartRefused(
            f"{path} has version {header.user_version}, this program knows versions up to {newest}: it was left as it "
            "is; install the newer program again, or restore a backup from before its upgrade"
        )
    return header


def _newest_first_page(wal: BinaryIO) -> bytes | None:
    """Page 1's first bytes as of the last COMMIT in a -wal, or None.

    Frames of an earlier round have other salts and end the walk. Checksums are not computed (pure Python would take a
    second for a full -wal): a torn last transaction can at most make a file look newer, which refuses it.
    """
    head = wal.read(_WAL_HEADER.size)
    if len(head) < _WAL_HEADER.size:
        return None
    magic, _, page_bytes, _, salt_1, salt_2, _, _ = _WAL_HEADER.unpack(head)
    if magic not in _WAL_MAGICS:
        return None
    committed: bytes | None = None
    pending: bytes | None = None
    offset = _WAL_HEADER.size
    while len(frame := wal.read(_WAL_FRAME.size)) == _WAL_FRAME.size:
        page, pages_after_commit, frame_salt_1, frame_salt_2, _, _ = _WAL_FRAME.unpack(frame)
        if (frame_salt_1, frame_salt_2) != (salt_1, salt_2):
            break
        if page == 1:
            found = wal.read(_HEADER_BYTES)
            pending = found if len(found) == _HEADER_BYTES else None
        if pages_after_commit:
            committed, pending = pending or committed, None
        offset += _WAL_FRAME.size + page_bytes
        wal.seek(offset)
    return committed
