"""Events on their way: one random connection per attempt, the 3-second limit, redelivery, and callbacks."""

import asyncio
import base64
import binascii
import json
import secrets
import time
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from channels.emulator.behaviour import SocketBehaviour
from channels.emulator.clock import Timer
from channels.emulator.frames import Frame
from channels.emulator.ledger import Delivery
from channels.emulator.tenant import Answer
from channels.emulator.views import Json
from channels.emulator.world import World

CALLBACK = "card.action.trigger"


class Wire(Protocol):
    """The sockets, as far as a delivery needs them."""

    behaviour: SocketBehaviour

    def send_event(self, frame_id: str, payload: bytes) -> str:
        """Send on a random connection and return its id, or "" when nobody is connected."""
        ...


@dataclass(slots=True)
class Push:
    """One event and how often it was tried."""

    event_type: str
    event: Json
    message_id: str
    event_id: str
    payload: bytes
    attempts: int = 0
    duplicates: int = 0
    acked: bool = False
    answer: asyncio.Future[Answer] | None = None  # callbacks only


@dataclass(slots=True)
class Attempt:
    push: Push
    delivery: Delivery
    sent_at: float
    timer: Timer | None
    expired: bool = False


class Deliveries:
    def __init__(self, world: World, wire: Wire) -> None:
        self._world, self._wire = world, wire
        self._attempts: dict[str, Attempt] = {}
        self._count = 0
        self._prefix = secrets.token_hex(6)
        self._stopped = False

    def push(self, event_type: str, event: Json, message_id: str) -> None:
        """Deliver an event until it is acknowledged or the schedule ends."""
        if self._stopped or event_type not in self._world.settings.events:
            return
        self._try(self._new_push(event_type, event, message_id))

    async def call_back(self, event: Json, message_id: str) -> Answer:
        """Deliver a card callback once and wait for its answer."""
        settings = self._world.settings
        if not settings.callback_configured or CALLBACK not in settings.events:
            return Answer(200340)
        push = self._new_push(CALLBACK, event, message_id)
        push.answer = asyncio.get_running_loop().create_future()
        self._try(push)
        return await push.answer

    def acknowledge(self, frame: Frame) -> None:
        """A data frame came back."""
        if delay_s := self._wire.behaviour.ack_delay_s:
            self._world.clock.call_after(delay_s, partial(self._acknowledge, frame))
        else:
            self._acknowledge(frame)

    def stop(self) -> None:
        self._stopped = True
        for attempt in self._attempts.values():
            if attempt.push.answer is not None and not attempt.push.answer.done():
                attempt.push.answer.set_result(Answer(200341))
        self._attempts.clear()

    @property
    def open_attempts(self) -> int:
        """Attempts that still wait for their ack."""
        return sum(not attempt.expired for attempt in self._attempts.values())

    def _new_push(self, event_type: str, event: Json, message_id: str) -> Push:
        push = Push(event_type, event, message_id, "", b"")
        self._seal(push)
        return push

    def _seal(self, push: Push) -> None:
        """Give the event an id and make its bytes."""
        self._count += 1
        push.event_id = f"{self._prefix}{self._count:020x}"
        settings, now_ms = self._world.settings, self._world.clock.now_ms()
        header = {
            "event_id": push.event_id,
            "event_type": push.event_type,
            "create_time": str(now_ms * 1000 if push.event_type == CALLBACK else now_ms),
            "token": settings.verification_token,
            "app_id": settings.app_id,
            "tenant_key": settings.tenant_key,
        }
        body = {"schema": "2.0", "header": header, "event": push.event}
        push.payload = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    def _try(self, push: Push) -> None:
        if self._stopped:
            return
        if push.attempts and self._wire.behaviour.new_event_ids:
            self._seal(push)
        push.attempts += 1
        self._count += 1
        frame_id = f"{self._prefix}-{self._count}"
        world, clock = self._world, self._world.clock
        connection = self._wire.send_event(frame_id, push.payload)
        delivery = Delivery(clock.now_ms(), push.event_type, push.event_id, push.message_id, push.attempts, connection)
        world.ledger.record_delivery(delivery)
        attempt = Attempt(push, delivery, time.perf_counter(), None)
        if not connection:
            self._give_up(attempt)
            return
        limit_s = world.settings.callback_timeout_s if push.answer else world.settings.ack_timeout_s
        attempt.timer = clock.call_after(limit_s, partial(self._expire, frame_id))
        self._attempts[frame_id] = attempt

    def _expire(self, frame_id: str) -> None:
        attempt = self._attempts.get(frame_id)
        if attempt is not None:
            attempt.expired = True
            self._give_up(attempt)

    def _give_up(self, attempt: Attempt) -> None:
        """This attempt failed: try again on the schedule; a callback is never tried again."""
        push, settings = attempt.push, self._world.settings
        if push.answer is not None:
            if not push.answer.done():
                push.answer.set_result(Answer(200341))
        elif (attempt.delivery.connection or settings.redeliver_when_offline) and push.attempts <= len(
            settings.redelivery_s
        ):
            wait_s = settings.redelivery_s[push.attempts - 1] * settings.time_scale
            self._world.clock.call_after(wait_s, partial(self._try, push))
        self._world.ledger.changed()

    def _acknowledge(self, frame: Frame) -> None:
        attempt = self._attempts.pop(frame.headers.get("message_id", ""), None)
        if attempt is None:
            return
        if attempt.timer is not None:
            attempt.timer.cancel()
        code, answer = _read_ack(frame.payload)
        delivery, push = attempt.delivery, attempt.push
        delivery.ack_code, delivery.late = code, attempt.expired
        delivery.latency_ms = (time.perf_counter() - attempt.sent_at) * 1000
        if attempt.expired:
            self._world.ledger.changed()
        elif push.answer is not None:
            if not push.answer.done():
                push.answer.set_result(answer if code == 200 else Answer(200671))
            self._world.ledger.changed()
        elif code != 200:
            self._give_up(attempt)
        else:
            self._settle(push)

    def _settle(self, push: Push) -> None:
        """Acknowledged; the platform may still deliver it again."""
        behaviour = self._wire.behaviour
        if push.duplicates < behaviour.duplicates:
            push.duplicates += 1
            self._world.clock.call_after(behaviour.duplicate_after_s, partial(self._try, push))
        self._world.ledger.changed()


def _read_ack(payload: bytes) -> tuple[int, Answer]:
    """The ack's code, and the answer of a callback inside it."""
    if payload == b'{"code":200}':
        return 200, Answer()
    try:
        ack = json.loads(payload)
        code = int(ack["code"])
    except (ValueError, KeyError, TypeError):
        return 0, Answer(200672)
    data = ack.get("data")
    if not data:
        return code, Answer()
    try:
        return code, Answer(0, json.loads(base64.b64decode(data, validate=True)))
    except (ValueError, TypeError, binascii.Error):
        return code, Answer(200672)
