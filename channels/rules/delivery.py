"""Intents, and what to do with the answer to an attempt.

An intent is one visible effect with its own uuid. `settle_failure` says what an answer that is not success means:

  certain and passing   → Wait                     same uuid, same content
  certain and final     → a last state, or another way (LeaveThread, ToChat, PatchLane, TextLane, MaskMail, Jump)
  unknown               → Wait with `unsure`, inside the uuid window; then AskHistory

Another way is taken only when no attempt of this intent was unsure: a message that may already be there is never
said again in other words before history was asked (rules.reconcile). A card entity by itself is seen by nobody: when
CardKit alone is down, its creation gives way to the patch lane after some tries, whatever became of them.
"""

from dataclasses import dataclass, replace

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.ids import ChatId, IntentId, SendUuid, TurnId
from channels.rules.retry import CAP_MS, CARD_LIFE_MS, CLOSING_CAP_MS, UUID_WINDOW_MS, backoff_ms


@dataclass(frozen=True, slots=True)
class Intent:
    """One row of the outbox before it is written.

    `op` is what the sender does: create (a card entity); reply, send (the card, as an answer or plainly to the chat);
    notice (a stand-alone card as an answer); text, send_text (the same as text); close (the last update of a card, or
    the whole answer where the card became text); rewrite (a stand-alone card that was sent); upload (a file, which
    nobody sees yet), file (the message that shows what the upload before it in the lane has brought); add, remove (a
    reaction).
    `payload` is JSON text.
    """

    intent_id: IntentId
    kind: str
    op: str
    lane: str
    chat_id: ChatId
    target: str
    payload: str
    uuid: SendUuid
    turn_id: TurnId | None = None
    segment: int = 0
    terminal: bool = False
    successor_of: IntentId | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One committed attempt: the intent as it stands, what its card and reaction have become by now."""

    intent: Intent
    attempts: int
    first_attempt_at: int
    unsure: bool
    created_at: int
    mode: str = "card"
    card_id: str | None = None
    message_id: str | None = None
    reaction_id: str | None = None
    in_thread: bool = False
    answers_person: bool = True  # its target is a message of somebody, not one that only shows the place
    sequence: int = 0
    reconcile: bool = False  # history must be asked before anything is sent
    content: str = ""  # of an upload: what the file holds
    file_key: str = ""  # of a file: what its upload has brought


@dataclass(frozen=True, slots=True)
class Wait:
    after_ms: int
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Last:
    """A last state: done, gone, refused, unknown, expired."""

    state: str


@dataclass(frozen=True, slots=True)
class LeaveThread:
    """A successor outside the thread (chat route)."""


@dataclass(frozen=True, slots=True)
class ToChat:
    """A successor as a new message to the chat: the message to reply to is gone."""


@dataclass(frozen=True, slots=True)
class PatchLane:
    """No CardKit entity: the reply carries the card itself, updates are patches."""


@dataclass(frozen=True, slots=True)
class TextLane:
    """The card is refused: the answer goes as text."""


@dataclass(frozen=True, slots=True)
class MaskMail:
    """A successor with e-mail addresses masked (once)."""


@dataclass(frozen=True, slots=True)
class Jump:
    """The card's sequence is behind: jump ahead, then the same request."""


@dataclass(frozen=True, slots=True)
class AskHistory:
    """Feishu no longer remembers the uuid, and the message may be there: look before anything is sent."""


