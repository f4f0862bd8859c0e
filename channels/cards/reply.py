"""The reply cards of a turn: one per page of its answer.

Segment 0 is the main card: it alone has a header, the reasoning, the plan and the tools. Stop, the notes about how the
turn ended and the footer stand on the last segment, where a person reads. Only the last segment of a running turn
streams: a page that another one follows is complete, and changes no more except for the main card's header and panels.
"""

from collections.abc import Sequence
from dataclasses import replace

from channels.cards.activity import plan_panel, reasoning_panel, tools_panel
from channels.cards.card import ANSWER_ELEMENT, Button, Card, Element, button_row, finish, header, markdown, small
from channels.cards.excerpt import one_line, tidy
from channels.cards.footer import footer_line
from channels.cards.markdown import beginning, clean, clean_units, literal, plain, plain_units
from channels.cards.mending import hold_back
from channels.cards.paging import Page, pages
from channels.cards.texts import Texts, texts
from channels.rules.agent_event import Outcome, ToolStatus
from channels.rules.turn import HARMLESS, RUNNING, Phase, View, shown_phase

TEMPLATES: dict[Phase, str] = {
    Phase.WAITING: "grey",
    Phase.THINKING: "wathet",
    Phase.REPLYING: "blue",
    Phase.ASKING: "yellow",
    Phase.DONE: "green",
    Phase.STOPPED: "grey",
    Phase.INTERRUPTED: "orange",
    Phase.FAILED: "red",
}

ERROR_CHARACTERS = 240  # each may take six bytes
SUMMARY_CHARACTERS = 80
UNREAD_CHARACTERS = 160


def reply_cards(view: View, language: str, *, buttons: Sequence[Button] = ()) -> tuple[Card, ...]:
    """The cards of a turn as they should stand now, main card first. `buttons` go onto the main card."""
    words, view = texts(language), replace(view, phase=shown_phase(view))
    answer = tidy(view.answer)
    if _is_unfinished(view):
        answer = hold_back(answer)
    parts = pages(answer) or (Page(()),)
    return tuple(_segment(view, words, parts, number, buttons) for number in range(len(parts)))


def phase_title(phase: Phase, words: Texts) -> str:
    """What the header says in this phase."""
    titles = {
        Phase.WAITING: words.phase_waiting,
        Phase.THINKING: words.phase_thinking,
        Phase.REPLYING: words.phase_replying,
        Phase.ASKING: words.phase_asking,
        Phase.DONE: words.phase_done,
        Phase.STOPPED: words.phase_stopped,
        Phase.INTERRUPTED: words.phase_interrupted,
        Phase.FAILED: words.phase_failed,
    }
    return titles[phase]


def _segment(view: View, words: Texts, parts: Sequence[Page], number: int, buttons: Sequence[Button]) -> Card:
    running, last = view.phase in RUNNING, number == len(parts) - 1
    offer = (words.interrupted_offer_above if number else words.interrupted_offer) if buttons else ""
    notes = (
        [*_unread(view, words), *_about(view, words), *_notes(view, words, kept=bool(parts[0].units), offer=offer)]
        if last
        else []
    )
    elements = _top(view, words) if number == 0 else [small(words.part.format(number=number + 1), "part")]
    if answer := clean_units(parts[number].units, words.image, unfinished=last and _is_unfinished(view)):
        elements.append(markdown(answer, ANSWER_ELEMENT))
    elements += [markdown(clean(note, words.image), f"note_{count}") for count, note in enumerate(notes, 1)]
    bottom = _bottom(view, words) if last else [small(words.continues, "continues")]
    if buttons and number == 0:
        bottom.insert(len(bottom) if running else 0, button_row(buttons, "offers"))  # after Stop, above the footer
    elements += bottom
    body = plain_units(parts[number].units, words.image)
    text = "\n\n".join(part for part in (body, *(plain(note, words.image) for note in notes)) if part)
    title = phase_title(view.phase, words)
    return finish(
        elements,
        text=text or title,
        summary=title if running and number == 0 else _summary(view, parts[number], text, words),
        header=header(title, TEMPLATES[view.phase]) if number == 0 else None,
        streaming=running and last,
    )


