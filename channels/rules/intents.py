"""The intents of a turn, built from plain values, so that every effect has its row before it happens.

Lanes: everything that makes or closes the turn's cards goes through `turn:<turn_id>` one after another (a segment never
overtakes the one before it, a close never its card); reactions go through `react:<turn_id>` beside it.
"""

import json
from dataclasses import dataclass
from typing import Any

from channels.ids import ChatId, IntentId, MessageId, SendUuid, SessionId, TurnId
from channels.rules.delivery import Intent

TYPING, DONE = "Typing", "DONE"
OPENING, NOTIFY = "topic", "notify"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn card: its JSON, and the same in plain text."""

    card: str
    text: str


def turn_lane(turn_id: TurnId) -> str:
    return f"turn:{turn_id}"


def reaction_lane(turn_id: TurnId) -> str:
    return f"react:{turn_id}"


def topic_lane(turn_id: TurnId) -> str:
    return f"topic:{turn_id}"


def payload(**values: object) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def read_payload(intent: Intent) -> dict[str, Any]:
    """The values that `payload` wrote."""
    values: dict[str, Any] = json.loads(intent.payload)
    return values


@dataclass(frozen=True, slots=True)
class TurnIntents:
    """Builds the intents of one turn; `target` is the message that is answered. None: nobody's message caused it, and
    its main card goes plainly to the chat; what comes after hangs under that card, as soon as it is there."""

    turn_id: TurnId
    chat_id: ChatId
    target: MessageId | None
    receive: str = ""  # the kind of id that `chat_id` is until the private chat is known

    def typing(self, uuid: SendUuid) -> Intent:
        return self._reaction("typing", "add", uuid, TYPING, terminal=False)

    def untyping(self, uuid: SendUuid) -> Intent:
        return self._reaction("untyping", "remove", uuid, TYPING, terminal=True)

    def done(self, uuid: SendUuid) -> Intent:
        return self._reaction("done", "add", uuid, DONE, terminal=True)

    def card(self, segment: int, drawing: Drawing, uuids: tuple[SendUuid, SendUuid], *, final: bool) -> list[Intent]:
        """A new card of the turn: its entity, then the message that shows it. `final`: nothing will follow."""
        plain = segment == 0 and self.target is None
        kind = "segment" if segment else "send" if plain else "reply"
        said = {"card": drawing.card, "text": drawing.text if final else ""}
        body = payload(**said, receive=self.receive) if self.receive and plain else payload(**said)
        op = "send" if plain else "reply"
        return [
            self._turn(f"create/{segment}", "card", "create", segment, payload(card=drawing.card), uuids[0]),
            self._turn(f"{kind}/{segment}", kind, op, segment, body, uuids[1], terminal=final),
        ]

    def close(self, segment: int, drawing: Drawing, uuid: SendUuid) -> Intent:
        """The last update of a card."""
        body = payload(card=drawing.card, text=drawing.text)
        return self._turn(f"close/{segment}", "card", "close", segment, body, uuid, terminal=True)

    def _turn(
        self, name: str, kind: str, op: str, segment: int, body: str, uuid: SendUuid, *, terminal: bool = False
    ) -> Intent:
        return Intent(
            intent_id=IntentId(f"{self.turn_id}/{name}"),
            kind=kind,
            op=op,
            lane=turn_lane(self.turn_id),
            chat_id=self.chat_id,
            target=self.target or "",
            payload=body,
            uuid=uuid,
            turn_id=self.turn_id,
            segment=segment,
            terminal=terminal,
        )

    def _reaction(self, name: str, op: str, uuid: SendUuid, emoji: str, *, terminal: bool) -> Intent:
        return Intent(
            intent_id=IntentId(f"{self.turn_id}/{name}"),
            kind="reaction",
            op=op,
            lane=reaction_lane(self.turn_id),
            chat_id=self.chat_id,
            target=self.target or "",
            payload=payload(emoji=emoji),
            uuid=uuid,
            turn_id=self.turn_id,
            terminal=terminal,
        )


def notice(
    name: str, chat_id: ChatId, target: MessageId, drawing: Drawing, uuid: SendUuid, *, in_thread: bool
) -> Intent:
    """A stand-alone answer card (help, status, refusal), replied to `target`."""
    return Intent(
        intent_id=IntentId(f"{target}/{name}"),
        kind="reply",
        op="notice",
        lane=f"notice:{target}",
        chat_id=chat_id,
        target=target,
        payload=payload(card=drawing.card, text=drawing.text, in_thread=in_thread),
        uuid=uuid,
    )


def send(name: IntentId, lane: str, chat_id: ChatId, body: str, uuid: SendUuid) -> Intent:
    """A stand-alone card as a new message to the chat; `body` as `payload` makes it."""
    return Intent(name, "send", "send", lane, chat_id, "", body, uuid)


def rewrite(name: IntentId, lane: str, chat_id: ChatId, target: MessageId, body: str, uuid: SendUuid) -> Intent:
    """Other content for a stand-alone card that was sent."""
    return Intent(name, "card", "rewrite", lane, chat_id, target, body, uuid)


def output_file(
    turn_id: TurnId,
    session_id: SessionId,
    chat_id: ChatId,
    target: MessageId,
    uuids: tuple[SendUuid, SendUuid],
    *,
    in_thread: bool,
) -> list[Intent]:
    """The whole output of a turn's commands as a file: the upload, which reads the session log, then the message that
    shows it. They belong to no segment: nothing waits for them."""
    lane, name = f"file:{turn_id}", f"output-{turn_id[-6:]}.txt"
    upload, file = IntentId(f"{turn_id}/upload"), IntentId(f"{turn_id}/file")
    source = payload(session=session_id, turn=turn_id, name=name)
    shown = payload(upload=upload, text=name, in_thread=in_thread)
    return [
        Intent(upload, "card", "upload", lane, chat_id, target, source, uuids[0]),
        Intent(file, "reply", "file", lane, chat_id, target, shown, uuids[1]),
    ]


def notification(
    turn_id: TurnId, chat_id: ChatId, target: MessageId, text: str, mention: str, uuid: SendUuid, *, in_thread: bool
) -> Intent:
    """A short text at the end of a turn that names who asked: the last update of a card raises no unread mark. It goes
    after the card's own, and belongs to no segment: nothing waits for it."""
    return Intent(
        intent_id=IntentId(f"{turn_id}/{NOTIFY}"),
        kind="reply",
        op="text",
        lane=turn_lane(turn_id),
        chat_id=chat_id,
        target=target,
        payload=payload(text=text, mention=mention, in_thread=in_thread),
        uuid=uuid,
    )


def opening(turn_id: TurnId, chat_id: ChatId, target: MessageId, body: str, uuid: SendUuid) -> Intent:
    """What opens a topic under a launch's main card: Feishu makes one only of an answer. It goes beside the turn's
    cards, and the turn's snapshot waits for it."""
    return Intent(
        intent_id=IntentId(f"{turn_id}/{OPENING}"),
        kind="reply",
        op="text",
        lane=topic_lane(turn_id),
        chat_id=chat_id,
        target=target,
        payload=body,
        uuid=uuid,
        turn_id=turn_id,
        terminal=True,
    )


def is_opening(intent: Intent) -> bool:
    return _name(intent) == OPENING


def shows_card(intent: Intent) -> bool:
    """Whether this message of a turn shows one of its segments: the others only stand beside them."""
    return _name(intent) not in (OPENING, NOTIFY)


def _name(intent: Intent) -> str:
    """An intent of a turn without the turn's id, and the same for what stands in for it."""
    return intent.intent_id.partition("~")[0].rpartition("/")[2]
