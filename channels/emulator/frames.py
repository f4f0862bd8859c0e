"""The long connection's frame, encoded and decoded by hand: a few microseconds instead of a protobuf runtime.

proto2 fields: SeqID=1 u64, LogID=2 u64, service=3 i32, method=4 i32 (0 control, 1 data), headers=5 repeated
{key=1, value=2}, payload_encoding=6, payload_type=7, payload=8 bytes, LogIDNew=9.
"""

from dataclasses import dataclass
from functools import lru_cache

CONTROL, DATA = 0, 1


@dataclass(frozen=True, slots=True)
class Frame:
    method: int
    headers: dict[str, str]
    payload: bytes
    service: int = 0
    seq_id: int = 0


def encode_frame(
    method: int, headers: tuple[tuple[str, str], ...], payload: bytes, *, service: int = 0, seq_id: int = 0
) -> bytes:
    """The bytes of one frame; `payload` may be empty."""
    out = bytearray(b"\x08")
    out += _varint(seq_id)
    out += b"\x10\x00\x18"
    out += _varint(service)
    out += b"\x20"
    out += _varint(method)
    for key, value in headers:
        value_bytes = value.encode()
        inner = _key_field(key) + _varint(len(value_bytes)) + value_bytes
        out += b"\x2a"
        out += _varint(len(inner))
        out += inner
    if payload:
        out += b"\x42"
        out += _varint(len(payload))
        out += payload
    return bytes(out)


def decode_frame(data: bytes) -> Frame:
    """Read one frame; unknown fields are skipped, a broken frame raises ValueError."""
    numbers: dict[int, int] = {}
    headers: dict[str, str] = {}
    payload = b""
    at = 0
    try:
        while at < len(data):
            tag, at = _read_varint(data, at)
            if tag & 7 == 0:
                numbers[tag >> 3], at = _read_varint(data, at)
                continue
            chunk, at = _read_bytes(data, at, tag & 7)
            if tag == 0x2A:
                key, value = _read_header(chunk)
                headers[key] = value
            elif tag == 0x42:
                payload = chunk
    except IndexError:
        raise ValueError("frame ends in the middle of a field") from None
    return Frame(numbers.get(4, 0), headers, payload, numbers.get(3, 0), numbers.get(1, 0))


def _read_header(chunk: bytes) -> tuple[str, str]:
    # Nearly every header is key then value, both shorter than 128 bytes; a header is read seven times per event.
    if chunk[0] == 0x0A and chunk[1] < 0x80:
        middle = 2 + chunk[1]
        if chunk[middle] == 0x12 and chunk[middle + 1] < 0x80 and middle + 2 + chunk[middle + 1] == len(chunk):
            return chunk[2:middle].decode(), chunk[middle + 2 :].decode()
    parts = {1: "", 2: ""}
    at = 0
    while at < len(chunk):
        tag, at = _read_varint(chunk, at)
        value, at = _read_bytes(chunk, at, tag & 7)
        parts[tag >> 3] = value.decode()
    return parts[1], parts[2]


@lru_cache(256)
def _key_field(key: str) -> bytes:
    """The key of a header and the tag of its value: the same few on every frame."""
    key_bytes = key.encode()
    return b"\x0a" + _varint(len(key_bytes)) + key_bytes + b"\x12"


def _read_bytes(data: bytes, at: int, wire_type: int) -> tuple[bytes, int]:
    if wire_type != 2:
        raise ValueError(f"wire type {wire_type} does not occur in a frame")
    size, at = _read_varint(data, at)
    if at + size > len(data):
        raise IndexError
    return data[at : at + size], at + size


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
