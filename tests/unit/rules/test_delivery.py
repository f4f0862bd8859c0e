"""What the answer to an attempt asks for."""

from dataclasses import replace
from typing import Any

import pytest

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.ids import ChatId, IntentId, SendUuid, TurnId
from channels.rules.delivery import (
    CREATES_AT_MOST,
    DEPTH_AT_MOST,
    JUMPS_AT_MOST,
    MASKED,
    Abandon,
    AskHistory,
    Attempt,
    Dissolve,
    Intent,
    Jump,
    Last,
    LeaveThread,
    MaskMail,
    PatchLane,
    Step,
    TextLane,
    ToChat,
    Wait,
    depth,
    settle_failure,
    successor,
)
from channels.rules.retry import CARD_LIFE_MS, CLOSING_CAP_MS, UUID_WINDOW_MS, backoff_ms

MIDDLE = 0.5  # the random number that leaves a back-off as it is
HOUR_MS = 3_600_000


def attempt(op: str, **changes: Any) -> Attempt:
    intent = Intent(
        IntentId("turn_1/x"), "reply", op, "turn:turn_1", ChatId("oc_1"), "om_1", "{}", SendUuid("u1"), TurnId("turn_1")
    )
    start = Attempt(intent, attempts=1, first_attempt_at=1_000, unsure=False, created_at=1_000, in_thread=True)
    return replace(start, **changes)


def refused(kind: CodeKind) -> ApiRefused:
    return ApiRefused(kind, 1)


REFUSALS: list[tuple[str, Attempt, CodeKind, Step]] = [
    ("a repeated uuid is done", attempt("close"), CodeKind.REPEATED_UUID, Last("done")),
    ("no sight of the chat", attempt("reply"), CodeKind.CHAT_GONE, Dissolve()),
    ("the card is too old, its last words are not", attempt("close"), CodeKind.EXPIRED, TextLane()),
    ("the message is too old for a reaction", attempt("add"), CodeKind.EXPIRED, Last("expired")),
    ("the question was recalled", attempt("reply"), CodeKind.MESSAGE_GONE, ToChat()),
    ("a notice's question was recalled", attempt("notice"), CodeKind.MESSAGE_GONE, ToChat()),
    ("recalled, but an attempt may have worked", attempt("reply", unsure=True), CodeKind.MESSAGE_GONE, AskHistory()),
    ("the card to close is gone", attempt("close"), CodeKind.MESSAGE_GONE, Last("gone")),
    ("a reaction's message is gone", attempt("add"), CodeKind.MESSAGE_GONE, Last("gone")),
    ("no topics here", attempt("reply"), CodeKind.NO_THREAD, LeaveThread()),
    ("no topics here, said of a plain reply", attempt("reply", in_thread=False), CodeKind.NO_THREAD, TextLane()),
    ("no topics, but an attempt may have worked", attempt("reply", unsure=True), CodeKind.NO_THREAD, AskHistory()),
    ("no card entities for this app", attempt("create"), CodeKind.SCOPE, PatchLane()),
    ("the entity's content is refused", attempt("create"), CodeKind.CARD_CONTENT, PatchLane()),
    ("the card is refused", attempt("reply"), CodeKind.CARD_CONTENT, TextLane()),
    ("the card is refused, but may be there", attempt("reply", unsure=True), CodeKind.CARD_CONTENT, AskHistory()),
    ("the last update is refused", attempt("close"), CodeKind.CARD_CONTENT, TextLane()),
    ("the last update is too large", attempt("close"), CodeKind.TOO_LARGE, TextLane()),
    ("an answer as text is refused", attempt("text", mode="text"), CodeKind.PARAMETER, Last("refused")),
    ("audit dislikes an answer", attempt("close"), CodeKind.AUDIT, MaskMail()),
    ("the card is behind", attempt("close"), CodeKind.SEQUENCE, Jump()),
    ("streaming has closed", attempt("close"), CodeKind.STREAMING_CLOSED, Jump()),
    ("somebody presses a button", attempt("close"), CodeKind.CARD_BUSY, Wait(500)),
    ("the same uuid is on its way", attempt("reply"), CodeKind.IN_FLIGHT, Wait(500)),
    ("the month's calls are used up", attempt("close"), CodeKind.MONTHLY_QUOTA, Wait(60_000)),
    ("an unknown code for a reaction", attempt("add"), CodeKind.OTHER, Last("refused")),
]


