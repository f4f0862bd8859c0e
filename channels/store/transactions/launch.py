"""Turns without a message: a topic opened on somebody's behalf, a session woken in its topic. One commit each.

Both are turns like any other: queued behind what runs in their session, fenced, with every effect an intent. What they
lack is a message to answer and to react to (see `establish` for the topic of a launch).
"""

from dataclasses import dataclass

from channels.ids import (
    ChatId,
    ConversationKey,
    MessageId,
    OpenId,
    OwnerEpoch,
    SendUuid,
    SessionId,
    ThreadId,
    TurnId,
    UserId,
)
from channels.rules import intents
from channels.rules.access import CONSOLE, Actor, Outside
from channels.rules.intents import Drawing
from channels.rules.launch import LAUNCH, WAKE, launch_claim_key, pending_claim
from channels.rules.message import chat_key
from channels.rules.quota import QuotaPolicy, Short
from channels.rules.routing import Policy
from channels.rules.workspace import topic_folder
from channels.store import (
    access,
    chosen_agents,
    cursors,
    launches,
    missed,
    outbox,
    routes,
    sent_cards,
    sessions,
    snapshots,
    turns,
)
from channels.store.launches import Launch
from channels.store.transactions.access import Person, read_standing
from channels.store.transactions.admit import CLAIM_WAIT_MS, agent_of_new
from channels.store.transactions.reserve import NOBODY, find_shortage, insert_reserved_turn, know_person
from channels.store.tx import Tx

UUIDS_PER_LAUNCH = 2
AT_CONSOLE = Actor(UserId(CONSOLE), OpenId(""), "cli")


@dataclass(frozen=True, slots=True)
class Asked:
    """What launches and wake-ups have in common. `message_json`: what the agent is given."""

    key: str
    digest: str
    turn_id: TurnId
    uuids: tuple[SendUuid, ...]
    message_json: str
    thinking: Drawing


@dataclass(frozen=True, slots=True)
class TopicStart:
    """A topic for `driver` in a chat. `receive`: user_id or open_id where `chat_id` is only that, because the person's
    private chat is not known; `agent` "" lets the person's choice, else `default`, answer."""

    asked: Asked
    driver: Person
    chat_id: ChatId
    chat_type: str
    receive: str
    in_thread: bool
    session_id: SessionId
    agent: str
    agents: frozenset[str]
    default: str
    cwd: str
    opening: str  # the payload of the text that opens the topic


@dataclass(frozen=True, slots=True)
class Waking:
    """A session is woken: by its topic, or by its id where `thread_id` is None. `for_nobody`: the turn stands for no
    person, so that it may change no code."""

    asked: Asked
    thread_id: ThreadId | None
    session_id: SessionId | None
    for_nobody: bool
    waiting: Drawing


@dataclass(frozen=True, slots=True)
class Launched:
    """The turn that this key has; `again`: it had it before. `lanes` have new intents."""

    turn_id: TurnId
    again: bool
    lanes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotLaunched:
    """key_conflict, user_may_not_chat, topic_expired, unknown_topic, unknown_session, session_archived, still_opening,
    queue_full, topic_unreachable, quota (see `short`)."""

    why: str
    short: Short | None = None


