"""What an agent may do unasked: policy, rights, and the agent's own options."""

import pytest

from channels.ids import UserId
from channels.rules.access import Admitted, Outside
from channels.rules.gate import (
    CHANGING,
    DEFAULT_ACTIONS,
    Allow,
    Ask,
    Refuse,
    ToolPolicy,
    answer_of,
    answer_unasked,
    askable,
    decide,
    option_for,
)
from channels.rules.permission import PermissionAnswer, PermissionOption, PermissionQuestion

ALICE = UserId("u_alice")
CHATS, WRITES = Admitted(frozenset({"chat"})), Admitted(frozenset({"chat", "code_write"}))
ONCE, ALWAYS = PermissionOption("o1", "Yes", "allow_once"), PermissionOption("o2", "Always", "allow_always")
NO, NEVER = PermissionOption("o3", "No", "reject_once"), PermissionOption("o4", "Never", "reject_always")


def question(kind: str = "edit", *options: PermissionOption) -> PermissionQuestion:
    return PermissionQuestion("t1", "title", kind, options=options)


@pytest.mark.parametrize("kind", sorted(DEFAULT_ACTIONS))
def test_by_default(kind: str) -> None:
    changes = kind in CHANGING
    asks = changes or kind == "other"
    assert decide(question(kind), ToolPolicy(), WRITES, ALICE) == (Ask() if asks else Allow())
    refused = Refuse("no_code_write")
    assert decide(question(kind), ToolPolicy(), CHATS, ALICE) == (refused if changes else Ask() if asks else Allow())
    assert decide(question(kind), ToolPolicy(), WRITES, None) == (refused if asks else Allow())
    assert decide(question(kind), ToolPolicy(), Outside("revoked"), ALICE) == (refused if asks else Allow())


@pytest.mark.parametrize("kind", sorted(CHANGING))
def test_no_policy_gives_the_right(kind: str) -> None:
    policy = ToolPolicy({kind: "allow"})
    assert decide(question(kind), policy, CHATS, ALICE) == Refuse("no_code_write")
    assert decide(question(kind), policy, WRITES, ALICE) == Allow()


def test_a_denial_asks_nobody() -> None:
    assert decide(question("execute"), ToolPolicy({"execute": "deny"}), WRITES, ALICE) == Refuse("policy")


@pytest.mark.parametrize("kind", ["switch_mode", "", "Edit"])
def test_an_unknown_kind_counts_as_other(kind: str) -> None:
    assert decide(question(kind), ToolPolicy(), CHATS, ALICE) == Ask()
    assert decide(question(kind), ToolPolicy({"other": "deny"}), WRITES, ALICE) == Refuse("policy")


def test_where_nobody_is_asked_the_agents_own_option_says_so() -> None:
    asked = question("edit", ALWAYS, ONCE, NEVER, NO)
    assert answer_unasked(asked, Allow()) == PermissionAnswer(True, "o1", "policy")
    assert answer_unasked(asked, Refuse("no_code_write")) == PermissionAnswer(False, "o3", "no_code_write")
    assert option_for((ALWAYS,), allowed=True) == "o2"
    assert option_for((ONCE,), allowed=False) == ""


class TestAskable:
    def test_without_options_it_is_yes_or_no(self) -> None:
        assert [one.kind for one in askable(question(), shared=True).options] == ["allow_once", "reject_once"]

    def test_there_is_always_a_no(self) -> None:
        many = tuple(PermissionOption(f"o{number}", "", "allow_once") for number in range(20))
        for options in ((ONCE,), (ONCE, ALWAYS), many):
            found = askable(question("edit", *options), shared=False).options
            assert len(found) <= 8
            assert not found[-1].allows

    def test_always_is_for_private_places(self) -> None:
        asked = question("edit", ONCE, ALWAYS, NO)
        assert askable(asked, shared=False).options == (ONCE, ALWAYS, NO)
        assert askable(asked, shared=True).options == (ONCE, NO)
        assert askable(question("fetch", ONCE, ALWAYS, NO), shared=True).options == (ONCE, ALWAYS, NO)
        assert askable(question("edit", ALWAYS, NO), shared=True).options == (ALWAYS, NO)

    def test_it_is_bounded_and_can_be_kept(self) -> None:
        half, long = "x\ud83d", "y" * 100_000
        asked = PermissionQuestion(
            half, long, half, long, long, (half,) * 100, (PermissionOption(half, half, NO.kind),)
        )
        found = askable(asked, shared=False)
        assert len(found.title) + len(found.arguments) + len(found.diff) + len(found.paths) < 61_000
        for text in (found.tool_id, found.kind, *found.paths, found.options[0].name):
            assert text.encode()

    def test_twice_is_once(self) -> None:
        once = askable(question("edit", ONCE, ALWAYS), shared=True)
        assert askable(once, shared=True) == once


@pytest.mark.parametrize(
    ("state", "why", "choice", "answer"),
    [
        ("allowed", "", 1, PermissionAnswer(True, "o2", "allowed")),
        ("denied", "", 2, PermissionAnswer(False, "o3", "denied")),
        ("denied", "no_code_write", None, PermissionAnswer(False, "o3", "no_code_write")),
        ("expired", "", None, PermissionAnswer(False, "o3", "timeout")),
        ("ended", "turn", None, PermissionAnswer(False, "o3", "ended")),
        ("ended", "restart", None, PermissionAnswer(False, "o3", "ended")),
    ],
)
def test_what_the_agent_hears(state: str, why: str, choice: int | None, answer: PermissionAnswer) -> None:
    assert answer_of(question("edit", ONCE, ALWAYS, NO), state, why, choice) == answer
