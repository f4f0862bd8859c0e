"""What the demo agent understands: one table that makes the parser, the help text, the README and the help of the CLI.

A row holds a pattern, an example in each language (which a test parses back to exactly that row) and what it shows.
Words stand anywhere in a message and combine: "slow long answer with reasoning and tools" is all four.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from channels.agents.failures import is_chinese


class Word(StrEnum):
    LONG = "long"
    TABLES = "tables"
    CODE = "code"
    MARKDOWN = "markdown"
    HUGE = "huge"
    SLOW = "slow"
    REASONING = "reasoning"
    PLAN = "plan"
    TOOLS = "tools"
    PERMISSION = "permission"
    WORK = "work"
    STREAM = "stream"
    HISTORY = "history"
    MAX_TOKENS = "max_tokens"
    ERROR = "error"
    EMPTY = "empty"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class DemoWord:
    """One row: `example_*` is what a person may type, `shows_*` what happens then."""

    word: Word
    pattern: re.Pattern[str]
    example_en: str
    example_zh: str
    shows_en: str
    shows_zh: str

    def example(self, language: str) -> str:
        return self.example_zh if is_chinese(language) else self.example_en

    def shows(self, language: str) -> str:
        return self.shows_zh if is_chinese(language) else self.shows_en


def _word(word: Word, pattern: str, english: tuple[str, str], chinese: tuple[str, str]) -> DemoWord:
    return DemoWord(word, re.compile(pattern, re.IGNORECASE), english[0], chinese[0], english[1], chinese[1])


DEMO_WORDS: Final[tuple[DemoWord, ...]] = (
    _word(
        Word.LONG,
        r"\blong\b|长回答|长文|长篇",
        ("long answer", "an answer of several cards"),
        ("长回答", "一个需要好几张卡片的回答"),
    ),
    _word(
        Word.TABLES,
        r"(?:(?P<en>\d{1,3})\s+)?\btables?\b|(?:(?P<zh>\d{1,3})\s*(?:个|张)?\s*)?表格",
        ("7 tables", "that many tables (8 without a number)"),
        ("7 个表格", "指定数量的表格（不写数字时为 8 个）"),
    ),
    _word(
        Word.CODE,
        r"\bcode\b|代码",
        ("code", "code blocks in several languages"),
        ("代码", "几种语言的代码块"),
    ),
    _word(
        Word.MARKDOWN,
        r"\bmarkdown\b|格式",
        ("markdown", "headings, lists, quotes, links and inline styles"),
        ("格式", "标题、列表、引用、链接和行内样式"),
    ),
    _word(
        Word.REASONING,
        r"\b(?:reasoning|reason|think|thinking)\b|思考|推理",
        ("think", "reasoning before the answer"),
        ("思考", "回答之前的思考过程"),
    ),
    _word(
        Word.PLAN,
        r"\bplan\b|计划",
        ("plan", "a plan that is ticked off step by step"),
        ("计划", "一个逐步完成的计划"),
    ),
    _word(
        Word.TOOLS,
        r"\btools?\b|工具",
        ("tools", "several tool calls with their output; one of them fails"),
        ("工具", "几次工具调用及其输出，其中一次失败"),
    ),
    _word(
        Word.PERMISSION,
        r"\bpermissions?\b|许可",
        ("ask permission", "a card that asks whether a file may be changed; needs the right to change code"),
        ("请求许可", "一张询问能否修改文件的卡片，需要有改代码的权限"),
    ),
    _word(
        Word.WORK,
        r"\bwork(?:\s+for)?\s+(?P<en>\d{1,5})\s*(?P<unit>seconds?|secs?|s|minutes?|mins?|m)?\b"
        r"|工作\s*(?P<zh>\d{1,5})\s*(?P<unit_zh>秒|分)",
        ("work 20 seconds", "a tool that works for that long, up to an hour"),
        ("工作 20 秒", "一个工作这么长时间的工具，最长一小时"),
    ),
    _word(
        Word.SLOW,
        r"\b(?:slow|slowly)\b|慢",
        ("slow", "the answer letter by letter, for up to half a minute"),
        ("慢速", "逐字输出回答，最长约半分钟"),
    ),
    _word(
        Word.STREAM,
        r"\bstream\s+(?P<en>\d{1,7})\s*(?:characters?|chars?)\s+in\s+(?P<ms>\d{1,7})\s*(?P<unit>ms|milliseconds?|s|seconds?)\b"
        r"|输出\s*(?P<zh>\d{1,7})\s*个?字符?\s*[，,]?\s*(?:用时|耗时|用)?\s*(?P<ms_zh>\d{1,7})\s*(?P<unit_zh>毫秒|秒)",
        ("stream 800 characters in 800 ms", "exactly that many characters in exactly that time, for benchmarks"),
        ("输出 800 字，用时 800 毫秒", "在指定时间内输出恰好这么多字，用于测速"),
    ),
    _word(
        Word.HUGE,
        r"\bhuge\b|超大|巨大",
        ("huge", "an answer of about 300 KB"),
        ("超大", "一个约 300 KB 的回答"),
    ),
    _word(
        Word.HISTORY,
        r"\bwhat did i say\b|\bhistory\b|我(?:之前|刚才|前面)说|历史",
        ("what did I say before", "your earlier messages of this session: it remembers"),
        ("我之前说了什么", "本次会话中你之前的消息：它记得"),
    ),
    _word(
        Word.MAX_TOKENS,
        r"\bmax(?:imum)?[ _-]tokens\b|截断",
        ("max tokens", "an answer that ends at the model's length limit"),
        ("截断", "一个因长度上限而中断的回答"),
    ),
    _word(
        Word.ERROR,
        r"\b(?:error|fail)\b|错误|出错|报错|失败",
        ("error", "a turn that fails in the middle of its answer"),
        ("出错", "一次在回答中途失败的运行"),
    ),
    _word(
        Word.EMPTY,
        r"\bempty\b|空回答",
        ("empty answer", "an answer without a word"),
        ("空回答", "一个没有任何内容的回答"),
    ),
    _word(
        Word.HELP,
        r"\b(?:demo|help)\b|帮助|演示",
        ("demo", "this list"),
        ("演示", "显示这份列表"),
    ),
)

LONGEST_WORK_S: Final = 3600
MOST_TABLES: Final = 60
MOST_CHARACTERS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class DemoAsk:
    """What one message asks for. Numbers are bounded; those of words that are not asked for have no meaning."""

    words: frozenset[Word] = field(default_factory=frozenset)
    tables: int = 8
    work_s: int = 0
    stream_characters: int = 0
    stream_ms: int = 0


def read_ask(text: str) -> DemoAsk:
    """The words that stand in `text`, with their numbers."""
    found = {row.word: hit for row in DEMO_WORDS if (hit := row.pattern.search(text)) is not None}
    tables, work, stream = (found.get(word) for word in (Word.TABLES, Word.WORK, Word.STREAM))
    work_s = _number(work, 0) * (60 if _unit(work).startswith(("m", "分")) else 1)
    stream_ms = _number(stream, 0, "ms") * (1 if _unit(stream).startswith(("m", "毫")) else 1000)
    return DemoAsk(
        frozenset(found),
        tables=min(max(_number(tables, 8), 1), MOST_TABLES),
        work_s=min(work_s, LONGEST_WORK_S),
        stream_characters=min(_number(stream, 0), MOST_CHARACTERS),
        stream_ms=min(stream_ms, LONGEST_WORK_S * 1000),
    )


def demo_help(language: str) -> str:
    """What can be asked, as a Markdown list in `language`."""
    if is_chinese(language):
        head = "我是内置的演示助手，不联网。发送任意消息，我会回显；消息中含有下列词语时，我会演示（可以组合）："
    else:
        head = (
            "I am the built-in demo agent and use no network. I echo what you send; with these words in a message I "
            "show something (they combine):"
        )
    rows = [f"- `{row.example(language)}`: {row.shows(language)}" for row in DEMO_WORDS]
    if is_chinese(language):
        rows = [row.replace("`: ", "`：", 1) for row in rows]
    return "\n".join([head, "", *rows])


def _number(hit: re.Match[str] | None, otherwise: int, name: str = "") -> int:
    names = (name, f"{name}_zh") if name else ("en", "zh")
    found = [hit.group(one) for one in names if hit.group(one)] if hit else []
    return int(found[0]) if found else otherwise


def _unit(hit: re.Match[str] | None) -> str:
    return (hit.group("unit") or hit.group("unit_zh") or "").lower() if hit else ""
