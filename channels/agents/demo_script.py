"""One demo turn as a script: events, each with the pause before it. Pure; `demo` plays it.

Order: plan, reasoning, tools, work, permission, answer, end. What is not asked for is left out; with nothing asked for,
it echoes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Final

from channels.agents import demo_texts
from channels.agents.demo_words import DemoAsk, Word, demo_help, read_ask
from channels.agents.failures import DemoError, is_chinese, sentence
from channels.agents.history import estimate_tokens
from channels.agents.protocol import PermissionAnswer, PermissionOption, PermissionQuestion, TurnRequest
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)

OPTIONS: Final = (
    PermissionOption("yes", "Yes", "allow_once"),
    PermissionOption("no", "No", "reject_once"),
)
DELTA_PAUSE_S: Final = 0.02
SLOW_PAUSE_S: Final = 0.1
TOOL_PAUSE_S: Final = 0.5
_DELTA_CHARACTERS: Final = 8
_MOST_DELTAS: Final = 150  # a long answer takes 3 s, not minutes
_SLOW_DELTAS: Final = 300


@dataclass(frozen=True, slots=True)
class Step:
    """After `pause_s` seconds comes `event`; then, where it `asks`, a person is asked, and `after_asking` goes on."""

    pause_s: float
    event: AgentEvent
    asks: PermissionQuestion | None = None


def script(turn: TurnRequest) -> Iterator[Step]:
    """The steps of `turn`; the last one is its `Ended`."""
    own = _own_words(turn.text)
    ask = read_ask(own)
    language = spoken_language(own, turn.language)
    if Word.STREAM in ask.words:
        yield from _exact_stream(ask, language)
        return
    answer = _answer(turn, ask, language)
    usage = _usage(turn)
    yield Step(0, usage)
    yield from _activity(ask, language)
    if Word.PERMISSION in ask.words:
        yield from _permission(language)
    yield from _text(answer, slow=Word.SLOW in ask.words)
    if Word.PLAN in ask.words:
        yield _plan(language, done=4)
    yield Step(0, replace(usage, output_tokens=estimate_tokens(answer) + _reasoning_tokens(ask, language)))
    yield Step(0, _end(ask, language))


def resumed(turn: TurnRequest) -> Iterator[Step]:
    """What is left of an answer that was cut off: the script of the question before, without the words that its last
    answer has already said."""
    questions = [one.text for one in turn.history if one.role == "user"]
    answers = [one.text for one in turn.history if one.role == "assistant"]
    if not questions:
        yield from script(turn)
        return
    said = len(answers[-1]) if answers and turn.history[-1].role == "assistant" else 0
    for step in script(replace(turn, text=questions[-1], history=turn.history[:-2], continues=False)):
        if isinstance(step.event, TextDelta) and said > 0:
            rest = step.event.text[said:]
            said -= len(step.event.text)
            if not rest:
                continue
            step = Step(0, TextDelta(rest))
        yield step


def _own_words(text: str) -> str:
    """What the person wrote: without what is quoted or forwarded, and without the names of files."""
    lines = (line for line in text.splitlines() if not line.startswith((">", "**")))
    return re.sub(r"\[[^\[\]\n]*: [^\[\]\n]*\]", "", "\n".join(lines))


def spoken_language(text: str, otherwise: str) -> str:
    """zh when the message has a Chinese character, en when it has other letters, else `otherwise`."""
    if any("\u4e00" <= sign <= "\u9fff" for sign in text):
        return "zh"
    return "en" if any(sign.isalpha() for sign in text) else otherwise


def _end(ask: DemoAsk, language: str) -> Ended:
    if Word.ERROR in ask.words:
        return Ended(Outcome.FAILED, sentence(DemoError(), language))
    return Ended(Outcome.MAX_TOKENS if Word.MAX_TOKENS in ask.words else Outcome.COMPLETED)


def _answer(turn: TurnRequest, ask: DemoAsk, language: str) -> str:
    words = ask.words
    parts = [
        demo_help(language) if Word.HELP in words else "",
        demo_texts.remembered(turn.history, language) if Word.HISTORY in words else "",
        demo_texts.markdown(language) if Word.MARKDOWN in words else "",
        demo_texts.code(language) if Word.CODE in words else "",
        demo_texts.tables(ask.tables, language) if Word.TABLES in words else "",
        demo_texts.long_answer(language) if Word.LONG in words else "",
        demo_texts.huge_answer(language) if Word.HUGE in words else "",
    ]
    answer = "\n\n".join(part for part in parts if part)
    if Word.EMPTY in words:
        return ""
    if not answer and Word.PERMISSION in words:
        return ""  # what was decided is the answer
    answer = answer or demo_texts.echo(turn.text, language)
    if turn.attachments:
        answer = f"{answer}\n\n{demo_texts.received(turn.attachments, language)}"
    cut_short = Word.ERROR in words or Word.MAX_TOKENS in words
    return answer[: len(answer) * 3 // 5] if cut_short else answer


def _activity(ask: DemoAsk, language: str) -> Iterator[Step]:
    planned = Word.PLAN in ask.words
    if planned:
        yield _plan(language, done=0)
    if Word.REASONING in ask.words:
        thoughts = _pieces(demo_texts.reasoning(language), _DELTA_CHARACTERS)
        yield from (Step(DELTA_PAUSE_S, ReasoningDelta(piece)) for piece in thoughts)
    if planned:
        yield _plan(language, done=1)
    if Word.TOOLS in ask.words:
        yield from _tools(language)
    if ask.work_s > 0:
        yield from _work(ask.work_s, language)
    if planned:
        yield _plan(language, done=2)


def _plan(language: str, done: int) -> Step:
    """The plan with its first `done` entries completed and the next one in progress."""
    entries = demo_texts.plan(language)
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(entries)
    return Step(TOOL_PAUSE_S / 2, PlanUpdated(tuple(zip(entries, states, strict=False))))


def _tools(language: str) -> Iterator[Step]:
    chinese = is_chinese(language)
    failure = "1 项失败：test_paging（退出码 1）" if chinese else "1 failed: test_paging (exit code 1)"
    success = "214 项通过，用时 3.1 秒" if chinese else "214 passed in 3.1 s"
    rows = (
        ("read", "读取 README.md" if chinese else "Read README.md", '{"path": "README.md"}', "# Feishu Channels\n…"),
        (
            "search",
            "搜索 “timeout”" if chinese else "Search for “timeout”",
            '{"pattern": "timeout"}',
            "service.py:41\nclient.py:7",
        ),
        ("execute", "运行测试" if chinese else "Run the tests", "make check", failure),
        ("execute", "再次运行测试" if chinese else "Run the tests again", "make check", success),
    )
    for number, (kind, title, arguments, output) in enumerate(rows, start=1):
        tool_id = f"demo-{number}"
        yield Step(0, ToolCalled(tool_id, title, kind, arguments))
        yield Step(TOOL_PAUSE_S / 2, ToolUpdated(tool_id, ToolStatus.RUNNING))
        status = ToolStatus.FAILED if output is failure else ToolStatus.DONE
        yield Step(TOOL_PAUSE_S, ToolUpdated(tool_id, status, output))


def after_asking(turn: TurnRequest, question: PermissionQuestion, answer: PermissionAnswer) -> Iterator[AgentEvent]:
    """What follows when a person, or the policy, has answered."""
    language = spoken_language(_own_words(turn.text), turn.language)
    yield ToolUpdated(question.tool_id, ToolStatus.DONE if answer.allowed else ToolStatus.DENIED)
    yield TextDelta(demo_texts.decided(answer.allowed, answer.why, language))


def _permission(language: str) -> Iterator[Step]:
    title = "修改 notes.md" if is_chinese(language) else "Change notes.md"
    tool_id, diff = "demo-permission", demo_texts.DIFF
    question = PermissionQuestion(tool_id, title, "edit", diff=diff, paths=("notes.md",), options=OPTIONS)
    yield Step(TOOL_PAUSE_S / 2, ToolCalled(tool_id, title, "edit", diff=diff))
    yield Step(0, ToolUpdated(tool_id, ToolStatus.ASKING), asks=question)


def _work(work_s: int, language: str) -> Iterator[Step]:
    chinese = is_chinese(language)
    yield Step(
        0,
        ToolCalled(
            "demo-work", f"工作 {work_s} 秒" if chinese else f"Work for {work_s} s", "execute", f"sleep {work_s}"
        ),
    )
    for second in range(1, work_s + 1):
        output = f"{second} / {work_s} 秒" if chinese else f"{second} of {work_s} s"
        yield Step(1, ToolUpdated("demo-work", ToolStatus.DONE if second == work_s else ToolStatus.RUNNING, output))


def _text(answer: str, *, slow: bool) -> Iterator[Step]:
    pause_s, least, most = (SLOW_PAUSE_S, 1, _SLOW_DELTAS) if slow else (DELTA_PAUSE_S, _DELTA_CHARACTERS, _MOST_DELTAS)
    size = max(least, ceil(len(answer) / most))
    return (Step(pause_s, TextDelta(piece)) for piece in _pieces(answer, size))


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _exact_stream(ask: DemoAsk, language: str) -> Iterator[Step]:
    """Equal deltas at equal distances; the last one falls on the asked-for millisecond."""
    text = demo_texts.filler(ask.stream_characters, language)
    count = max(1, min(len(text), ask.stream_ms // 20))
    bounds = [len(text) * number // count for number in range(count + 1)]
    for start, end in pairwise(bounds):
        yield Step(ask.stream_ms / 1000 / count, TextDelta(text[start:end]))
    yield Step(0, UsageReported(output_tokens=estimate_tokens(text)))
    yield Step(0, Ended(Outcome.COMPLETED))


def _usage(turn: TurnRequest) -> UsageReported:
    """Plausible numbers: the history counts as read from the cache."""
    cached = sum(estimate_tokens(said.text) for said in turn.history)
    return UsageReported(input_tokens=cached + estimate_tokens(turn.text), cached_tokens=cached)


def _reasoning_tokens(ask: DemoAsk, language: str) -> int:
    return estimate_tokens(demo_texts.reasoning(language)) if Word.REASONING in ask.words else 0
