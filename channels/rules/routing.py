"""Where a message goes, decided from facts that one transaction has read.

Order of the questions (the first that answers wins):

  1. recalled before it was decided                     → Drop
     it has no words of its own and may get company     → Hold, once (rules.gathering)
  2. its thread has a tombstone                         → Refuse (expired topic)
  3. its thread has a route                             → Continue there, no mention needed
  4. it hangs under the message of a claim              → AwaitEstablishing, whoever sent it
  5. a group, and the bot is not mentioned              → Drop, unless somebody asked for it on a pending card
  6. no thread, and this person has a chat route        → Continue there
  7. this person is establishing a session here         → AwaitEstablishing
  8. otherwise                                          → Start

In the mode `approval`, what would get an answer (3, 4, 6, 7, 8) is kept for an access request where its author has not
been let in, and refused while a denial is fresh.

Three of these answers have limits. Going on (3, 6) where too many messages wait already is refused, and so is what
would become a turn (3, 6, 8) of a person whose quota is used up. And what another bot
wrote, where bots are allowed at all, is dropped once bots have had their answers in this chat for now, and never
refused: two bots must not talk for ever, in whatever words.

`drop_at_the_door` holds the static facts that need no table: they are checked before the accept commit, which records
the reason. Only `thread_id` means topic; a quote (root_id without thread_id) is context, not a place.
"""

from dataclasses import dataclass, field

from channels.ids import ConversationKey, MessageId, SessionId, UserId
from channels.rules.access import AccessPolicy
from channels.rules.gathering import Windows
from channels.rules.message import Envelope, Message
from channels.rules.quota import QuotaPolicy, Short


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that routing depends on."""

    bot_open_id: str = ""
    app_id: str = ""
    dm: str = "all"  # all | users | off
    dm_users: frozenset[UserId] = frozenset()
    respond_to_all: bool = False
    allow_bots: bool = False
    topic_in_private: bool = True
    topic_in_group: bool = True
    windows: Windows = field(default_factory=Windows)
    queue_limit: int = 20  # messages that may wait in one conversation
    bot_answers: int = 10  # answers to other bots, per chat and `bot_window_ms`
    bot_window_ms: int = 600_000
    access: AccessPolicy = field(default_factory=AccessPolicy)
    quota: QuotaPolicy = field(default_factory=QuotaPolicy)


@dataclass(frozen=True, slots=True)
class RouteFact:
    key: ConversationKey
    session_id: SessionId


@dataclass(frozen=True, slots=True)
class Facts:
    """What the domain file says about this message's surroundings."""

    recalled: bool = False
    tombstoned: bool = False
    thread_route: RouteFact | None = None
    chat_route: RouteFact | None = None
    claim_of_root: MessageId | None = None  # a claim whose message is this message's root
    asked_for: bool = False  # somebody pressed *Handle all* on the pending card that shows it
    claim_of_sender: MessageId | None = None  # an open claim of this person in this chat
    hold_until_ms: int | None = None  # it waits for company so long (rules.gathering.hold_until)
    waiting: int = 0  # messages that wait in the session that this one would go on in
    outside: str = ""  # why its author may not chat here (rules.access.Outside), "" for everybody who may
    kept: int = 0  # messages of its author that are kept already
    bot_answers: int = 0  # answers that other bots have had in this chat within the window
    short: Short | None = None  # why its author's quota has no room for one more turn


@dataclass(frozen=True, slots=True)
class Drop:
    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a refusal card of this kind: expired, queue_full, access_denied, quota."""

    reason: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Kept for an access request (outside its conversation's order); `why` its author is outside."""

    why: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Not yet: a picture or a forward that may get company, or its comment, within seconds."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class Continue:
    route: RouteFact
    in_thread: bool


@dataclass(frozen=True, slots=True)
class AwaitEstablishing:
    claim: MessageId


@dataclass(frozen=True, slots=True)
class Start:
    """A new session; its card opens a topic (or stays in the message's own) when `in_thread`."""

    in_thread: bool
    chat_key: ConversationKey = field(default=ConversationKey(""))


Decision = Drop | Refuse | Keep | Hold | Continue | AwaitEstablishing | Start


def drop_at_the_door(envelope: Envelope, policy: Policy) -> str | None:
    """The reason to record this message without looking further, or None."""
    sender = envelope.sender
    if sender.open_id and sender.open_id in (policy.bot_open_id, policy.app_id):
        return "own_message"
    if sender.kind != "user" and not policy.allow_bots:
        return "bot_sender"
    if envelope.chat_type not in ("p2p", "group"):
        return "chat_type"
    if envelope.empty:
        return "empty"
    if envelope.chat_type == "p2p" and policy.dm == "off":
        return "dm_off"
    if envelope.chat_type == "p2p" and policy.dm == "users" and sender.user_id not in policy.dm_users:
        return "dm_user"
    return None


def decide(message: Message, facts: Facts, policy: Policy) -> Decision:
    """What to do with an accepted message (commands have been taken out before)."""
    decision = _place(message, facts, policy)
    by_bot = message.envelope.sender.kind != "user"
    match decision:
        case Drop():
            return decision
        case Refuse(reason) if by_bot:
            return Drop(reason)
        case _ if by_bot and facts.bot_answers >= policy.bot_answers:
            return Drop("bot_loop")
        case Continue() | AwaitEstablishing() | Start() if facts.outside and not by_bot:
            return _keep(facts, policy)
        case Continue() if facts.waiting >= policy.queue_limit:
            return Drop("queue_full") if by_bot else Refuse("queue_full")
        case Continue() | Start() if facts.short is not None:
            return Drop("quota") if by_bot else Refuse("quota")
        case _:
            return decision


def _keep(facts: Facts, policy: Policy) -> Decision:
    """What becomes of a message whose author may not chat."""
    if facts.outside == "denied":
        return Refuse("access_denied")
    return Refuse("queue_full") if facts.kept >= policy.queue_limit else Keep(facts.outside)


def _place(message: Message, facts: Facts, policy: Policy) -> Decision:
    """Where the message belongs, before any limit."""
    envelope = message.envelope
    if facts.recalled:
        return Drop("recalled")
    if facts.hold_until_ms is not None:
        return Hold(facts.hold_until_ms)
    if facts.tombstoned:
        return Refuse("expired")
    if facts.thread_route is not None:
        return Continue(facts.thread_route, in_thread=True)
    if facts.claim_of_root is not None:
        return AwaitEstablishing(facts.claim_of_root)
    if envelope.chat_type == "group" and not (is_addressed(message, policy) or facts.asked_for):
        return Drop("not_mentioned")
    if envelope.thread_id is None and facts.chat_route is not None:
        return Continue(facts.chat_route, in_thread=False)
    if facts.claim_of_sender is not None:
        return AwaitEstablishing(facts.claim_of_sender)
    topics = policy.topic_in_private if envelope.chat_type == "p2p" else policy.topic_in_group
    return Start(in_thread=topics or envelope.thread_id is not None, chat_key=envelope.chat_key)


def takes_commands(message: Message, policy: Policy) -> bool:
    """Whether a text with a slash is a command here: from people only (bots could answer each other's for ever), and in
    a group only with the bot's name, or inside a topic."""
    envelope = message.envelope
    if envelope.sender.kind != "user":
        return False
    return envelope.chat_type == "p2p" or bool(envelope.thread_id) or is_addressed(message, policy)


def is_addressed(message: Message, policy: Policy) -> bool:
    """Whether a group message speaks to the bot."""
    return message.mentioned_bot or (message.mentioned_all and policy.respond_to_all)
