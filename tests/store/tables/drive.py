"""Short words for the way of a message through the store, for tests."""

import itertools
from dataclasses import replace

from channels.ids import (
    CardId,
    ChatId,
    EventId,
    MessageId,
    OpenId,
    ReactionId,
    SendUuid,
    SessionId,
    ThreadId,
    TurnId,
    UserId,
)
from channels.rules.access import AccessPolicy, Actor
from channels.rules.delivery import Attempt
from channels.rules.gate import Allow, Refuse, ToolPolicy
from channels.rules.intents import Drawing
from channels.rules.message import Envelope, Message, Sender
from channels.rules.permission import PermissionQuestion
from channels.rules.routing import Policy
from channels.rules.settlement import Caller
from channels.store import inbox, settlement_control
from channels.store.transactions.accept import accept_message
from channels.store.transactions.admit import Admission, Decided, Held, NotYet, decide_message
from channels.store.transactions.deliver import Effect, begin_next, record_success
from channels.store.transactions.permissions import (
    Asked,
    NotPressed,
    Pressed,
    Registered,
    TurnOver,
    press_permission,
    register,
)
from channels.store.transactions.run import Finish, Finished, Lease, enter_turn, finish_turn, uuids_for
from channels.store.transactions.settle import Spent
from channels.store.transactions.settlement import Acked, Settled, apply
from channels.store.transactions.settlement_facts import Refused
from channels.store.turns import Turn, find_turn, runnable_turns
from tests.store.tables.conftest import Store

POLICY = Policy(bot_open_id="ou_bot", app_id="cli_app")
ACCESS = AccessPolicy(mode="approval", admins=frozenset({UserId("u_admin")}))
ACCESS_OPEN, ASKING = replace(ACCESS, mode="open"), ToolPolicy()
GUARDED = replace(POLICY, access=ACCESS)
NUMBERS = itertools.count(1)
DRAWING = Drawing('{"schema":"2.0"}', "text")


def message(
    number: int, *, thread: str | None = None, root: str | None = None, user: str = "alice", chat_type: str = "p2p"
) -> Message:
    sender = Sender(UserId(user), OpenId(f"ou_{user}"))
    envelope = Envelope(
        message_id=MessageId(f"om_{number}"),
        chat_id=ChatId("oc_1"),
        chat_type=chat_type,
        create_time_ms=number,
        sender=sender,
        thread_id=ThreadId(thread) if thread else None,
        root_id=MessageId(root) if root else None,
    )
    return Message(envelope, f"question {number}", mentioned_bot=True)


def uuids(count: int) -> tuple[SendUuid, ...]:
    return tuple(SendUuid(f"uuid-{next(NUMBERS)}") for _ in range(count))


def accept(store: Store, one: Message) -> None:
    store.run(accept_message, one.envelope, "{}", store.epoch, None, store.now)


def decide(store: Store, one: Message, policy: Policy = POLICY) -> Decided | NotYet | Held:
    (row,) = [row for row in store.run(inbox.open_rows, store.now, 100) if row.message_id == one.envelope.message_id]
    number = next(NUMBERS)
    admission = Admission(
        turn_id=TurnId(f"turn_{number}"),
        session_id=SessionId(f"session_{number}"),
        uuids=uuids(4),
        agent="demo",
        cwd="",
        thinking=DRAWING,
        waiting=replace(DRAWING, text="waiting"),
        expired=DRAWING,
        message_json='{"text":"question"}',
    )
    return store.run(decide_message, row, one, policy, admission, store.epoch, store.now)


def admit(store: Store, one: Message, policy: Policy = POLICY) -> TurnId:
    """Accept and decide a message that gets a turn."""
    accept(store, one)
    decided = decide(store, one, policy)
    assert isinstance(decided, Decided) and decided.turn_id is not None, decided
    return decided.turn_id


def lease_of(store: Store, turn_id: TurnId) -> Lease:
    turn = turn_of(store, turn_id)
    return Lease(turn.turn_id, turn.session_id, turn.start_epoch, turn.owner_epoch)


def turn_of(store: Store, turn_id: TurnId) -> Turn:
    turn = store.run(find_turn, turn_id)
    assert turn is not None
    return turn


def runnable(store: Store) -> list[TurnId]:
    return [turn.turn_id for turn in store.run(runnable_turns, store.epoch, 100)]


