"""The pending card: messages that came while nobody was listening, and what to do with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from channels.cards.card import Button, Card, Element, button_row, finish, header, markdown, small
from channels.cards.excerpt import one_line
from channels.cards.markdown import literal
from channels.cards.texts import texts
from channels.cards.wording import Texts

LINES_SHOWN = 10
SUMMARY_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Line:
    """One message: who wrote it (an open_id; "" where there is only one person), when (ms), how it begins."""

    open_id: str
    at_ms: int
    excerpt: str


def missed_card(language: str, batch_id: str, lines: Sequence[Line], *, state: str, decided_by: str = "") -> Card:
    """`state` is open (with *Handle all* and *Ignore*), handled or ignored (by `decided_by`, an open_id).

    Times are drawn in the reader's own zone and people by their present names: both are the client's work.
    """
    words = texts(language)
    title, template = {
        "handled": (words.missed_handled_title, "green"),
        "ignored": (words.missed_ignored_title, "grey"),
    }.get(state, (words.missed_title, "orange"))
    lead = _lead(words, len(lines), state)
    by = f'{words.missed_by} <person id="{decided_by}" style="normal"></person>' if decided_by else ""
    shown = lines[:LINES_SHOWN]
    elements: list[Element] = [markdown(" ".join(part for part in (lead, by) if part), "lead")]
    elements += [markdown(_line(line), f"message_{number}") for number, line in enumerate(shown, 1)]
    if len(lines) > len(shown):
        elements.append(small(words.missed_more.format(count=len(lines) - len(shown)), "more"))
    if state == "open":
        elements.append(button_row(_buttons(words, batch_id)))
    said = [lead, *(f"· {line.excerpt}" for line in shown)]
    text = "\n".join([title, *said])
    return finish(
        elements, text=text, summary=one_line(f"{title}: {said[0]}", SUMMARY_CHARACTERS), header=header(title, template)
    )


def _lead(words: Texts, count: int, state: str) -> str:
    match state:
        case "handled":
            return words.missed_handled.format(count=count)
        case "ignored":
            return words.missed_ignored.format(count=count)
        case _:
            return words.missed_lead.format(count=count)


def _line(line: Line) -> str:
    who = f'<person id="{line.open_id}" style="normal"></person> ' if line.open_id else ""
    moment = "".join(
        f'<local_datetime millisecond="{line.at_ms}" format_type="{kind}"></local_datetime> '
        for kind in ("date_short", "time")
    )
    return f"{who}<font color='grey'>{moment.strip()}</font>\n{literal(line.excerpt) or '…'}"


def _buttons(words: Texts, batch_id: str) -> list[Button]:
    return [
        Button(words.missed_handle, {"do": "missed_handle", "batch": batch_id}, "primary"),
        Button(words.missed_ignore, {"do": "missed_ignore", "batch": batch_id}),
    ]
