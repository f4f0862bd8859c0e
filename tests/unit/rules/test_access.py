"""Who may do what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.ids import UserId
from channels.rules.access import (
    CLAIMS_PER_PERSON,
    DAY_MS,
    OPEN_TO_ALL,
    SWITCHES,
    AccessPolicy,
    Admitted,
    Grant,
    Outside,
    Terms,
    Unclear,
    claim_code,
    identities,
    is_cooling,
    may,
    may_try,
    read_code,
    read_terms,
    standing,
)

OPEN = AccessPolicy(admins=frozenset({UserId("u_admin")}))
APPROVAL = AccessPolicy(mode="approval", admins=frozenset({UserId("u_admin")}))
NOW = 1_000_000
ALICE = identities("u_alice", "ou_alice")


def grant_of(*switches: str, until_ms: int | None = None, left: int | None = None) -> Grant:
    return Grant(frozenset(switches), until_ms, left)


@pytest.mark.parametrize(
    ("grant", "expected"),
    [
        (None, Outside("unknown")),
        (grant_of(), Outside("revoked")),
        (grant_of("wiki_read"), Outside("revoked")),
        (grant_of("chat"), Admitted(frozenset({"chat"}))),
        (grant_of("chat", "code_write"), Admitted(frozenset({"chat", "code_write"}))),
        (grant_of("chat", until_ms=NOW + 1), Admitted(frozenset({"chat"}))),
        (grant_of("chat", until_ms=NOW), Outside("expired")),
        (grant_of("chat", left=1), Admitted(frozenset({"chat"}))),
        (grant_of("chat", left=0), Outside("used_up")),
    ],
)
def test_in_the_mode_approval(grant: Grant | None, expected: object) -> None:
    assert standing(ALICE, grant, APPROVAL, NOW) == expected


@pytest.mark.parametrize("policy", [OPEN, APPROVAL])
def test_whom_the_settings_name_may_everything(policy: AccessPolicy) -> None:
    assert standing(identities("u_admin", ""), grant_of(), policy, NOW) == Admitted(frozenset(SWITCHES))


def test_in_the_mode_open_everybody_chats_and_nobody_changes_code_without_a_grant() -> None:
    assert standing(ALICE, None, OPEN, NOW) == Admitted(OPEN_TO_ALL)
    assert standing(ALICE, grant_of("code_write", until_ms=NOW), OPEN, NOW) == Admitted(OPEN_TO_ALL)
    assert standing(ALICE, grant_of("code_write"), OPEN, NOW) == Admitted(OPEN_TO_ALL | {"code_write"})


def test_a_turn_that_stands_for_nobody_may_nothing() -> None:
    everything = Admitted(frozenset(SWITCHES))
    assert may(UserId("u_alice"), "code_write", everything)
    for nobody in (None, UserId("")):
        assert not may(nobody, "code_write", everything)
    assert not may(UserId("u_alice"), "code_write", Outside("unknown"))
    assert not may(UserId("u_alice"), "code_write", Admitted(OPEN_TO_ALL))


def test_an_empty_id_is_nobodys() -> None:
    assert identities("", "") == frozenset()
    policy = AccessPolicy(mode="approval", admins=frozenset())
    assert standing(identities("", ""), None, policy, NOW) == Outside("unknown")
    assert identities("u_alice", "ou_alice") == {"u_alice", "open:ou_alice"}


def test_a_denial_cools_down() -> None:
    assert is_cooling(NOW, APPROVAL, NOW + DAY_MS - 1)
    assert not is_cooling(NOW, APPROVAL, NOW + DAY_MS)
    assert not is_cooling(None, APPROVAL, NOW)


def test_claim_codes_are_read_as_people_paste_them() -> None:
    code = claim_code("ABCDEFGHIJKLMNOP2345")
    assert code == "ABCD-EFGH-IJKL-MNOP"
    assert read_code(f"  `{code.lower()}` ") == code
    for other in ("ABCD-EFGH-IJKL", f"my code is {code}", code.replace("A", "1"), ""):
        assert read_code(other) is None


def test_claims_are_limited_by_person_and_altogether() -> None:
    assert may_try(CLAIMS_PER_PERSON - 1, 0)
    assert not may_try(CLAIMS_PER_PERSON, CLAIMS_PER_PERSON)
    assert not may_try(0, 50)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("@Bob", Terms("Bob", frozenset())),
        ("Bob Smith code-write, wiki_read", Terms("Bob Smith", frozenset({"code_write", "wiki_read"}))),
        ("@Bob 7d 20x", Terms("Bob", frozenset(), 7 * DAY_MS, 20)),
        ("12h @Bob", Unclear("@Bob")),
        ("@Bob all", Terms("Bob", frozenset({"chat", "wiki_read", "wiki_write", "code_write"}))),
        ("@Bob code_write soon", Unclear("soon")),
        ("", Unclear("")),
        ("7d", Unclear("")),
        ("@Bob 0d", Unclear("0")),
        ("@Bob 0x", Unclear("0")),
    ],
)
def test_what_admins_type(typed: str, expected: object) -> None:
    assert read_terms(typed) == expected


@given(st.text())
def test_reading_never_fails_and_never_makes_an_admin_by_chance(text: str) -> None:
    terms = read_terms(text)
    assert isinstance(terms, Terms | Unclear)
    if isinstance(terms, Terms) and "admin" in terms.switches:
        assert "admin" in text.lower()
