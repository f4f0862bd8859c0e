"""The settlement contract's pure half: identities, deadlines, back-off, and the order of the checks."""

import hashlib
import itertools
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.ids import OwnerEpoch, ReservationId, SessionId, StartEpoch
from channels.rules.settlement import (
    ATTEMPTS_MOST,
    DEADLINE_MS,
    ITEM_BYTES,
    Caller,
    Code,
    EvidenceRef,
    Item,
    Receipt,
    Standing,
    StopKey,
    StopSession,
    deadline_of,
    decide_apply,
    fingerprint,
    identify,
    next_attempt_at,
    parse_item,
    parse_stop,
    payload,
    payload_hash,
    session_hash,
    settlement_key,
)

HASH = "0" * 63 + "a"
RECEIPT = Receipt(ReservationId("reservation:turn_1"), 1, 8_000, 0, 0, 1_000, 86_401_000)
ITEM = Item(
    owner="demo",
    scope=HASH,
    environment="uuid",
    session_hash=HASH,
    turn_hash=HASH,
    receipt=RECEIPT,
    outcome="completed",
    evidence=EvidenceRef(StartEpoch(1), "boot:1", "ended"),
    evidence_hash=HASH,
    fingerprint=fingerprint(RECEIPT),
)
FINE = Standing(True, 3, False, False, "demo", OwnerEpoch(7), 1_000, 0)
HOST = Caller("demo", OwnerEpoch(7))


class TestOrder:
    """Everything that is wrong at once: what is put right gives way to the next in the contract's order."""

    # (what is wrong, the code, how it is put right)
    WRONG = replace(FINE, payload_matches=False, paused=True, stopped=True, deadline=0, attempts=ATTEMPTS_MOST)

    def test_the_first_that_is_wrong_answers(self) -> None:
        standing, generation, caller, codes = self.WRONG, None, Caller("other", OwnerEpoch(6)), []
        steps = [
            lambda: (replace(standing, payload_matches=True), generation, caller),
            lambda: (standing, 2, caller),
            lambda: (standing, 3, caller),
            lambda: (replace(standing, paused=False), generation, caller),
            lambda: (replace(standing, stopped=False), generation, caller),
            lambda: (standing, generation, replace(caller, owner="demo")),
            lambda: (standing, generation, HOST),
            lambda: (replace(standing, deadline=1), generation, caller),
            lambda: (replace(standing, attempts=3), generation, caller),
        ]
        for step in steps:
            codes.append(decide_apply(standing, generation, caller, 1))
            standing, generation, caller = step()  # type: ignore[no-untyped-call]
        assert codes == [
            Code.CONFLICT,
            Code.GENERATION_REQUIRED,
            Code.STALE_CONTROL,
            Code.PAUSED,
            Code.STOPPED,
            Code.UNKNOWN_KEY,
            Code.STALE_CONTROL,
            Code.EXPIRED,
            Code.FAILED,
        ]
        assert decide_apply(standing, generation, caller, 1) is None

    def test_the_deadline_itself_is_in_time(self) -> None:
        assert decide_apply(FINE, 3, HOST, FINE.deadline) is None
        assert decide_apply(FINE, 3, HOST, FINE.deadline + 1) is Code.EXPIRED

    def test_the_host_may_settle_for_every_owner(self) -> None:
        assert decide_apply(FINE, 3, Caller(None, OwnerEpoch(7)), 0) is None


@given(queued=st.integers(0, 10**13), expires=st.integers(0, 10**13))
def test_a_deadline_is_the_earlier_of_the_two(queued: int, expires: int) -> None:
    deadline = deadline_of(queued, expires)
    assert deadline <= queued + DEADLINE_MS and deadline <= expires
    assert deadline in (queued + DEADLINE_MS, expires)


@given(now=st.integers(0, 1_000_000), attempts=st.integers(0, 10), left=st.integers(-1_000, 400_000))
def test_the_next_attempt_never_comes_before_now_nor_after_the_deadline(now: int, attempts: int, left: int) -> None:
    at = next_attempt_at(now, attempts, now + left)
    assert at >= now and (at <= now + left or at == now)


def test_the_waits() -> None:
    assert [next_attempt_at(0, attempts, 10**6) for attempts in (1, 2, 3, 4)] == [250, 1_000, 3_000, 3_000]
    assert next_attempt_at(0, 3, 1_500) == 1_500, "the last one sits on the deadline"


def test_identities_are_sha256_in_hex() -> None:
    assert session_hash(SessionId("会话-1")) == hashlib.sha256("会话-1".encode()).hexdigest()
    keys = {settlement_key(file, ReservationId(of)) for file, of in itertools.product("ab", ("r1", "r2"))}
    assert len(keys) == 4 and all(len(key) == 64 for key in keys)
    assert payload_hash(ITEM) == hashlib.sha256(payload(ITEM).encode()).hexdigest()


@pytest.mark.parametrize("field", [name for name in asdict(ITEM) if name not in ("receipt", "evidence")])
def test_every_frozen_field_is_in_the_payload_hash(field: str) -> None:
    assert payload_hash(replace(ITEM, **{field: "other"})) != payload_hash(ITEM)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", list(asdict(RECEIPT)))
def test_every_field_of_a_receipt_is_in_its_fingerprint(field: str) -> None:
    other = "other" if field == "reservation_id" else -1
    changed = replace(RECEIPT, **{field: other})  # type: ignore[arg-type]
    assert fingerprint(changed) != fingerprint(RECEIPT)
    assert payload_hash(replace(ITEM, receipt=changed)) != payload_hash(ITEM)


def test_an_item_reads_as_it_was_written() -> None:
    assert parse_item(payload(ITEM)) == ITEM
    assert len(payload(ITEM).encode()) < ITEM_BYTES // 2


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", payload(ITEM)[:-1], payload(ITEM) + " ", payload(ITEM).replace('"scope"', '"x"')]
)
def test_nothing_else_is_an_item(text: str) -> None:
    assert parse_item(text) is None


class TestStopRequests:
    def test_one_of_the_two_forms(self) -> None:
        assert parse_stop({"session_id": "session_1"}) == StopSession(SessionId("session_1"))
        assert parse_stop({"key": HASH, "payload_hash": HASH, "session_id": None}) == StopKey(HASH, HASH)

    @pytest.mark.parametrize(
        "values",
        [
            {},
            {"session_id": None},
            {"session_id": "s", "key": HASH, "payload_hash": HASH},
            {"session_id": "s", "key": HASH},
            {"key": HASH},
            {"payload_hash": HASH},
            {"key": HASH, "payload_hash": HASH[:-1]},
            {"key": HASH.upper(), "payload_hash": HASH},
            {"key": 1, "payload_hash": HASH},
            {"session_id": ""},
            {"session_id": " s"},
            {"session_id": "a\nb"},
            {"session_id": "s" * 201},
            {"session_id": 7},
            {"session_id": "s", "owner": "demo"},
            {"session_id": "s", "session_hash": HASH},
        ],
    )
    def test_nothing_mixed_lacking_or_odd(self, values: dict[str, object]) -> None:
        assert parse_stop(values) is None


def test_a_session_id_is_handed_back_as_it_is() -> None:
    assert identify("session_0123") == "session_0123"
    assert identify("Ünïcode-会话") == "Ünïcode-会话"
