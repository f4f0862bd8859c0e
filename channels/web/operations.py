"""The seam between the running service and whoever asks about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Health:
    """`live`: the process and its loops run (false: restart it). `ready`: connected and the domain file takes commits
    (false: wait). `reasons` says in words why either is false."""

    live: bool
    ready: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """One figure for /metrics. `name` without a prefix, in snake case, its unit last ("inbox_open",
    "turns_ended_total"); a counter only ever rises. Numbers that share a name differ in labels, and only there."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["gauge", "counter"] = "gauge"
    help: str = ""


class Operations(Protocol):
    """What the running service can tell. `health` and `numbers` answer from memory, at once; `status` may read the
    domain file and gives JSON values only."""

    async def status(self) -> dict[str, Any]: ...

    def health(self) -> Health: ...

    def numbers(self) -> Sequence[Number]: ...
