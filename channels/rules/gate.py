"""What an agent may do unasked, what a person is asked about, and what is refused at once. Pure.

Each agent has a policy: tool kind → allow, ask or deny. What changes something (edit, delete, move, execute) needs the
switch code_write of the person on whose behalf the turn runs, whatever the policy says; nobody's turn has no switch.
An unknown kind counts as `other`, which is asked about: it may be anything. *Always* is remembered by the agent that
offered it: here every question is new.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from channels.ids import UserId
from channels.rules.access import Standing, may
from channels.rules.agent_text import whole
from channels.rules.permission import (
    ALLOW_ALWAYS,
    ALLOW_ONCE,
    REJECT_ALWAYS,
    REJECT_ONCE,
    PermissionAnswer,
    PermissionOption,
    PermissionQuestion,
)

CODE_WRITE = "code_write"
CHANGING = frozenset({"edit", "delete", "move", "execute"})
OTHER = "other"
DEFAULT_ACTIONS: Mapping[str, str] = {
    "edit": "ask",
    "delete": "ask",
    "move": "ask",
    "execute": "ask",
    "read": "allow",
    "search": "allow",
    "fetch": "allow",
    "think": "allow",
    "other": "ask",
}
YES, NO = PermissionOption("", "", ALLOW_ONCE), PermissionOption("", "", REJECT_ONCE)
OPTIONS_AT_MOST, PATHS_AT_MOST = 8, 50
KEPT_CHARACTERS = 30_000  # of arguments and diff: more than a card can show
TITLE_CHARACTERS = 500
WHY_OF_STATE = {"allowed": "allowed", "denied": "denied", "expired": "timeout"}  # any other: ended


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What one agent's tools may do, by kind; kinds that are left out have their defaults."""

    actions: Mapping[str, str] = field(default_factory=dict)

    def action(self, kind: str) -> str:
        """allow, ask or deny."""
        known = kind_of(kind)
        return self.actions.get(known) or DEFAULT_ACTIONS[known]


@dataclass(frozen=True, slots=True)
class Allow:
    """It may, by the policy; no person is asked."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The person who drives the turn decides, or an admin."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """It may not, and nobody is asked: policy, no_code_write (or nobody stands behind the turn)."""

    why: str


Decision = Allow | Ask | Refuse


def kind_of(kind: str) -> str:
    """The kind under which the policy looks it up."""
    return kind if kind in DEFAULT_ACTIONS else OTHER


def decide(question: PermissionQuestion, policy: ToolPolicy, found: Standing, user: UserId | None) -> Decision:
    """What becomes of this question, by what the turn's person may do at this moment."""
    action = policy.action(question.kind)
    if action == "deny":
        return Refuse("policy")
    if not may_do(question.kind, found, user):
        return Refuse("no_code_write")
    if action == "allow":
        return Allow()
    return Ask() if may_ask(question.kind, found, user) else Refuse("no_code_write")


def may_do(kind: str, found: Standing, user: UserId | None) -> bool:
    """Whether the turn's person has the right that a tool of this kind needs."""
    return kind_of(kind) not in CHANGING or may(user, CODE_WRITE, found)


def may_ask(kind: str, found: Standing, user: UserId | None) -> bool:
    """Whether somebody may be asked about a tool of this kind; read again when somebody says yes."""
    return may_do(kind, found, user) and may(user, "chat", found)


def askable(question: PermissionQuestion, *, shared: bool) -> PermissionQuestion:
    """The question as it is kept and shown: bounded, and with a yes and a no where the agent offers none. In a `shared`
    place *always* is not offered for what changes something: it would hold for whoever writes there next."""
    offered = question.options
    if shared and kind_of(question.kind) in CHANGING and any(one.kind == ALLOW_ONCE for one in offered):
        offered = tuple(one for one in offered if one.kind != ALLOW_ALWAYS)
    offered = offered[:OPTIONS_AT_MOST] or (YES, NO)
    if all(option.allows for option in offered):
        offered = (*offered[: OPTIONS_AT_MOST - 1], NO)
    return PermissionQuestion(
        tool_id=whole(question.tool_id),
        title=whole(question.title[:TITLE_CHARACTERS]),
        kind=whole(question.kind),
        arguments=whole(question.arguments[:KEPT_CHARACTERS]),
        diff=whole(question.diff[:KEPT_CHARACTERS]),
        paths=tuple(whole(path) for path in question.paths[:PATHS_AT_MOST]),
        options=tuple(PermissionOption(whole(one.option_id), whole(one.name), whole(one.kind)) for one in offered),
    )


def option_for(options: Sequence[PermissionOption], *, allowed: bool) -> str:
    """The agent's own option that says yes or no this once; "" where it offers none."""
    order = (ALLOW_ONCE, ALLOW_ALWAYS) if allowed else (REJECT_ONCE, REJECT_ALWAYS)
    found = [option for kind in order for option in options if option.kind == kind]
    return found[0].option_id if found else ""


def answer_unasked(question: PermissionQuestion, decision: Allow | Refuse) -> PermissionAnswer:
    """What the agent hears where nobody was asked."""
    match decision:
        case Allow():
            return PermissionAnswer(True, option_for(question.options, allowed=True), "policy")
        case Refuse(why):
            return refused(question, why)
        case _:
            assert_never(decision)


def answer_of(question: PermissionQuestion, state: str, why: str, choice: int | None) -> PermissionAnswer:
    """What the agent hears of a request that is settled. `question` as `askable` has made it."""
    if choice is not None and state in ("allowed", "denied"):
        return PermissionAnswer(state == "allowed", question.options[choice].option_id, state)
    return refused(question, why if why == "no_code_write" else WHY_OF_STATE.get(state, "ended"))


def refused(question: PermissionQuestion, why: str) -> PermissionAnswer:
    return PermissionAnswer(False, option_for(question.options, allowed=False), why)
