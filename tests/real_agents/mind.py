"""What the fake model makes of a conversation: pure, and the same in every dialect.

A person's words hold orders that no prompt around them can hide: `remember: plum`, `recall: all`, `edit: PATH`,
`count: 400`. The last one counts. So a restored session shows itself: `recall` names what earlier questions held.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ORDER = re.compile(r"\b(remember|recall|edit|count): ([\w./-]+)")
WRITTEN = "changed by the agent"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request carries. `tools`: name → names of its arguments; `results`: of tools, since the last order."""

    said: tuple[str, ...]
    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    results: tuple[str, ...] = ()

    @property
    def orders(self) -> tuple[tuple[str, str], ...]:
        return tuple((found[1], found[2]) for text in self.said for found in ORDER.finditer(text))


class Listening:
    """Builds a conversation out of what a dialect finds, in its order. Results before the last order are old ones; text
    without an order (an agent's own reminder) ends nothing."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._results: list[str] = []

    def text(self, text: str) -> None:
        self._said.append(text)
        if ORDER.search(text):
            self._results.clear()

    def result(self, text: str) -> None:
        self._results.append(text)

    def heard(self, tools: Mapping[str, frozenset[str]]) -> Conversation:
        return Conversation(tuple(self._said), tools, tuple(self._results))


@dataclass(frozen=True, slots=True)
class Say:
    """Text in pieces, with a pause before each."""

    pieces: tuple[str, ...]
    pause_s: float = 0.01

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: Mapping[str, str]


Thought = Say | Call

# The agents' own names for reading and writing, the first that is there is taken.
READERS = ("read", "read_file", "Read", "mcp__acp__Read")
WRITERS = ("write", "write_file", "Write", "mcp__acp__Write")
SHELLS = ("exec_command", "shell_command")


def think(heard: Conversation) -> Thought:
    """The next thing to say or do. A request that offers no tools is an agent's own, for a title: it gets one."""
    if not heard.tools or not heard.orders:
        return Say(("Fruit",))
    match heard.orders[-1]:
        case "remember", word:
            return Say(("I shall ", "remember ", f"{word}."))
        case "count", number:
            return Say(tuple(f"{n} " for n in range(1, int(number) + 1)), pause_s=0.05)
        case "edit", path:
            return _edit(heard, path)
        case _:
            known = [word for order, word in heard.orders if order == "remember"]
            return Say(("I remember: ", ", ".join(known), "."))


def _edit(heard: Conversation, path: str) -> Thought:
    steps = [step for step in (_reading(heard, path), _writing(heard, path)) if step is not None]
    if len(heard.results) < len(steps):
        return steps[len(heard.results)]
    return Say(("The tool says: ", heard.results[-1][:200] if heard.results else "there is no such tool"))


def _reading(heard: Conversation, path: str) -> Call | None:
    found = [name for name in READERS if name in heard.tools]
    return Call(found[0], {_path_name(heard.tools[found[0]]): path}) if found else None


def _writing(heard: Conversation, path: str) -> Call | None:
    for tool in WRITERS:
        if tool in heard.tools:
            return Call(tool, {_path_name(heard.tools[tool]): path, "content": f"{WRITTEN}\n"})
    for tool in SHELLS:
        if tool in heard.tools:
            name = "cmd" if "cmd" in heard.tools[tool] else "command"
            return Call(tool, {name: f"echo {WRITTEN} > {path}"})
    return None


def _path_name(arguments: frozenset[str]) -> str:
    return next(name for name in ("filePath", "file_path", "absolute_path", "path") if name in arguments)
