"""Every card that people can meet, by name: the golden files and the gallery are made from these."""

from collections.abc import Callable
from dataclasses import replace

from channels.cards.access import RequestLine, applicant_card, denied_card, request_card
from channels.cards.card import Button, Card
from channels.cards.conversation import (
    SessionLine,
    UsageLine,
    expired_card,
    guide_card,
    queue_full_card,
    sessions_card,
    usage_card,
)
from channels.cards.gate_texts import gate_texts
from channels.cards.missed import Line, missed_card
from channels.cards.notice import help_card, neutral_card, notice_card, status_card
from channels.cards.permission import PermissionLine, permission_card
from channels.cards.reply import reply_cards
from channels.cards.texts import texts
from channels.rules.agent_event import Outcome, ToolStatus, UsageReported
from channels.rules.permission import PermissionOption, PermissionQuestion
from channels.rules.turn import Phase, Tool, View

ANSWER = {
    "zh": """# 结论

**重点：**缓存没有命中，原因有两个：

1. 键里带了时间
2. 过期太短

| 方案 | 改动 |
|---|---|
| 去掉时间 | 小 |
| 延长过期 | 无 |

```python
key = f'{user}:{day}'
```

> 建议先改键，再看 [文档](https://example.com/cache)。""",
    "en": """# Conclusion

**Note:**the cache never hits, for two reasons:

1. the key holds a time
2. it expires too soon

| Way | Change |
|---|---|
| drop the time | small |
| live longer | none |

```python
key = f'{user}:{day}'
```

> Change the key first, then see the [notes](https://example.com/cache).""",
}
REASONING = {
    "zh": "先看缓存的键。\n键里有时间，所以每次都不同。",
    "en": "Look at the key first.\nIt holds a time, so it differs each time.",
}
USAGE = UsageReported(input_tokens=12_345, output_tokens=678, cached_tokens=9_000)
TOOLS = (
    Tool("t1", "Read", "read", "cache.py", ToolStatus.DONE, "120 lines"),
    Tool("t2", "Search", "search", "expire", ToolStatus.FAILED, "permission denied"),
    Tool("t3", "Edit", "edit", "cache.py: 3 lines", ToolStatus.RUNNING),
)
PLAN = (("Read the code", "completed"), ("Find the cause", "in_progress"), ("Change it", "pending"))
DIFF = """--- a/src/cache.py
+++ b/src/cache.py
@@ -10,7 +10,7 @@ def key_of(user: User) -> str:
     \"\"\"The key under which a user's page is kept.\"\"\"
-    return f"{user.id}:{time.time()}"
+    return f"{user.id}"
"""
LONG_DIFF = DIFF + "".join(f"-old line {number}\n+new line {number}\n" for number in range(60))
ASKING = Tool("t4", "Edit src/cache.py", "edit", "", ToolStatus.ASKING, "", DIFF)
LOST = {
    "zh": "智能体打不开原来的会话：会话不存在。",
    "en": "The agent could not open its earlier session: no such session.",
}
ERROR = {"zh": "模型服务返回 503。", "en": "The model's service answered with 503."}


def _view(language: str, phase: Phase, **changes: object) -> View:
    values: dict[str, object] = {"phase": phase, "agent": "demo", "duration_ms": 12_300}
    if phase not in (Phase.WAITING, Phase.THINKING, Phase.REPLYING):
        values |= {"answer": ANSWER[language], "usage": USAGE}
    return View("turn_1", **(values | changes))  # type: ignore[arg-type]


