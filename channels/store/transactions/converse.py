"""What commands do to a conversation, each in the commit that also makes its answer an intent."""

from dataclasses import dataclass

from channels.ids import ConversationKey, SendUuid, TurnId
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.store import inbox, routes, sessions, snapshots, turns
from channels.store.transactions.admit import Decided, answer_command, claim_key
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Conversation:
    """What /status and /stop see: the route of this message's place, its session's turns and tokens."""

    session_id: str = ""
    agent: str = ""
    folder: str = ""
    entered: TurnId | None = None
    queued: tuple[TurnId, ...] = ()
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


def read_conversation(tx: Tx, message: Message) -> Conversation:
    """The conversation that a command speaks about; empty where there is no session."""
    route = _route_of(tx, message)
    if route is None:
        return Conversation()
    session = sessions.find_session(tx, route.session_id)
    open_turns = turns.open_turns_of_session(tx, route.session_id)
    count, input_tokens, output_tokens, cached_tokens = sessions.sum_usage(tx, route.session_id)
    return Conversation(
        session_id=route.session_id,
        agent=session.agent if session else "",
        folder=session.cwd if session else "",
        entered=next((turn.turn_id for turn in open_turns if turn.state == "entered"), None),
        queued=tuple(turn.turn_id for turn in open_turns if turn.state == "queued"),
        turns=count,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
    )


def find_stoppable(tx: Tx, message: Message) -> TurnId | None:
    """The turn that /stop means: the running one of this place, else the first that waits; while a session is still
    being established, its turn."""
    route = _route_of(tx, message)
    if route is not None:
        open_turns = turns.open_turns_of_session(tx, route.session_id)
        first = next((turn for turn in open_turns if turn.state == "entered"), open_turns[0] if open_turns else None)
        return first.turn_id if first else None
    claim = routes.claim_of_key(tx, claim_key(message))
    return claim.turn_id if claim else _latest_of_person(tx, message)


def start_anew(tx: Tx, message: Message, fresh: Drawing, nothing: Drawing, uuid: SendUuid, now: int) -> Decided:
    """/new: the chat route goes, so that the next message starts another session. Topics keep theirs."""
    if not inbox.is_accepted(tx, message.envelope.message_id):
        return Decided("decided_before")
    deleted = message.envelope.thread_id is None and routes.delete_route(tx, message.envelope.chat_key)
    return answer_command(tx, message, "command:new", fresh if deleted else nothing, uuid, now)


def _route_of(tx: Tx, message: Message) -> routes.Route | None:
    envelope = message.envelope
    key: ConversationKey = envelope.conversation
    return routes.find_route(tx, key)


def _latest_of_person(tx: Tx, message: Message) -> TurnId | None:
    """In a chat whose answers go to topics, /stop outside them means the person's newest running turn there."""
    envelope = message.envelope
    if envelope.thread_id is not None:
        return None
    for turn in turns.open_turns_of_person(tx, envelope.sender.user_id):
        snapshot = snapshots.find_snapshot(tx, turn.turn_id)
        if snapshot is not None and snapshot.chat_id == envelope.chat_id:
            return turn.turn_id
    return None
