"""The bytes of one frame: proto2, nine fields (feishu.md §1), read and written by hand. Pure.

The official classes are a pure-Python protobuf runtime and take more than twice as long, on the path where every event
waits for its ack. They stay the witness: the tests compare every frame with them, both ways.
"""

from dataclasses import dataclass, field

CONTROL, DATA = 0, 1
_REQUIRED = 0b11110  # fields 1 to 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PAYLOAD = 8


class BadFrame(ValueError):
    """Bytes that are no frame. Skip them; the next frame may be good."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. `method` is CONTROL or DATA; the last three fields are only carried through."""

    seq_id: int = 0
    log_id: int = 0
    service: int = 0
    method: int = CONTROL
    headers: tuple[tuple[str, str], ...] = ()
    payload: bytes = b""
    payload_encoding: str | None = None
    payload_type: str | None = None
    log_id_new: str | None = None
    head: bytes = field(default=b"", compare=False, repr=False)  # of a decoded frame: its bytes but for the payload

    def header(self, key: str, default: str = "") -> str:
        """The first value of `key`."""
        for name, value in self.headers:
            if name == key:
                return value
        return default

    def number(self, key: str, default: int) -> int:
        """The header as a whole number ≥ 0, `default` where it is absent or something else."""
        text = self.header(key)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


def decode(data: bytes) -> Frame:
    """The frame in `data`; raises BadFrame for anything else. Unknown fields are passed over."""
    numbers, texts = [0, 0, 0, 0, 0], {}
    headers: list[tuple[str, str]] = []
    head, kept_to = b"", 0
    seen, at, end = 0, 0, len(data)
    try:
        while at < end:
            start = at
            tag, at = _varint(data, at)
            number, kind = tag >> 3, tag & 7
            if kind == _VARINT:
                value, at = _varint(data, at)
                if 1 <= number <= 4:
                    numbers[number] = value
                    seen |= 1 << number
            elif kind == _BYTES:
                size, at = _varint(data, at)
                part, at = data[at : at + size], at + size
                if number == 5:
                    headers.append(_header(part))
                    continue
                texts[number] = part
                if number == _PAYLOAD:
                    head, kept_to = head + data[kept_to:start], at
            else:
                at += _fixed_size(kind, number)
        if at != end or seen != _REQUIRED:
            raise BadFrame(f"{end} bytes break off or lack a required field")
        encoding, payload_type, log_id_new = (texts[field].decode() if field in texts else None for field in (6, 7, 9))
    except (IndexError, UnicodeDecodeError) as error:
        raise BadFrame(f"{end} bytes are no frame: {type(error).__name__}") from None
    return Frame(
        numbers[1],
        numbers[2],
        _signed(numbers[3]),
        _signed(numbers[4]),
        tuple(headers),
        texts.get(8, b""),
        encoding,
        payload_type,
        log_id_new,
        head + data[kept_to:],
    )


def encode_reply(frame: Frame, header: tuple[str, str], payload: bytes) -> bytes:
    """The bytes of a decoded `frame` sent back with one more header and another payload, all else as it came."""
    out = bytearray(frame.head)
    _put_header(out, *header)
    _put_bytes(out, 66, payload)
    return bytes(out)


def encode(frame: Frame) -> bytes:
    """The bytes of `frame`."""
    out = bytearray()
    for tag, number in ((8, frame.seq_id), (16, frame.log_id), (24, frame.service), (32, frame.method)):
        out.append(tag)
        _put_varint(out, number & 0xFFFFFFFFFFFFFFFF)
    for key, value in frame.headers:
        _put_header(out, key, value)
    for tag, text in ((50, frame.payload_encoding), (58, frame.payload_type)):
        if text is not None:
            _put_bytes(out, tag, text.encode())
    _put_bytes(out, 66, frame.payload)
    if frame.log_id_new is not None:
        _put_bytes(out, 74, frame.log_id_new.encode())
    return bytes(out)


def _put_header(out: bytearray, key: str, value: str) -> None:
    inner = bytearray()
    _put_bytes(inner, 10, key.encode())
    _put_bytes(inner, 18, value.encode())
    _put_bytes(out, 42, inner)


def _header(data: bytes) -> tuple[str, str]:
    """A key and a value, both required."""
    middle = data[1] + 2  # nearly always: key, then value, both shorter than 128 bytes
    if data[0] == 10 and data[1] < 0x80 and data[middle] == 18 and len(data) - middle - 2 == data[middle + 1] < 0x80:
        return data[2:middle].decode(), data[middle + 2 :].decode()
    parts: list[bytes | None] = [None, None, None]
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _BYTES:
            size, at = _varint(data, at)
            if number <= 2:
                parts[number] = data[at : at + size]
            at += size
        elif kind == _VARINT:
            _, at = _varint(data, at)
        else:
            at += _fixed_size(kind, number)
    if at != end or parts[1] is None or parts[2] is None:
        raise BadFrame("a header breaks off or lacks its key or value")
    return parts[1].decode(), parts[2].decode()


def _fixed_size(kind: int, number: int) -> int:
    """How long a field is that only stands in our way."""
    if kind == _FIXED64:
        return 8
    if kind == _FIXED32:
        return 4
    raise BadFrame(f"field {number} has wire type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    number, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at + 1
        shift += 7
        if shift > 63:
            raise BadFrame("a number of more than ten bytes")


def _signed(number: int) -> int:
    """An int32 as protobuf writes it: sign-extended to 64 bits."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def _put_varint(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _put_bytes(out: bytearray, tag: int, data: bytes | bytearray) -> None:
    out.append(tag)
    _put_varint(out, len(data))
    out += data
