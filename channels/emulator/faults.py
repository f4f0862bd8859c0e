"""Failures on request: what goes wrong on which call, how often, and whether the effect happens all the same."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

KINDS = ("delay", "error", "status", "html", "empty", "drop", "drop_after", "cut", "mute")


@dataclass(slots=True, kw_only=True)
class Fault:
    """One fault. `match` is "METHOD /path" with `*` for anything, or a kind such as "im.message.reply".

    - delay: wait `seconds`, then go on as usual
    - error: answer with Feishu's `code` (HTTP `status`, 400 when 0)
    - status, html, empty: answer with `status` and no JSON, an HTML page, nothing
    - drop: close the connection, nothing happened
    - drop_after: the call takes effect, the answer never comes; the connection closes after `seconds`
    - cut: the call takes effect, the answer breaks off in mid-body
    - mute: nothing happens, no answer; closes after `seconds` (0: when the emulator stops)

    `effect=True` lets error, status, html and empty happen after the call took effect. The fault skips its first
    `after` matches, then applies `times` times (None: for ever). `contains`: only bodies with this text.
    """

    match: str
    kind: str
    times: int | None = 1
    after: int = 0
    code: int = 0
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0
    effect: bool = False
    contains: str = ""
    seen: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of fault: {self.kind!r} (known: {', '.join(KINDS)})")

    @property
    def takes_effect(self) -> bool:
        return self.effect or self.kind in ("drop_after", "cut")

    @property
    def spent(self) -> bool:
        return self.times is not None and self.seen >= self.after + self.times


class Faults:
    """The faults that are set, in the order in which they were added; the first that applies is taken."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def add_json(self, value: dict[str, Any]) -> Fault:
        return self.add(Fault(**value))

    def clear(self) -> None:
        self._faults.clear()

    def take(self, method: str, path: str, kind: str, body: bytes = b"") -> Fault | None:
        """The fault that applies to this call, counted as used; every matching fault before it counts the call too."""
        if not self._faults:
            return None
        line = f"{method} {path}"
        for fault in self._faults:
            if fault.spent or not (fnmatchcase(line, fault.match) or fault.match == kind):
                continue
            if fault.contains and fault.contains.encode() not in body:
                continue
            fault.seen += 1
            if fault.seen > fault.after:
                return fault
        return None
