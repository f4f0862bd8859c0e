"""What commands do to a conversation, each in the commit that also makes its answer an intent."""

from dataclasses import dataclass, replace

from channels.ids import ConversationKey, SendUuid, SessionId, TurnId, UserId
from channels.rules.intents import Drawing
from channels.rules.message import Message
from channels.store import chosen_agents, inbox, routes, sessions, snapshots, turns
from channels.store.sessions import Session
from channels.store.transactions.admit import Decided, answer_command, claim_key
from channels.store.transactions.place import put_place
from channels.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Conversation:
    """What /status and /stop see: the route of this message's place, its session's turns and tokens."""

    session_id: str = ""
    agent: str = ""
    chosen: str = ""  # the agent of new conversations, where somebody chose one
    folder: str = ""
    entered: TurnId | None = None
    queued: tuple[TurnId, ...] = ()
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Numbered:
    """One session of a person in a place; its number never changes. `words`: how it began, "" for nothing said yet."""

    number: int
    session: Session
    words: str
    turns: int
    tokens: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class Agents:
    """Which agents there are, and which one answers where nobody chose."""

    configured: frozenset[str]
    default: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The card of a command, and the one that it gets instead in a topic that has expired."""

    drawing: Drawing
    expired: Drawing
    uuid: SendUuid


def read_conversation(tx: Tx, message: Message) -> Conversation:
    """The conversation that a command speaks about; empty where there is no session."""
    route = route_of(tx, message)
    chosen = chosen_agents.find_choice(tx, message.envelope.chat_key)
    if route is None:
        return Conversation(chosen=chosen)
    session = sessions.find_session(tx, route.session_id)
    open_turns = turns.open_turns_of_session(tx, route.session_id)
    count, input_tokens, output_tokens, cached_tokens = sessions.sum_usage(tx, route.session_id)
    return Conversation(
        session_id=route.session_id,
        agent=session.agent if session else "",
        chosen=chosen,
        folder=sessions.find_folder(tx, session).path if session else "",
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
    route = route_of(tx, message)
    if route is not None:
        open_turns = turns.open_turns_of_session(tx, route.session_id)
        first = next((turn for turn in open_turns if turn.state == "entered"), open_turns[0] if open_turns else None)
        return first.turn_id if first else None
    claim = routes.claim_of_key(tx, claim_key(message))
    return claim.turn_id if claim else _latest_of_person(tx, message)


def find_current(tx: Tx, message: Message) -> SessionId | None:
    """The session of this message's place."""
    route = route_of(tx, message)
    return route.session_id if route else None


def start_anew(
    tx: Tx,
    message: Message,
    spare: SessionId,
    agents: Agents,
    fresh: Answer,
    in_topic: Answer,
    nothing: Answer,
    now: int,
) -> Decided:
    """/new. In a chat the route goes, so that the next message starts another session. A topic must not lose its route
    (its next message would need a mention): it is pointed at a fresh session at once, with the same agent and folder.
    Turns of the old session that run or wait come to their own end."""
    if not inbox.is_accepted(tx, message.envelope.message_id):
        return Decided("decided_before")
    route = route_of(tx, message)
    if route is not None and not route.is_thread:
        routes.delete_route(tx, route.key)
        return replace(answered(tx, message, "command:new", fresh, now), left=route.session_id)
    if route is not None and turns.has_turns(tx, route.session_id):
        old = sessions.find_session(tx, route.session_id)
        agent = old.agent if old and old.agent in agents.configured else agents.default
        renew_route(tx, route, spare, agent, message.envelope.sender.user_id, now)
        return replace(answered(tx, message, "command:new", in_topic, now), left=route.session_id)
    return answered(tx, message, "command:new", nothing, now)