@dataclass(frozen=True, slots=True)
class SendAnew:
    """History is complete and shows no such message: a successor with a new uuid."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """The question was taken back and nobody wants its answer: the turn is to be stopped."""


@dataclass(frozen=True, slots=True)
class Dissolve:
    """The chat is gone for us: every pending intent of this lane is gone too."""


Step = (
    Wait
    | Last
    | LeaveThread
    | ToChat
    | PatchLane
    | TextLane
    | MaskMail
    | Jump
    | AskHistory
    | SendAnew
    | Abandon
    | Dissolve
)

SAYING = frozenset({"reply", "send", "notice", "text", "send_text", "file"})  # ops that make a message
ANSWERING = frozenset({"reply", "notice", "text", "file"})  # … as an answer to one
JUMPS_AT_MOST = 5
CREATES_AT_MOST = 4  # tries, some seconds
DEPTH_AT_MOST = 5  # successors of successors
MASKED = '"masked":true'  # stands in the payload of a successor whose e-mail addresses are masked
NEUTRAL = '"neutral":true'  # … of a close that only says that the answer comes as text; nothing stands in for it


def settle_failure(
    attempt: Attempt,
    error: RetryLater | ApiRefused | OutcomeUnknown,
    now: int,
    random: float,
    *,
    recalled: str = "answer",
) -> Step:
    """What follows from a failed attempt. `recalled`: whether a question that was taken back is still answered."""
    closing = attempt.intent.op == "close"
    wait_ms = backoff_ms(attempt.attempts, random, CLOSING_CAP_MS if closing or attempt.reconcile else CAP_MS)
    if attempt.reconcile and says(attempt):
        return _history_failed(attempt, error, now, wait_ms)
    match error:
        case OutcomeUnknown() | RetryLater(kind=CodeKind.SERVER) if _is_cardkit_down(attempt):
            return PatchLane()
        case OutcomeUnknown():
            return _unknown(attempt, now, wait_ms)
        case RetryLater(after_ms=after_ms, kind=kind, code=code):
            if closing and now - attempt.created_at > CARD_LIFE_MS:
                return Last("expired")
            if attempt.unsure and says(attempt) and now - attempt.first_attempt_at > UUID_WINDOW_MS:
                return AskHistory()
            answered_5xx = kind is CodeKind.SERVER and code != 0  # a gateway's 5xx may hide a request that worked
            return Wait(after_ms or wait_ms, unsure=says(attempt) and answered_5xx)
        case ApiRefused():
            if error.kind is CodeKind.EXPIRED and now - attempt.created_at > CARD_LIFE_MS:
                return Last("expired")
            return _refused(attempt, error.kind, wait_ms, recalled)


def must_ask_history(attempt: Attempt, now: int) -> bool:
    """Whether this attempt may not be sent as it is: it may be there, and its uuid is forgotten."""
    return attempt.unsure and says(attempt) and now - attempt.first_attempt_at > UUID_WINDOW_MS


def says(attempt: Attempt) -> bool:
    """Whether this attempt makes a new message."""
    return attempt.intent.op in SAYING or (attempt.intent.op == "close" and attempt.mode == "text")


def _is_cardkit_down(attempt: Attempt) -> bool:
    """Whether this creation of an entity was tried often enough: nobody sees an entity, so it may even be there."""
    return attempt.intent.op == "create" and attempt.attempts >= CREATES_AT_MOST


def _history_failed(attempt: Attempt, error: RetryLater | ApiRefused | OutcomeUnknown, now: int, wait_ms: int) -> Step:
    """Looking into history has failed: for now, or for good."""
    match error:
        case ApiRefused(kind=CodeKind.CHAT_GONE):
            return Dissolve()
        case ApiRefused():
            return Last("unknown")
        case _ if now - attempt.first_attempt_at > CARD_LIFE_MS:
            return Last("unknown")
        case RetryLater(after_ms=after_ms):
            return Wait(after_ms or wait_ms)
        case _:
            return Wait(wait_ms)


def _unknown(attempt: Attempt, now: int, wait_ms: int) -> Step:
    """The same uuid again while Feishu remembers it. What has no uuid (a patch, a reaction) is harmless to repeat."""
    if says(attempt):
        late = now - attempt.first_attempt_at > UUID_WINDOW_MS
        return AskHistory() if late else Wait(wait_ms, unsure=True)
    late = now - attempt.first_attempt_at > CARD_LIFE_MS
    return Last("unknown") if late else Wait(wait_ms, unsure=True)


def _refused(attempt: Attempt, kind: CodeKind, wait_ms: int, recalled: str) -> Step:
    match kind:
        case CodeKind.REPEATED_UUID:
            return Last("done")
        case CodeKind.CHAT_GONE:
            return Dissolve()
        case CodeKind.EXPIRED if attempt.intent.op != "close" or NEUTRAL in attempt.intent.payload:
            return Last("expired")  # of an answer that is not there yet, only the card is too old: it becomes text
        case CodeKind.IN_FLIGHT | CodeKind.CARD_BUSY | CodeKind.RATE | CodeKind.SERVER | CodeKind.TOKEN:
            return Wait(wait_ms)
        case CodeKind.MONTHLY_QUOTA:
            return Wait(max(wait_ms, 60_000))
        case _ if attempt.unsure and says(attempt):
            return AskHistory()  # an earlier attempt may be there: nothing is said again in other words before a look
        case _:
            return _another_way(attempt, kind, recalled)


def _another_way(attempt: Attempt, kind: CodeKind, recalled: str) -> Step:
    """After a definite refusal with no unsure attempt before it."""
    op = attempt.intent.op
    answers = op in ANSWERING or (op == "close" and attempt.mode == "text")
    neutral = NEUTRAL in attempt.intent.payload
    switchable = attempt.mode == "card" and not neutral and depth(attempt.intent) < DEPTH_AT_MOST
    match kind:
        case CodeKind.MESSAGE_GONE if answers and recalled == "stop" and _answers_person(attempt):
            return Abandon()
        case CodeKind.MESSAGE_GONE if answers and op != "file":
            return ToChat()
        case CodeKind.MESSAGE_GONE:
            return Last("gone")
        case CodeKind.NO_THREAD if answers and attempt.in_thread:
            return LeaveThread()
        case CodeKind.SEQUENCE | CodeKind.STREAMING_CLOSED if op == "close" and attempt.attempts <= JUMPS_AT_MOST:
            return Jump()
        case CodeKind.AUDIT if op == "close" and not neutral and MASKED not in attempt.intent.payload:
            return MaskMail()
        case _ if op == "create":
            return PatchLane()
        case _ if op in ("close", "reply", "send", "notice") and switchable:
            return TextLane()
        case _:
            return Last("refused")


def _answers_person(attempt: Attempt) -> bool:
    return attempt.intent.turn_id is not None and attempt.answers_person


def successor(intent: Intent, uuid: SendUuid, **changes: object) -> Intent:
    """The same effect another way: a new intent with a new uuid, which remembers what it stands for."""
    base = intent.intent_id.partition("~")[0]
    name = IntentId(f"{base}~{depth(intent) + 1}")
    fresh = replace(intent, intent_id=name, uuid=uuid, successor_of=intent.intent_id)
    return replace(fresh, **changes)  # type: ignore[arg-type]


def depth(intent: Intent) -> int:
    """How many other ways were tried before this one."""
    return int(intent.intent_id.partition("~")[2] or 0)