def _is_unfinished(view: View) -> bool:
    """Whether the answer may break off anywhere: while it grows, and when the turn did not complete."""
    return view.phase is not Phase.DONE or view.outcome is Outcome.MAX_TOKENS


def _top(view: View, words: Texts) -> list[Element]:
    """Reasoning, plan and tools, each only when there is something in it."""
    panels = (reasoning_panel(view, words), plan_panel(view, words), tools_panel(view, words))
    return [part for part in panels if part is not None]


def _bottom(view: View, words: Texts) -> list[Element]:
    """What stands under the answer on the last segment."""
    buttons: list[Button] = []
    if view.phase in RUNNING:
        label = words.stopping if view.stopping else words.stop
        buttons.append(Button(label, {"do": "stop", "turn": view.turn_id}, "danger", disabled=view.stopping))
    if view.lacks_right:
        buttons.append(Button(words.ask_right, {"do": "ask_right", "turn": view.turn_id}))
    elements = [button_row(buttons)] if buttons else []
    if view.phase not in RUNNING and (line := footer_line(view, words)):
        elements.append(small(line, "footer"))
    return elements


def _unread(view: View, words: Texts) -> list[str]:
    """What of the question was not read. Markdown."""
    things = one_line("; ".join(view.unread), UNREAD_CHARACTERS)
    return [f"⚠️ {literal(words.unread_note.format(things=things))}"] if things else []


def _about(view: View, words: Texts) -> list[str]:
    """How it was answered, where that is not as people expect. Markdown."""
    lacks = [f"⊘ {words.lacks_right}"] if view.lacks_right else []
    return [*(f"⚠️ {literal(one_line(note, UNREAD_CHARACTERS))}" for note in view.notes), *lacks]


def _notes(view: View, words: Texts, *, kept: bool, offer: str) -> list[str]:
    """How it ended, what is kept and what to do, where the answer alone does not say it. Markdown."""
    kept_too = words.between_sentences + words.kept if kept else ""
    match view.phase:
        case Phase.WAITING:
            return [words.queued_at_agent.format(count=view.ahead) if view.ahead else words.queued]
        case Phase.ASKING:
            return [words.asking_note]
        case Phase.FAILED:
            error = literal(one_line(view.error, ERROR_CHARACTERS)) or words.failed_unknown
            what = words.fresh_offer if view.lost_session and offer else words.failed_do
            return [f"⚠️ {error}", words.kept + words.between_sentences + what if kept else what]
        case Phase.INTERRUPTED:
            note = f"⚠️ {words.interrupted_note}{kept_too}{words.between_sentences}{offer or words.interrupted_do}"
            return [*_at_work(view, words), note]
        case Phase.STOPPED:
            return [words.stopped_note + kept_too]
        case Phase.DONE if view.outcome is Outcome.MAX_TOKENS:
            return [f"⚠️ {words.max_tokens_note}"]
        case Phase.DONE if not kept:
            return [words.empty_answer]
        case _:
            return []


def _at_work(view: View, words: Texts) -> list[str]:
    """What was being done when the service went down, and may be half done. Markdown."""
    cut = [tool for tool in view.tools if tool.status is ToolStatus.UNKNOWN and tool.kind not in HARMLESS]
    things = one_line("; ".join(tool.title for tool in cut), UNREAD_CHARACTERS)
    return [f"⚠️ {literal(words.interrupted_tools.format(things=things))}"] if things else []


def _summary(view: View, page: Page, text: str, words: Texts) -> str:
    """The line in the list of chats: the answer's beginning, after the state where that is not plain success."""
    short = one_line(beginning(page.units, SUMMARY_CHARACTERS, words.image) or text, SUMMARY_CHARACTERS)
    if view.phase in RUNNING or view.phase is Phase.DONE:
        return short
    return f"[{phase_title(view.phase, words)}] {short}"