def start_topic(tx: Tx, start: TopicStart, policy: Policy, epoch: OwnerEpoch, now: int) -> Launched | NotLaunched:
    """A new session and its first turn; its main card goes plainly to the chat."""
    asked, driver = start.asked, start.driver
    before = _before(tx, LAUNCH, asked)
    if before is not None:
        return before
    if (refusal := _refusal(tx, driver, policy, now)) is not None:
        return refusal
    key = chat_key(start.chat_type, start.chat_id, driver.user_id)
    agent = start.agent or agent_of_new(tx, key, start.agents, start.default)
    session = sessions.Session(start.session_id, start.chat_id, start.chat_type, driver.user_id, agent, start.cwd)
    sessions.insert_session(tx, session, now)
    if start.in_thread and session.cwd:
        folder = sessions.Folder(topic_folder(session.cwd, asked.turn_id))
        sessions.set_folder(tx, session.session_id, folder, now)
    snapshot = snapshots.Snapshot(
        turn_id=asked.turn_id,
        session_id=start.session_id,
        chat_id=start.chat_id,
        chat_type=start.chat_type,
        trigger_message_id=None,
        in_thread=start.in_thread,
        reaction_id=None,
        route_key=None,
        message=asked.message_json,
        sender_user_id=driver.user_id,
        opening=start.opening if start.in_thread else None,
    )
    lane = _queue(tx, LAUNCH, asked, snapshot, asked.thinking, start.receive, policy.quota, epoch, now)
    routes.open_claim(tx, _claim(start, epoch, now))
    access.add_audit(tx, AT_CONSOLE, "topic.start", driver.user_id, f"{start.chat_id} {asked.turn_id}", now)
    return Launched(asked.turn_id, False, (lane,))


def wake_session(tx: Tx, wake: Waking, policy: Policy, epoch: OwnerEpoch, now: int) -> Launched | NotLaunched:
    """One more turn of a session that has its conversation, queued behind those that it has."""
    asked = wake.asked
    before = _before(tx, WAKE, asked)
    if before is not None:
        return before
    route = _find_route(tx, wake)
    if isinstance(route, NotLaunched):
        return route
    driver = None if wake.for_nobody or not route.sender_user_id else route.sender_user_id
    if (refusal := _refusal(tx, Person(driver) if driver else None, policy, now)) is not None:
        return refusal
    if turns.count_waiting(tx, route.session_id) >= policy.queue_limit:
        return NotLaunched("queue_full")
    anchor = (route.card_message_id or cursors.newest_message(tx, route.key)) if route.is_thread else None
    if route.is_thread and anchor is None:
        return NotLaunched("topic_unreachable")
    snapshot = snapshots.Snapshot(
        turn_id=asked.turn_id,
        session_id=route.session_id,
        chat_id=route.chat_id,
        chat_type=route.chat_type,
        trigger_message_id=None,
        in_thread=route.is_thread,
        reaction_id=None,
        route_key=route.key,
        message=asked.message_json,
        sender_user_id=driver,
        anchor_message_id=anchor,
    )
    drawing = wake.waiting if turns.is_session_busy(tx, route.session_id) else asked.thinking
    lane = _queue(tx, WAKE, asked, snapshot, drawing, "", policy.quota, epoch, now)
    routes.touch_route(tx, route.key, route.session_id, None, now)
    access.add_audit(tx, AT_CONSOLE, "topic.wake", driver or "", f"{route.key} {asked.turn_id}", now)
    return Launched(asked.turn_id, False, (lane,))


def _before(tx: Tx, cause: str, asked: Asked) -> Launched | NotLaunched | None:
    """What this key has led to already."""
    found = launches.find_launch(tx, cause, asked.key)
    if found is None:
        return None
    return Launched(found.turn_id, True) if found.digest == asked.digest else NotLaunched("key_conflict")


def _refusal(tx: Tx, driver: Person | None, policy: Policy, now: int) -> NotLaunched | None:
    """Why no turn may stand for this person now (None: for nobody)."""
    asks = driver is not None and policy.access.mode != "open"
    if driver is not None and asks and isinstance(read_standing(tx, driver, policy.access, now), Outside):
        return NotLaunched("user_may_not_chat")
    if driver is not None:
        know_person(tx, driver.user_id, driver.open_id)
    short = find_shortage(tx, driver.user_id if driver else NOBODY, policy.quota, now)
    return NotLaunched("quota", short) if short is not None else None


