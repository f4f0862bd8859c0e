"""What a look at the domain file found. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never be. `name` is the invariant's (proof.md §2 where it has one), `subject` the row."""

    name: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Delay:
    """Something that has waited for longer than it should, and waits for no person."""

    name: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Findings:
    """One look, from one moment."""

    violations: tuple[Violation, ...]
    delays: tuple[Delay, ...]