def enter(store: Store, turn_id: TurnId) -> bool:
    return store.run(enter_turn, lease_of(store, turn_id), "question", store.now) is not None


def finish_of(outcome: str = "completed", pages: int = 1) -> Finish:
    return Finish(outcome, (), (DRAWING,) * pages, (replace(DRAWING, text="stopped"),), uuids(uuids_for(pages)))


def finish(store: Store, turn_id: TurnId, outcome: str = "completed", pages: int = 1) -> Finished | None:
    return store.run(finish_turn, lease_of(store, turn_id), finish_of(outcome, pages), store.now)


def host(store: Store) -> Caller:
    """Who settles here: the host itself, under this boot."""
    return Caller(None, store.epoch)


def spend(store: Store, turn_id: TurnId, tokens: int, outcome: str = "completed") -> Finished:
    """Finish a turn that has used so many tokens of input."""
    done = store.run(
        finish_turn, lease_of(store, turn_id), replace(finish_of(outcome), spent=Spent(tokens, model="m")), store.now
    )
    assert done is not None
    return done


def settle(store: Store, done: Finished | None) -> Settled | Refused:
    """Apply the settlement that a finish has queued."""
    assert done is not None and isinstance(done.settlement, Acked), done
    ack, generation = done.settlement, store.run(settlement_control.read_control)
    assert generation is not None
    return store.run(apply, ack.key, ack.payload_hash, generation.generation, host(store), None, store.now)


def begin(store: Store, lane: str) -> Attempt:
    recorded = store.run(begin_next, lane, store.now)
    assert recorded.next is not None
    return recorded.next


def effect_of(attempt: Attempt, *, thread: str | None = "omt_1") -> Effect:
    """What Feishu would bring."""
    match attempt.intent.op:
        case "create":
            return Effect(card_id=CardId(f"card-{attempt.intent.intent_id}"))
        case "add":
            return Effect(reaction_id=ReactionId(f"reaction-{attempt.intent.intent_id}"))
        case "reply" | "send" | "notice" | "text":
            place = ThreadId(thread) if thread and attempt.in_thread else None
            return Effect(message_id=MessageId(f"sent-{attempt.intent.intent_id}"), thread_id=place)
        case _:
            return Effect()


def deliver_all(store: Store, lane: str, *, thread: str | None = "omt_1") -> list[str]:
    """Deliver a lane to its end; returns the ops in order."""
    done: list[str] = []
    recorded = store.run(begin_next, lane, store.now)
    while recorded.next is not None:
        done.append(recorded.next.intent.op)
        recorded = store.run(record_success, recorded.next, effect_of(recorded.next, thread=thread), store.now)
    return done


def come(store: Store, one: Message) -> str:
    """A message of somebody comes and is decided; returns the verdict."""
    accept(store, one)
    (row,) = [row for row in store.run(inbox.open_rows, store.now, 100) if row.message_id == one.envelope.message_id]
    number = next(NUMBERS)
    admission = Admission(
        TurnId(f"turn_{number}"), SessionId(f"session_{number}"), uuids(4), "demo", "", DRAWING, DRAWING, DRAWING, "{}",
        request_id=f"access_{number}", excerpt="hello",
    )  # fmt: skip
    decided = store.run(decide_message, row, one, GUARDED, admission, store.epoch, store.now)
    assert isinstance(decided, Decided)
    return decided.verdict


def ask(
    store: Store,
    turn_id: TurnId,
    token: str,
    kind: str = "other",
    *,
    policy: ToolPolicy = ASKING,
    lease: Lease | None = None,
) -> Registered | Allow | Refuse | TurnOver:
    """The turn's agent asks for a tool of this kind; nobody has to answer for five minutes."""
    asked = Asked(token, PermissionQuestion("tool", "title", kind), "demo", DRAWING, uuids(1)[0], store.now + 300_000)
    return store.run(register, lease or lease_of(store, turn_id), asked, policy, ACCESS_OPEN, store.now)


def press(store: Store, token: str, choice: int, user: str, card: str = "") -> Pressed | NotPressed:
    """Somebody presses an option."""
    actor = Actor(UserId(user), OpenId(f"ou_{user}"), "card")
    event_id = EventId(f"click-{next(NUMBERS)}")
    return store.run(press_permission, event_id, token, choice, actor, MessageId(card), ACCESS_OPEN, store.now)