def views(language: str) -> dict[str, View]:
    """A turn in every state that its card can show."""
    answer, half = ANSWER[language], ANSWER[language][:60]
    tools_done = tuple(Tool(tool.tool_id, tool.title, tool.kind, tool.arguments, ToolStatus.DONE) for tool in TOOLS)
    return {
        "waiting": _view(language, Phase.WAITING),
        "thinking": _view(language, Phase.THINKING),
        "reasoning": _view(language, Phase.THINKING, reasoning=REASONING[language]),
        "working": _view(language, Phase.THINKING, reasoning=REASONING[language], tools=TOOLS, plan=PLAN),
        "replying": _view(language, Phase.REPLYING, answer=half, reasoning=REASONING[language]),
        "stopping": _view(language, Phase.REPLYING, answer=half, stopping=True),
        "done": _view(language, Phase.DONE, outcome=Outcome.COMPLETED),
        "done_with_activity": _view(
            language,
            Phase.DONE,
            outcome=Outcome.COMPLETED,
            reasoning=REASONING[language],
            tools=tools_done,
            plan=tuple((text, "completed") for text, _ in PLAN),
        ),
        "max_tokens": _view(language, Phase.DONE, outcome=Outcome.MAX_TOKENS),
        "empty": _view(language, Phase.DONE, outcome=Outcome.COMPLETED, answer=""),
        "stopped": _view(language, Phase.STOPPED, outcome=Outcome.STOPPED, answer=half),
        "stopped_before_start": _view(language, Phase.STOPPED, outcome=Outcome.STOPPED, answer=""),
        "interrupted": _view(language, Phase.INTERRUPTED, outcome=Outcome.INTERRUPTED, answer=half),
        "interrupted_offer": _view(language, Phase.INTERRUPTED, outcome=Outcome.INTERRUPTED, answer=half),
        "failed": _view(language, Phase.FAILED, outcome=Outcome.FAILED, answer=half, error=ERROR[language]),
        "failed_at_once": _view(language, Phase.FAILED, outcome=Outcome.FAILED, answer="", error=""),
        "queued_at_agent": _view(language, Phase.WAITING, ahead=3),
        "asking": _view(language, Phase.THINKING, tools=(TOOLS[0], ASKING), plan=PLAN),
        "changed": _view(
            language,
            Phase.REPLYING,
            answer=half,
            tools=(
                TOOLS[0],
                replace(ASKING, status=ToolStatus.DONE),
                replace(ASKING, tool_id="t5", diff=LONG_DIFF, status=ToolStatus.RUNNING),
            ),
        ),
        "denied": _view(
            language, Phase.DONE, outcome=Outcome.COMPLETED, tools=(TOOLS[0], replace(ASKING, status=ToolStatus.DENIED))
        ),
        "lacks_right": _view(
            language,
            Phase.DONE,
            outcome=Outcome.COMPLETED,
            tools=(replace(ASKING, status=ToolStatus.DENIED),),
            lacks_right=True,
            model="claude-sonnet",
        ),
        "lacks_right_running": _view(
            language, Phase.REPLYING, answer=half, tools=(replace(ASKING, status=ToolStatus.DENIED),), lacks_right=True
        ),
        "lost_session_fresh": _view(
            language, Phase.FAILED, outcome=Outcome.FAILED, answer="", error=LOST[language], lost_session=True
        ),
        "long": _view(language, Phase.DONE, outcome=Outcome.COMPLETED, answer="\n\n".join([answer] * 5)),
    }


def _notices(language: str) -> dict[str, Card]:
    words = texts(language)
    agent_help = (
        "- 发送“代码”看代码\n- 发送“表格”看表格"
        if language == "zh"
        else "- say “code” for code\n- say “table” for tables"
    )
    return {
        "help": help_card(language, agent_help, False, agent="demo"),
        "help_admin": help_card(language, agent_help, True, agent="demo"),
        "status": status_card(
            language,
            agent="demo",
            session="sess_1a2b",
            running="turn_1",
            queued=2,
            turns=7,
            input_tokens=12_345,
            output_tokens=678,
            cached_tokens=9_000,
            folder="/srv/p2p/u_1",
            connected=True,
            uptime_ms=3_723_000,
            version="0.1.0",
        ),
        "status_fresh": status_card(language, agent="demo"),
        "neutral": neutral_card(language),
        "could_not_start": notice_card(
            words.could_not_start_title,
            words.could_not_start.format(reason=words.error_agent_unreachable),
            template="red",
            language=language,
        ),
        "not_understood": notice_card(
            words.not_understood_title, words.not_understood.format(kind=words.kind_video), language=language
        ),
        "with_buttons": notice_card(
            words.notice_title,
            words.interrupted_note,
            template="orange",
            buttons=(
                Button(words.stop, {"do": "stop", "turn": "turn_1"}, "danger"),
                Button(words.help_title, {"do": "help"}),
            ),
            language=language,
        ),
    }