@pytest.mark.parametrize(("name", "tried", "kind", "step"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_a_refusal_leads_on(name: str, tried: Attempt, kind: CodeKind, step: Step) -> None:
    assert settle_failure(tried, refused(kind), 2_000, MIDDLE) == step


DOWN = [RetryLater(0, CodeKind.SERVER, 502), RetryLater(0, CodeKind.SERVER, why="timeout"), OutcomeUnknown("lost")]


@pytest.mark.parametrize("error", DOWN, ids=str)
def test_when_cardkit_alone_is_down_the_card_goes_without_an_entity(error: RetryLater | OutcomeUnknown) -> None:
    """Nobody sees an entity, so another lane is safe whatever became of it; a message is another matter."""
    tried = attempt("create", attempts=CREATES_AT_MOST - 1)
    assert isinstance(settle_failure(tried, error, 2_000, MIDDLE), Wait)
    assert settle_failure(replace(tried, attempts=CREATES_AT_MOST), error, 2_000, MIDDLE) == PatchLane()
    for op in ("reply", "send", "close", "add"):
        assert isinstance(settle_failure(attempt(op, attempts=50), error, 2_000, MIDDLE), Wait)


def test_a_limit_on_calls_is_no_reason_to_leave_cardkit() -> None:
    limited = RetryLater(3_000, CodeKind.RATE, 99991400)
    assert settle_failure(attempt("create", attempts=50), limited, 2_000, MIDDLE) == Wait(3_000)


HISTORY: list[tuple[str, Exception, Step]] = [
    ("not now", RetryLater(3_000, CodeKind.RATE), Wait(3_000)),
    ("no answer", OutcomeUnknown(), Wait(500)),
    ("no right to look", refused(CodeKind.SCOPE), Last("unknown")),
    ("the chat is gone", refused(CodeKind.CHAT_GONE), Dissolve()),
]


@pytest.mark.parametrize(("name", "error", "step"), HISTORY, ids=[row[0] for row in HISTORY])
def test_looking_into_history_may_fail(name: str, error: Any, step: Step) -> None:
    assert settle_failure(attempt("reply", unsure=True, reconcile=True), error, 2_000, MIDDLE) == step


def test_nobody_looks_into_history_for_ever() -> None:
    looking = attempt("reply", unsure=True, reconcile=True)
    assert settle_failure(looking, OutcomeUnknown(), 1_001 + CARD_LIFE_MS, MIDDLE) == Last("unknown")


def test_a_question_taken_back_is_answered_to_the_chat_or_stopped_as_configured() -> None:
    """Field report 21."""
    gone = refused(CodeKind.MESSAGE_GONE)
    assert settle_failure(attempt("reply"), gone, 2_000, MIDDLE, recalled="answer") == ToChat()
    assert settle_failure(attempt("reply"), gone, 2_000, MIDDLE, recalled="stop") == Abandon()


def test_masking_is_tried_once() -> None:
    """Field report 24."""
    masked = attempt("close")
    masked = replace(masked, intent=replace(masked.intent, payload="{" + MASKED + "}"))
    assert settle_failure(masked, refused(CodeKind.AUDIT), 2_000, MIDDLE) == TextLane()


def test_what_is_too_old_itself_is_not_said_another_way() -> None:
    expired = refused(CodeKind.EXPIRED)
    assert settle_failure(attempt("close"), expired, 1_001 + CARD_LIFE_MS, MIDDLE) == Last("expired")


def test_jumping_ahead_ends() -> None:
    tried = attempt("close", attempts=JUMPS_AT_MOST + 1)
    assert settle_failure(tried, refused(CodeKind.SEQUENCE), 2_000, MIDDLE) == TextLane()


def test_another_way_is_not_tried_for_ever() -> None:
    tried = attempt("reply")
    for number in range(DEPTH_AT_MOST):
        tried = replace(tried, intent=successor(tried.intent, SendUuid(f"s{number}")))
    assert settle_failure(tried, refused(CodeKind.CARD_CONTENT), 2_000, MIDDLE) == Last("refused")


@pytest.mark.parametrize("op", ["reply", "send", "notice", "text"])
def test_an_unknown_outcome_keeps_the_uuid_while_feishu_remembers_it(op: str) -> None:
    tried = attempt(op)
    assert settle_failure(tried, OutcomeUnknown(), 1_000 + UUID_WINDOW_MS, MIDDLE) == Wait(500, unsure=True)
    assert settle_failure(tried, OutcomeUnknown(), 1_001 + UUID_WINDOW_MS, MIDDLE) == AskHistory()


def test_what_makes_no_message_may_be_repeated_for_longer() -> None:
    tried = attempt("close", attempts=3)
    assert settle_failure(tried, OutcomeUnknown(), 1_001 + UUID_WINDOW_MS, MIDDLE) == Wait(2_000, unsure=True)


def test_a_close_that_became_text_makes_a_message() -> None:
    tried = attempt("close", mode="text")
    assert settle_failure(tried, OutcomeUnknown(), 1_001 + UUID_WINDOW_MS, MIDDLE) == AskHistory()


def test_waits_are_what_the_server_says_or_grow() -> None:
    later = RetryLater(7_000, CodeKind.RATE)
    assert settle_failure(attempt("reply", attempts=4), later, 2_000, MIDDLE) == Wait(7_000)
    later = RetryLater(0, CodeKind.SERVER)
    assert settle_failure(attempt("reply", attempts=4), later, 2_000, MIDDLE) == Wait(4_000)


def test_a_gateways_error_may_hide_a_message_that_is_there() -> None:
    bad_gateway = RetryLater(0, CodeKind.SERVER, 502)
    assert settle_failure(attempt("reply"), bad_gateway, 2_000, MIDDLE) == Wait(500, unsure=True)
    assert settle_failure(attempt("close"), bad_gateway, 2_000, MIDDLE) == Wait(500)


def test_closing_updates_are_tried_for_fourteen_days_at_most_an_hour_apart() -> None:
    later, tried = RetryLater(0, CodeKind.SERVER), attempt("close", attempts=30)
    assert settle_failure(tried, later, 1_000 + CARD_LIFE_MS, MIDDLE) == Wait(CLOSING_CAP_MS)
    assert settle_failure(tried, later, 1_001 + CARD_LIFE_MS, MIDDLE) == Last("expired")
    assert CLOSING_CAP_MS == HOUR_MS


def test_a_reply_that_may_be_there_is_not_sent_anew_after_the_window() -> None:
    tried = attempt("reply", unsure=True)
    late = 1_001 + UUID_WINDOW_MS
    assert settle_failure(tried, RetryLater(0, CodeKind.SERVER), late, MIDDLE) == AskHistory()
    assert settle_failure(replace(tried, unsure=False), RetryLater(0, CodeKind.SERVER), late, MIDDLE) == Wait(500)


def test_a_successor_has_its_own_name_and_uuid_and_remembers() -> None:
    first = attempt("reply").intent
    second = successor(first, SendUuid("u2"), op="send")
    third = successor(second, SendUuid("u3"))
    assert (second.intent_id, second.op, second.uuid, second.successor_of) == ("turn_1/x~1", "send", "u2", "turn_1/x")
    assert (third.intent_id, third.op, third.successor_of, depth(third)) == ("turn_1/x~2", "send", "turn_1/x~1", 2)


def test_back_off_grows_to_its_cap_and_wavers_by_a_quarter() -> None:
    assert [backoff_ms(n, MIDDLE) for n in (1, 2, 3, 7, 8, 30)] == [500, 1_000, 2_000, 32_000, 60_000, 60_000]
    assert (backoff_ms(1, 0.0), backoff_ms(1, 1.0)) == (375, 625)
