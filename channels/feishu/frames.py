"""Frames of the long connection: bytes ↔ values, and putting chunks together. Pure: time is an argument.

One protobuf message per binary WebSocket message (feishu.md §1). A frame's headers keep their order and unknown ones
are kept too: an ack is the received frame with a new payload and one more header.
"""

import base64
import json
import struct
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lark_channel.ws.pb.google.protobuf.message import DecodeError
from lark_channel.ws.pb.pbbp2_pb2 import Frame as WireFrame

CONTROL, DATA = 0, 1
OK, FAILED = 200, 500

# The vendored parser, given junk, raises more than its own error (found by fuzzing).
_PARSE_ERRORS = (DecodeError, ValueError, LookupError, TypeError, AttributeError, struct.error, RecursionError)


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

    def header(self, key: str, default: str = "") -> str:
        """The first value of `key`."""
        return next((value for name, value in self.headers if name == key), default)

    def number(self, key: str, default: int) -> int:
        """The header as a whole number ≥ 0, `default` where it is absent or something else."""
        text = self.header(key)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


def decode(data: bytes) -> Frame:
    """The frame in `data`; raises BadFrame for anything else."""
    wire = WireFrame()
    try:
        wire.ParseFromString(data)
        headers = tuple((header.key, header.value) for header in wire.headers)
    except _PARSE_ERRORS as error:
        raise BadFrame(f"{len(data)} bytes are no frame: {type(error).__name__}") from error
    if not wire.IsInitialized():
        raise BadFrame(f"{len(data)} bytes lack a required field")
    return Frame(
        wire.SeqID, wire.LogID, wire.service, wire.method, headers, wire.payload,
        *(_optional(wire, name) for name in ("payload_encoding", "payload_type", "LogIDNew")),
    )  # fmt: skip


def encode(frame: Frame) -> bytes:
    """The bytes of `frame`."""
    wire = WireFrame()
    wire.SeqID, wire.LogID = frame.seq_id, frame.log_id
    wire.service, wire.method = frame.service, frame.method
    for key, value in frame.headers:
        header = wire.headers.add()
        header.key, header.value = key, value
    wire.payload = frame.payload
    for name, text in (
        ("payload_encoding", frame.payload_encoding),
        ("payload_type", frame.payload_type),
        ("LogIDNew", frame.log_id_new),
    ):
        if text is not None:
            setattr(wire, name, text)
    return bytes(wire.SerializeToString())


def ping(service: int) -> Frame:
    """The control frame that asks for a pong; `service` is the service_id of the dialled address."""
    return Frame(service=service, method=CONTROL, headers=(("type", "ping"),))


def ack(frame: Frame, code: int, data: Mapping[str, object] | None = None, biz_rt_ms: int = 0) -> Frame:
    """The answer to a data frame: code OK or FAILED, `data` the answer to a card click."""
    body: dict[str, object] = {"code": code}
    if data is not None:
        body["data"] = base64.b64encode(json.dumps(data, ensure_ascii=False).encode()).decode()
    headers = (*frame.headers, ("biz_rt", str(biz_rt_ms)))
    return replace(frame, headers=headers, payload=json.dumps(body, separators=(",", ":")).encode())


def _optional(wire: Any, name: str) -> str | None:
    return str(getattr(wire, name)) if wire.HasField(name) else None


@dataclass(slots=True)
class _Partial:
    total: int
    first_at_s: float
    parts: dict[int, bytes] = field(default_factory=dict)


class Chunks:
    """Puts the chunks of events together: any order, repeats harmless, each event completed at most once in a while.

    Feishu may repeat a chunk after the event was complete; the official client then runs its handler again. Here a
    completed id is remembered for `remember_s` and its late chunks are dropped; that must stay under 15 s, the first
    redelivery, which has to get through. Bounded in ids, parts and bytes: the oldest incomplete event goes first
    (Feishu sends it again, because nobody acked it).
    """

    def __init__(
        self, *, expiry_s: float = 5.0, remember_s: float = 10.0, most_ids: int = 256, most_bytes: int = 32 * 2**20
    ) -> None:
        self._expiry_s, self._remember_s = expiry_s, remember_s
        self._most_ids, self._most_bytes = most_ids, most_bytes
        self._partials: OrderedDict[str, _Partial] = OrderedDict()
        self._completed: OrderedDict[str, float] = OrderedDict()
        self._bytes = 0

    def add(self, frame: Frame, now_s: float) -> bytes | None:
        """The whole payload when `frame` completes its event (or is not chunked), else None."""
        total, seq = frame.number("sum", 1), frame.number("seq", 0)
        if total <= 1:
            return frame.payload
        self._forget(now_s)
        key = frame.header("message_id")
        if not key or seq >= total or total > 4096 or key in self._completed:
            return None
        partial = self._partials.get(key)
        if partial is None or partial.total != total:
            self._drop(key)
            partial = self._partials[key] = _Partial(total, now_s)
        self._put(partial, seq, frame.payload)
        if len(partial.parts) < total:
            self._shrink()
            return None
        whole = b"".join(partial.parts[index] for index in range(total))
        self._drop(key)
        self._completed[key] = now_s
        return whole

    def unmark(self, frame: Frame) -> None:
        """Forget that this event was complete: it was refused with 500 and will be sent again under the same id."""
        self._completed.pop(frame.header("message_id"), None)

    def clear(self) -> None:
        """Forget everything: the connection that it came from is gone, and what was not acked there comes again."""
        self._partials.clear()
        self._completed.clear()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._partials)

    def _put(self, partial: _Partial, seq: int, payload: bytes) -> None:
        self._bytes += len(payload) - len(partial.parts.get(seq, b""))
        partial.parts[seq] = payload

    def _drop(self, key: str) -> None:
        if (partial := self._partials.pop(key, None)) is not None:
            self._bytes -= sum(map(len, partial.parts.values()))

    def _forget(self, now_s: float) -> None:
        while self._partials and next(iter(self._partials.values())).first_at_s <= now_s - self._expiry_s:
            self._drop(next(iter(self._partials)))
        while self._completed and next(iter(self._completed.values())) <= now_s - self._remember_s:
            self._completed.popitem(last=False)

    def _shrink(self) -> None:
        while len(self._partials) > self._most_ids or (self._partials and self._bytes > self._most_bytes):
            self._drop(next(iter(self._partials)))
