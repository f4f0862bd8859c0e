"""Frames of the long connection: ping, ack, and putting chunks together. Pure: time is an argument.

One protobuf message per binary WebSocket message (feishu.md §1). A frame's headers keep their order and unknown ones
are kept too: an ack is the received frame with a new payload and one more header.
"""

import base64
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from channels.feishu.protobuf import CONTROL, DATA, BadFrame, Frame, decode, encode, encode_reply

__all__ = ["CONTROL", "DATA", "FAILED", "OK", "BadFrame", "Chunks", "Frame", "ack", "decode", "encode", "ping"]

OK, FAILED = 200, 500


def ping(service: int) -> Frame:
    """The control frame that asks for a pong; `service` is the service_id of the dialled address."""
    return Frame(service=service, method=CONTROL, headers=(("type", "ping"),))


def ack(frame: Frame, code: int, data: Mapping[str, object] | None = None, biz_rt_ms: int = 0) -> bytes:
    """The bytes that answer a received data frame: code OK or FAILED, `data` the answer to a card click."""
    body: dict[str, object] = {"code": code}
    if data is not None:
        body["data"] = base64.b64encode(json.dumps(data, ensure_ascii=False).encode()).decode()
    return encode_reply(frame, ("biz_rt", str(biz_rt_ms)), json.dumps(body, separators=(",", ":")).encode())


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
