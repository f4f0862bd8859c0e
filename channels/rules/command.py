"""Commands, parsed from what people really type: /stop, ／stop, @bot /new, @bot/new, " /help ", /resume2, /停止.

`parse` is given the text without the bot's own mention. A text that begins with a slash and a Latin word is a command,
known or not; a Chinese word is one only where it names a command exactly, because "/价格" may begin any sentence.
Everything else is a question for the agent.
"""

import difflib
import re
from dataclasses import dataclass

# In the order in which /help lists them
COMMANDS: tuple[str, ...] = (
    *("help", "new", "stop", "status", "sessions", "resume", "agent", "cd", "usage"),
    *("archive", "unarchive", "delete"),
    *("whoami", "userid", "groupid", "health"),
)
ADMIN_COMMANDS: tuple[str, ...] = (
    *("grant", "revoke", "users", "requests", "web"),
    *("settlement", "pause", "resume-settlement"),
)
CHINESE: dict[str, str] = {
    "帮助": "help",
    "新对话": "new",
    "停止": "stop",
    "状态": "status",
    "会话": "sessions",
    "恢复": "resume",
    "智能体": "agent",
    "归档": "archive",
    "取消归档": "unarchive",
    "删除": "delete",
    "目录": "cd",
    "用量": "usage",
    "我是谁": "whoami",
    "健康": "health",
    "授权": "grant",
    "收回": "revoke",
    "用户": "users",
    "申请": "requests",
    "结算": "settlement",
    "暂停结算": "pause",
    "恢复结算": "resume-settlement",
    "管理页面": "web",
}
# What needs no session, and so still works in a topic that has expired
SESSIONLESS: frozenset[str] = frozenset({"help", "userid", "groupid", "health", *ADMIN_COMMANDS})
# What a person may use who has not been let in
FOR_STRANGERS: frozenset[str] = frozenset({"help", "whoami", "userid", "groupid", "health"})

_LEADING = re.compile(
    r"^\s*(?:@\S+?\s*)?[/／]\s*(?P<word>[A-Za-z][A-Za-z_-]*|[\u4e00-\u9fff]{2,4})(?P<number>\d*)(?:\s+(?P<rest>.*))?$",
    re.DOTALL,
)


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
    typed, number, rest = match["word"].lower(), match["number"], (match["rest"] or "").strip()
    name = CHINESE.get(typed, typed)
    if name in COMMANDS or name in ADMIN_COMMANDS:
        return Command(name, f"{number} {rest}".strip())
    if number or not typed.isascii():
        return None
    nearest = difflib.get_close_matches(typed, (*COMMANDS, *ADMIN_COMMANDS), n=1, cutoff=0.6)
    return UnknownCommand(typed, nearest[0] if nearest else None)