def _missed(language: str) -> dict[str, Card]:
    """The pending card of a group, undecided and decided, and the one of a private chat."""
    said = {
        "zh": ("昨天的构建为什么失败？", "把 <安装> 一节改一下", "[图片]"),
        "en": ("why did the build fail?", "mend the <install> part", "[pictures]"),
    }[language]
    people = ("ou_alice", "ou_bob", "ou_alice")
    times = (1_796_040_000_000, 1_796_043_600_000, 1_796_047_200_000)
    lines = [Line(*one) for one in zip(people, times, said, strict=True)]
    many = [Line("", times[0] + 60_000 * number, f"{number}. {said[0]}") for number in range(1, 25)]
    return {
        "open": missed_card(language, "batch_1", lines, state="open"),
        "handled": missed_card(language, "batch_1", lines, state="handled", decided_by="ou_bob"),
        "ignored": missed_card(language, "batch_1", lines, state="ignored", decided_by="ou_bob"),
        "private_many": missed_card(language, "batch_2", many, state="open"),
    }


def _access(language: str) -> dict[str, Card]:
    """A request as admins and the person who asks see it, in every state."""
    said = {"zh": "帮我看看 <构建> 为什么失败", "en": "why does the <build> fail?"}[language]
    until = 1_796_644_800_000
    asked = RequestLine("access_1", "open", "ou_alice", "Alice", said, 1, {"chat"}, until)
    given = RequestLine(
        "access_1", "approved", "ou_alice", "Alice", said, 0, {"chat", "code_write"}, until, decided_by="ou_bob"
    )
    crowded = RequestLine("access_2", "open", "", "u_<1>", "", 3, {"chat", "wiki_read"}, until, in_group=True)
    out = {"open": request_card(language, asked), "approved": request_card(language, given)}
    out["open_group"] = request_card(language, crowded)
    for state in ("denied", "expired", "withdrawn"):
        line = RequestLine("access_1", state, "ou_alice", "Alice", said, 0, {"chat"}, until)
        out[state] = request_card(language, line)
    for state in ("open", "approved", "denied", "expired", "withdrawn"):
        out[f"applicant_{state}"] = applicant_card(language, state)
    return out | {"refused": denied_card(language)}


OPTIONS = (
    PermissionOption("once", "Yes", "allow_once"),
    PermissionOption("always", "Yes, and do not ask again for edits", "allow_always"),
    PermissionOption("no", "No", "reject_once"),
)


def _permissions(language: str) -> dict[str, Card]:
    """Questions of every sort, and what becomes of one."""
    edit = PermissionQuestion("t4", "Edit src/cache.py", "edit", "", DIFF, ("src/cache.py",), OPTIONS)
    command = "uv run pytest -q tests/unit \\\n  && rm -rf build \u202e/ *# \n```\necho '<at id=all></at>'"
    execute = PermissionQuestion("t5", "Run the tests", "execute", command, "", (), (OPTIONS[0], OPTIONS[2]))
    paths = tuple(f"src/module_{number}/file.py" for number in range(9))
    alike = tuple(PermissionOption(f"o{number}", name, "allow_once") for number, name in enumerate(("main", "v2", "")))
    other = PermissionQuestion("t6", "*deploy* <b>now</b>", "other", '{"where": "production"}', "", paths, alike)
    long = replace(edit, title="Edit " + "x" * 300, diff=LONG_DIFF * 4, arguments="\n".join(["line"] * 90))
    until = 1_796_644_800_000
    asked = PermissionLine("permit_1", "claude", edit, until)
    lines = {
        "edit": asked,
        "execute": replace(asked, question=execute),
        "other": replace(asked, question=other),
        "long": replace(asked, question=long),
        "allowed": replace(asked, state="allowed", choice=0, decided_by="ou_alice"),
        "allowed_always": replace(asked, state="allowed", choice=1, decided_by="ou_alice"),
        "denied": replace(asked, question=execute, state="denied", choice=1, decided_by="ou_bob"),
        "denied_right": replace(asked, state="denied", why="no_code_write"),
        "expired": replace(asked, state="expired"),
        "ended": replace(asked, state="ended", why="turn"),
        "restart": replace(asked, state="ended", why="restart"),
    }
    return {name: permission_card(language, line) for name, line in lines.items()}


