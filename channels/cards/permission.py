"""The card on which a person decides what an agent may do. Pure.

Everything that the agent wrote stands in code blocks or as literal text: nothing of it is Markdown, and a button shows
the agent's own words only where two of its options mean the same kind of answer.
"""

import re
from collections import Counter
from dataclasses import dataclass

from channels.cards.card import Button, Card, Element, button_row, finish, header, markdown, small
from channels.cards.excerpt import cut_lines, one_line, tidy
from channels.cards.gate_texts import GateTexts, gate_texts
from channels.cards.markdown import clean_units, literal
from channels.cards.units import code_unit
from channels.rules.permission import PermissionOption, PermissionQuestion

ARGUMENT_BYTES, DIFF_BYTES = 4_000, 10_000
ARGUMENT_LINES, DIFF_LINES = 16, 60
PATHS_SHOWN, PATH_CHARACTERS, TITLE_CHARACTERS, LABEL_CHARACTERS = 6, 160, 240, 40
SUMMARY_CHARACTERS = 80
# Characters that turn the direction of what follows, or cannot be seen: with them a command can look like another
UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
TEMPLATES = {"pending": "orange", "allowed": "green"}  # any other: grey
STYLES = {"allow_once": "primary", "reject_once": "danger"}


@dataclass(frozen=True, slots=True)
class PermissionLine:
    """A request as its card shows it. `state` and `why` as in the file; `decided_by` an open_id, "" where nobody did;
    `due_ms` the moment at which an undecided one is refused."""

    token: str
    agent: str
    question: PermissionQuestion
    due_ms: int
    state: str = "pending"
    why: str = ""
    choice: int | None = None
    decided_by: str = ""


def permission_card(language: str, line: PermissionLine) -> Card:
    """The question with its buttons; when it is settled, what was asked and what became of it."""
    words, question, pending = gate_texts(language), line.question, line.state == "pending"
    title = _title(words, line)
    elements: list[Element] = [markdown(_lead(words, question), "lead")]
    if paths := _paths(words, question):
        elements.append(small(paths, "paths"))
    if not question.diff.strip():  # of a change, the arguments are the same once more, as the agent's own JSON
        elements += _code(words, question.arguments, "", ARGUMENT_BYTES, ARGUMENT_LINES)
    elements += _code(words, question.diff, "diff", DIFF_BYTES, DIFF_LINES)
    elements.append(markdown(_state(words, line), "state"))
    if pending:
        elements.append(button_row(_buttons(words, line), "options"))
        elements.append(small(words.who_may, "who"))
    said = words.text_only if pending else _said(words, line)
    text = "\n".join(part for part in (title, _lead_text(words, question), said) if part)
    bar = header(title, TEMPLATES.get(line.state, "grey"))
    summary = one_line(f"{title}: {_what(question) or kind_words(words, question.kind)}", SUMMARY_CHARACTERS)
    return finish(elements, text=text, summary=summary, header=bar)


def kind_words(words: GateTexts, kind: str) -> str:
    """What a tool of this kind does, in words."""
    return str(getattr(words, f"kind_{kind}", words.kind_other))


def _title(words: GateTexts, line: PermissionLine) -> str:
    titles = {
        "pending": words.title_pending.format(agent=one_line(line.agent, 60)),
        "allowed": words.title_allowed,
        "denied": words.title_denied,
        "expired": words.title_expired,
        "ended": words.title_ended,
    }
    return titles[line.state]


def _what(question: PermissionQuestion) -> str:
    return _shown(one_line(question.title, TITLE_CHARACTERS))


def _lead(words: GateTexts, question: PermissionQuestion) -> str:
    lead, what = f"**{kind_words(words, question.kind)}**", _what(question)
    return f"{lead}\n{literal(what)}" if what and not _is_command(question) else lead


def _lead_text(words: GateTexts, question: PermissionQuestion) -> str:
    return " · ".join(part for part in (kind_words(words, question.kind), _what(question)) if part)


def _is_command(question: PermissionQuestion) -> bool:
    """Whether the title is just the arguments once more: then they stand in the code block alone."""
    return question.title.strip() == question.arguments.strip()


def _paths(words: GateTexts, question: PermissionQuestion) -> str:
    """The files, where the title does not name them anyway."""
    paths = [path for path in dict.fromkeys(question.paths) if path not in question.title]
    if not paths:
        return ""
    lines = [_shown(one_line(path, PATH_CHARACTERS)) for path in paths[:PATHS_SHOWN]]
    if more := len(paths) - len(lines):
        lines.append(words.more_paths.format(count=more))
    return f"{words.paths}: " + "\n".join(lines)


def _code(words: GateTexts, text: str, info: str, limit_bytes: int, limit_lines: int) -> list[Element]:
    """A code block of the beginning of `text`, and how many lines are left out."""
    text = _shown(tidy(text)).strip("\n")
    if not text.strip():
        return []
    shown, hidden = cut_lines(text, limit_bytes, limit_lines)
    name = info or "code"
    elements: list[Element] = [markdown(clean_units([code_unit(info, shown + "\n")]), name)]
    return [*elements, small(words.cut.format(count=hidden), f"{name}_cut")] if hidden else elements


def _shown(text: str) -> str:
    """Nothing of it hides."""
    return UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _state(words: GateTexts, line: PermissionLine) -> str:
    if line.state == "pending":
        return f"<font color='grey'>{words.until}</font> {_moment(line.due_ms)}"
    said = _said(words, line)
    if not line.decided_by:
        return said
    return f'{said}\n{words.by} <person id="{line.decided_by}" style="normal"></person>'


def _said(words: GateTexts, line: PermissionLine) -> str:
    """What became of it, in a sentence."""
    if line.why == "no_code_write":
        return words.said_no_code_write
    if line.choice is not None and line.state in ("allowed", "denied"):
        return _by_kind(words, line.question.options[line.choice], "did_")
    if line.state == "expired":
        return words.said_expired
    return words.said_restart if line.why == "restart" else words.said_turn


def _buttons(words: GateTexts, line: PermissionLine) -> list[Button]:
    """One for each option, in the agent's order."""
    options = line.question.options
    kinds = Counter(option.kind for option in options)
    return [
        Button(
            _label(words, option, alone=kinds[option.kind] == 1),
            {"do": "permit", "token": line.token, "option": str(number)},
            STYLES.get(option.kind, "default"),
        )
        for number, option in enumerate(options)
    ]


def _label(words: GateTexts, option: PermissionOption, *, alone: bool) -> str:
    own = one_line(option.name, LABEL_CHARACTERS)
    return _by_kind(words, option, "") if alone or not own else own


def _by_kind(words: GateTexts, option: PermissionOption, prefix: str) -> str:
    found = getattr(words, f"{prefix}{option.kind}", "")
    return str(found or getattr(words, f"{prefix}{'allow_once' if option.allows else 'reject_once'}"))


def _moment(at_ms: int) -> str:
    return f'<local_datetime millisecond="{at_ms}" format_type="time"></local_datetime>'