def _find_route(tx: Tx, wake: Waking) -> routes.Route | NotLaunched:
    """The conversation that is woken."""
    if wake.thread_id is not None:
        key = ConversationKey(wake.thread_id)
        if routes.is_tombstoned(tx, key):
            return NotLaunched("topic_expired")
        return routes.find_route(tx, key) or NotLaunched("unknown_topic")
    session = sessions.find_session(tx, wake.session_id) if wake.session_id else None
    if session is None:
        return NotLaunched("unknown_session")
    route = routes.find_route_of_session(tx, session.session_id)
    if route is None:
        return NotLaunched("still_opening" if _is_opening(tx, session.session_id) else "session_archived")
    return route


def _is_opening(tx: Tx, session_id: SessionId) -> bool:
    """Whether the session's conversation is still being established: its card is on its way."""
    return routes.claim_of_session(tx, session_id) is not None


def _queue(
    tx: Tx,
    cause: str,
    asked: Asked,
    snapshot: snapshots.Snapshot,
    drawing: Drawing,
    receive: str,
    quota: QuotaPolicy,
    epoch: OwnerEpoch,
    now: int,
) -> str:
    """Turn, reservation, snapshot, card and their intents. Returns the lane."""
    turn_id = asked.turn_id
    driver, session_id = snapshot.sender_user_id, snapshot.session_id
    insert_reserved_turn(tx, turn_id, cause, asked.key, session_id, driver, quota, epoch, now)
    launches.insert_launch(tx, cause, asked.key, Launch(turn_id, asked.digest))
    snapshots.insert_snapshot(tx, snapshot, now)
    snapshots.insert_card(tx, turn_id, 0, "card", asked.uuids[1], 0)
    build = intents.TurnIntents(turn_id, snapshot.chat_id, snapshot.anchor, receive)
    outbox.add_intents(tx, build.card(0, drawing, (asked.uuids[0], asked.uuids[1]), final=False), now)
    return intents.turn_lane(turn_id)


def _claim(start: TopicStart, epoch: OwnerEpoch, now: int) -> routes.Claim:
    turn_id = start.asked.turn_id
    key = launch_claim_key(start.chat_id, turn_id)
    return routes.Claim(pending_claim(turn_id), key, turn_id, start.session_id, epoch, "open", now + CLAIM_WAIT_MS)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a turn without a message has come. `shown`: whether its main card is there: pending, done, or why not
    (gone, refused, unknown, superseded by text)."""

    turn: turns.Turn
    chat_id: ChatId
    thread_id: ThreadId | None
    message_id: MessageId | None
    shown: str


def read_progress(tx: Tx, turn_id: TurnId) -> Progress | None:
    """None: there is no such turn."""
    turn = turns.find_turn(tx, turn_id)
    session = sessions.find_session(tx, turn.session_id) if turn else None
    if turn is None or session is None:
        return None
    route = routes.find_route_of_session(tx, turn.session_id)
    sent = sent_cards.sent_card_of_turn(tx, turn_id, 0)
    thread_id = ThreadId(route.key) if route is not None and route.is_thread else None
    shown = "done" if sent else outbox.main_state(tx, turn_id)
    return Progress(turn, session.chat_id, thread_id, sent.message_id if sent else None, shown)


def find_key(tx: Tx, cause: str, key: str) -> Launch | None:
    """What was asked for under this key before."""
    return launches.find_launch(tx, cause, key)


def find_private_chat(tx: Tx, user_id: UserId) -> ChatId | None:
    """The private chat with this person, where the file knows it."""
    known = sessions.private_chat_of(tx, user_id) or missed.guided_chat_of(tx, user_id)
    return known or chosen_agents.private_chat_of(tx, user_id)


def find_chat_type(tx: Tx, chat_id: ChatId) -> str | None:
    """p2p or group, of a chat that the file knows."""
    groups = {place.chat_id for place in missed.groups(tx)}
    return cursors.chat_type_of(tx, chat_id) or ("group" if chat_id in groups else None)
