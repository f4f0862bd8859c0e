"""Commands, parsed from what people really type: /stop, ／stop, @bot /new, @bot/new, " /help ".

`parse` is given the text without the bot's own mention. A text that begins with a slash and a letter is a command,
known or not; everything else is a question for the agent.
"""

import difflib
import re
from dataclasses import dataclass

COMMANDS: tuple[str, ...] = ("help", "new", "stop", "status", "whoami", "userid", "groupid", "health")

_LEADING = re.compile(r"^\s*(?:@\S+?\s*)?[/／]\s*([A-Za-z][A-Za-z_-]*)(?:\s+(.*))?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Starts like a command and is none; `nearest` is what was probably meant."""

    typed: str
    nearest: str | None


def parse(text: str) -> Command | UnknownCommand | None:
    """The command in `text`, or None for an ordinary message. Paths such as "/etc/hosts is …" are no commands."""
    match = _LEADING.match(text)
    if match is None:
        return None
    typed, arguments = match.group(1).lower(), (match.group(2) or "").strip()
    if typed in COMMANDS:
        return Command(typed, arguments)
    nearest = difflib.get_close_matches(typed, COMMANDS, n=1, cutoff=0.6)
    return UnknownCommand(typed, nearest[0] if nearest else None)