def list_sessions(tx: Tx, message: Message, most: int) -> tuple[list[Numbered], int]:
    """A person's newest sessions in this chat, the newest first, and how many more there are. What is archived is left
    out: see `archived_numbers`."""
    found = sessions.sessions_of_place(tx, message.envelope.chat_id, message.envelope.sender.user_id)
    current, shown = find_current(tx, message), []
    for number in range(len(found), 0, -1):
        if found[number - 1].archived_at is not None:
            continue
        one = _numbered(tx, number, found[number - 1], current)
        if one.words or one.is_current:  # the others were begun and never used
            shown.append(one)
        if len(shown) == most:
            return shown, number - 1
    return shown, 0


def archived_numbers(tx: Tx, message: Message, most: int) -> list[int]:
    """The numbers of a person's newest sessions in this chat that can be taken out again, the newest first."""
    found = sessions.sessions_of_place(tx, message.envelope.chat_id, message.envelope.sender.user_id)
    archived = [number for number, one in enumerate(found, 1) if one.archived_at is not None and not one.deleted_at]
    return archived[::-1][:most]


def find_numbered(tx: Tx, message: Message, number: int) -> Numbered | None:
    """The person's session of that number in this chat, unless it is deleted."""
    found = sessions.sessions_of_place(tx, message.envelope.chat_id, message.envelope.sender.user_id)
    if not 0 < number <= len(found) or found[number - 1].deleted_at is not None:
        return None
    return _numbered(tx, number, found[number - 1], find_current(tx, message))


def resume_session(tx: Tx, message: Message, session_id: SessionId, answer: Answer, now: int) -> Decided:
    """/resume: this place goes on in that session with its next message; one that was archived meanwhile waits until it
    is taken out again."""
    envelope, session = message.envelope, sessions.find_session(tx, session_id)
    if not inbox.is_accepted(tx, envelope.message_id) or session is None or session.archived_at is not None:
        return Decided("decided_before")
    before = route_of(tx, message)
    if not routes.is_tombstoned(tx, envelope.conversation):
        folder = sessions.find_folder(tx, session)
        route = routes.Route(
            key=envelope.conversation,
            session_id=session_id,
            chat_id=envelope.chat_id,
            chat_type=envelope.chat_type,
            sender_user_id=envelope.sender.user_id,
            workspace_path=session.cwd,
            card_message_id=before.card_message_id if before else None,
            last_activity_at=now,
            session_dir=folder.path,
            worktree_branch=folder.branch,
        )
        routes.put_route(tx, route, now)
    return replace(answered(tx, message, "command:resume", answer, now), left=before.session_id if before else None)


def change_folder(
    tx: Tx, message: Message, session_id: SessionId, path: str, branch: str | None, answer: Answer, now: int
) -> Decided:
    """/cd: the session works there from its next turn on."""
    if inbox.is_accepted(tx, message.envelope.message_id):
        put_place(tx, session_id, path, branch, now)
    return answered(tx, message, "command:cd", answer, now)


def answered(tx: Tx, message: Message, verdict: str, answer: Answer, now: int) -> Decided:
    """The command's answer is an intent, its row is done."""
    return answer_command(tx, message, verdict, answer.drawing, answer.uuid, now, expired=answer.expired)


def renew_route(tx: Tx, route: routes.Route, spare: SessionId, agent: str, user_id: UserId, now: int) -> None:
    """This conversation goes on in a fresh session, with the same folder."""
    session = Session(spare, route.chat_id, route.chat_type, user_id, agent, route.workspace_path)
    sessions.insert_session(tx, session, now)
    if route.session_dir is not None:
        sessions.set_folder(tx, spare, sessions.Folder(route.session_dir, route.worktree_branch), now)
    routes.put_route(tx, replace(route, session_id=spare), now)


def _numbered(tx: Tx, number: int, session: Session, current: SessionId | None) -> Numbered:
    count, input_tokens, output_tokens, _cached = sessions.sum_usage(tx, session.session_id)
    words = sessions.first_said(tx, session.session_id) or ""
    is_current = session.session_id == current
    return Numbered(number, session, words, count, input_tokens + output_tokens, is_current)


def route_of(tx: Tx, message: Message) -> routes.Route | None:
    """The route of this message's place."""
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
