"""What the agent did on the way to its answer: reasoning, plan and tools, as parts that fold away.

Everything here was written by an agent or a tool and is shown as plain text, never as Markdown. Each part has a budget
of its own, so that the room that is left for the answer is the same from the first frame to the last.
"""

from channels.cards.card import Element, markdown, panel, small, wire_size, words_only
from channels.cards.excerpt import clip, cut_lines, one_line, tail, tidy
from channels.cards.markdown import clean_units
from channels.cards.texts import Texts
from channels.cards.units import code_unit
from channels.rules.agent_event import ToolStatus
from channels.rules.turn import RUNNING, Phase, Tool, View

REASONING_BYTES = 2_000
DIFFS_BYTES, DIFF_LINES, DIFFS_SHOWN = 1_400, 24, 3
TOOLS_BYTES = 2_000
PLAN_BYTES = 1_200

TOOL_MARKS = {
    ToolStatus.PENDING: "◌",
    ToolStatus.RUNNING: "▸",
    ToolStatus.ASKING: "◐",
    ToolStatus.DENIED: "⊘",
    ToolStatus.DONE: "✓",
    ToolStatus.FAILED: "✗",
    ToolStatus.UNKNOWN: "?",
}
PLAN_MARKS = {"completed": "☑", "in_progress": "▸", "pending": "☐"}


def reasoning_panel(view: View, words: Texts) -> Element | None:
    """Open while there is nothing else to read, folded afterwards; of a long reasoning the latest part."""
    text = tidy(view.reasoning).strip()
    if not text:
        return None
    running = view.phase is Phase.THINKING
    shown = tail(text, REASONING_BYTES)
    content = shown if len(shown) == len(text) else f"{words.reasoning_cut}\n{shown}"
    title = words.reasoning_running if running else words.reasoning_done
    return panel("reasoning", title, [small(content)], expanded=running and not view.answer)


def tools_panel(view: View, words: Texts) -> Element | None:
    """One or two lines for each call, the latest ones; the title says how many and which one is working."""
    if not view.tools:
        return None
    lines: list[str] = []
    room = TOOLS_BYTES
    for tool in reversed(view.tools):
        line = _tool_line(tool)
        room -= wire_size(line + "\n")
        if room < 0:
            break
        lines.insert(0, line)
    if hidden := len(view.tools) - len(lines):
        lines.insert(0, words.tools_earlier.format(count=hidden))
    open_now = view.phase in RUNNING and not view.answer
    shown = [small("\n".join(lines)), *_diffs(view, words)]
    return panel("tools", _tools_title(view, words), shown, expanded=open_now)


def plan_panel(view: View, words: Texts) -> Element | None:
    """The plan as a checklist: open while the turn runs."""
    if not view.plan:
        return None
    lines: list[str] = []
    room = PLAN_BYTES
    for text, status in view.plan:
        line = f"{PLAN_MARKS.get(status, '☐')} {one_line(text, 200)}"
        room -= wire_size(line + "\n")
        if room < 0:
            break
        lines.append(line)
    if hidden := len(view.plan) - len(lines):
        lines.append(words.plan_more.format(count=hidden))
    done = sum(status == "completed" for _, status in view.plan)
    title = words.plan.format(done=done, total=len(view.plan))
    return panel("plan", title, [words_only("\n".join(lines))], expanded=view.phase in RUNNING)


def _tools_title(view: View, words: Texts) -> str:
    count = len(view.tools)
    if view.phase is Phase.ASKING:
        return words.tools_asking.format(count=count)
    working = [tool for tool in view.tools if tool.status in (ToolStatus.PENDING, ToolStatus.RUNNING)]
    if working and view.phase in RUNNING:
        return f"{words.tools_running.format(count=count)} · {one_line(working[-1].title, 60)}"
    denied = sum(tool.status is ToolStatus.DENIED for tool in view.tools)
    if denied:
        return words.tools_denied.format(count=count, denied=denied)
    unknown = sum(tool.status is ToolStatus.UNKNOWN for tool in view.tools)
    if unknown:
        return words.tools_unknown.format(count=count, unknown=unknown)
    failed = sum(tool.status is ToolStatus.FAILED for tool in view.tools)
    return words.tools_failed.format(count=count, failed=failed) if failed else words.tools_done.format(count=count)


def _diffs(view: View, words: Texts) -> list[Element]:
    """The latest changes as code, as far as there is room."""
    room, found = DIFFS_BYTES, list[list[Element]]()
    for tool in [tool for tool in view.tools if tool.diff.strip()][: -DIFFS_SHOWN - 1 : -1]:
        text, hidden = cut_lines(tidy(tool.diff).strip("\n"), room, DIFF_LINES)
        block = clean_units([code_unit("diff", text + "\n")])
        room -= wire_size(block)
        cut = [small(words.diff_cut.format(count=hidden))] if hidden else []
        if found and room < 0:
            break
        found.insert(0, [markdown(block), *cut])
    return [element for elements in found for element in elements]


def _tool_line(tool: Tool) -> str:
    line = f"{TOOL_MARKS[tool.status]} {one_line(tool.title, 80)}"
    if (arguments := one_line(tool.arguments, 100)) and arguments != one_line(tool.title, 100):
        line += f" · {arguments}"
    if output := one_line(tool.output, 120):
        line += f"\n   {output}"
    return clip(line, TOOLS_BYTES // 2)