def _rights(language: str) -> dict[str, Card]:
    """Somebody who may chat asks for the right to have code changed: what admins and this person see."""
    said = {"zh": "把缓存的键改对", "en": "mend the key of the cache"}[language]
    until = 1_796_644_800_000
    switches = {"chat", "wiki_read", "code_write"}
    asked = RequestLine("ask_1", "open", "ou_alice", "Alice", said, 0, switches, until, wants="code_write")
    out = {
        state: request_card(language, replace(asked, state=state, decided_by="ou_bob" if state == "approved" else ""))
        for state in ("open", "approved", "denied", "expired")
    }
    mine = {
        f"applicant_{state}": applicant_card(language, state, "code_write")
        for state in ("open", "approved", "denied", "expired")
    }
    return out | mine


def _offered(language: str, name: str) -> tuple[Button, ...]:
    """The buttons that `stopping.draw` would put onto the main card."""
    if name.endswith("_fresh"):
        return (Button(gate_texts(language).fresh_button, {"do": "fresh", "turn": "turn_1"}, "primary"),)
    return _buttons(language) if name.endswith("_offer") else ()


def _buttons(language: str) -> tuple[Button, ...]:
    return (Button(texts(language).button_continue, {"do": "continue", "turn": "turn_1"}, "primary"),)


def _conversations(language: str) -> dict[str, Card]:
    said = (
        ("缓存为什么没有命中？", "画一张 *架构* 图") if language == "zh" else ("Why no cache hits?", "Draw the *house*")
    )
    lines = [
        SessionLine(12, 1_790_000_000_000, said[0], 7, 13_023, is_current=True),
        SessionLine(11, 1_789_900_000_000, "", 0, 0, is_current=False),
        SessionLine(9, 1_789_000_000_000, said[1], 1, 420, is_current=False),
    ]
    return {
        "guide_private": guide_card(language, "Ada", group=False),
        "guide_group": guide_card(language, "Ada", group=True),
        "expired": expired_card(language),
        "queue_full": queue_full_card(language, 20),
        "sessions": sessions_card(language, lines, 8),
        "sessions_archived": sessions_card(language, lines[:1], 0, [11, 9]),
        "sessions_none": sessions_card(language, [], 0),
        "usage": usage_card(
            language, UsageLine(0, 0, 0, 0), UsageLine(7, 2, 12_345, 678), UsageLine(70, 9, 123_456, 6_780)
        ),
    }


def cards(language: str) -> dict[str, Card]:
    """Every card by name; a reply of several cards has them numbered."""
    out: dict[str, Card] = {}
    for name, view in views(language).items():
        drawn = reply_cards(view, language, buttons=_offered(language, name))
        for number, card in enumerate(drawn, 1):
            out[f"reply_{name}" + (f"_{number}" if len(drawn) > 1 else "")] = card
    draw: Callable[[str], dict[str, Card]] = _notices
    out |= {f"notice_{name}": card for name, card in draw(language).items()} | _conversations(language)
    out |= {f"permit_{name}": card for name, card in _permissions(language).items()}
    out |= {f"right_{name}": card for name, card in _rights(language).items()}
    out |= {f"access_{name}": card for name, card in _access(language).items()}
    return out | {f"missed_{name}": card for name, card in _missed(language).items()}
