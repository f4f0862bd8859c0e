"""Cards of an access request: what an admin decides on, and what the person who asks sees. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from channels.cards.card import Button, Card, Element, button_row, finish, header, markdown
from channels.cards.excerpt import one_line
from channels.cards.gate_texts import gate_texts
from channels.cards.markdown import literal
from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.cards.wording import Texts
from channels.rules.access import SWITCHES

SUMMARY_CHARACTERS = 80
ON, OFF = "✓", "+"


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A request as its card shows it. `state` is open, approved, denied, expired or withdrawn; `decided_by` an open_id
    or "" where it is not known; `expires_ms` the moment at which an undecided one expires."""

    request_id: str
    state: str
    open_id: str
    name: str
    excerpt: str
    kept: int
    switches: Collection[str]
    expires_ms: int
    in_group: bool = False
    decided_by: str = ""
    wants: str = "chat"  # or code_write, by somebody who may chat already


def request_card(language: str, line: RequestLine) -> Card:
    """What an admin sees. Undecided: *Allow*, *Allow for a day*, *Decline*, and the switches that *Allow* would give;
    after *Allow* the switches that the person has."""
    words = texts(language)
    title, template, said = _states(language, line)[line.state]
    elements: list[Element] = [markdown(_lead(language, line), "lead")]
    if line.excerpt:
        says = words.access_says if line.wants == "chat" else gate_texts(language).right_for
        elements.append(markdown(f"**{says}** {literal(line.excerpt)}", "excerpt"))
    body = [said] if said else []
    if line.state == "open":
        body += [words.access_more.format(count=line.kept)] if line.kept > 1 else []
        body.append(f"<font color='grey'>{words.access_expires}</font> {_moment(line.expires_ms)}")
    if line.decided_by:
        body.append(f"{words.access_by} {_person(line.decided_by)}")
    elements.append(markdown("\n".join(body), "state"))
    elements += _button_rows(words, line)
    text = "\n".join(part for part in (title, _lead_text(language, line), said, line.excerpt) if part)
    return finish(elements, text=text, summary=one_line(text, SUMMARY_CHARACTERS), header=header(title, template))


@cache
def applicant_card(language: str, state: str, wants: str = "chat") -> Card:
    """What the person who asks sees, from the first message to the decision."""
    words = texts(language)
    title, body, template = (
        _of_right(language, state)
        if wants != "chat"
        else {
            "open": (words.kept_title, words.kept_body, "orange"),
            "approved": (words.kept_approved_title, words.kept_approved, "green"),
            "denied": (words.kept_denied_title, words.kept_denied, "grey"),
            "expired": (words.kept_expired_title, words.kept_expired, "grey"),
            "withdrawn": (words.kept_withdrawn_title, words.kept_withdrawn, "grey"),
        }[state]
    )
    return notice_card(title, body, template=template, language=language)


def _of_right(language: str, state: str) -> tuple[str, str, str]:
    """The same where somebody who may chat asks for a right."""
    words = gate_texts(language)
    return {
        "open": (words.asked_title, words.asked_body, "orange"),
        "approved": (words.asked_approved_title, words.asked_approved, "green"),
        "denied": (words.asked_denied_title, words.asked_denied, "grey"),
    }.get(state, (words.asked_expired_title, words.asked_expired, "grey"))


@cache
def denied_card(language: str) -> Card:
    """Answers a message that comes while a denial is fresh."""
    words = texts(language)
    return notice_card(words.denied_title, words.denied_body, template="grey", language=language)


def switch_names(words: Texts, switches: Collection[str]) -> str:
    """Switches in words for people, in their fixed order."""
    found = [getattr(words, f"access_{name}") for name in SWITCHES if name in switches]
    return ", ".join(found) or words.access_nothing


def _states(language: str, line: RequestLine) -> dict[str, tuple[str, str, str]]:
    """Title, colour and sentence of every state."""
    words, right = texts(language), gate_texts(language)
    if line.wants != "chat":
        approved = right.right_approved.format(what=switch_names(words, line.switches))
        return {
            "open": (right.right_title, "orange", ""),
            "approved": (words.access_approved_title, "green", approved),
            "denied": (words.access_denied_title, "grey", right.right_denied),
            "expired": (words.access_expired_title, "grey", right.right_expired),
            "withdrawn": (words.access_withdrawn_title, "grey", ""),
        }
    return {
        "open": (words.access_title, "orange", ""),
        "approved": (
            words.access_approved_title,
            "green",
            words.access_approved.format(what=switch_names(words, line.switches)),
        ),
        "denied": (words.access_denied_title, "grey", words.access_denied),
        "expired": (words.access_expired_title, "grey", words.access_expired),
        "withdrawn": (words.access_withdrawn_title, "grey", words.access_withdrawn),
    }


def _lead(language: str, line: RequestLine) -> str:
    who = _person(line.open_id) if line.open_id else f"**{literal(line.name)}**"
    if line.wants != "chat":
        return gate_texts(language).right_lead.format(who=f"{who} ")
    words = texts(language)
    lead = words.access_lead.format(who=f"{who} ")
    return f"{lead} {words.access_in_group}" if line.in_group else lead


def _lead_text(language: str, line: RequestLine) -> str:
    who = f"{line.name or line.open_id} "
    lead = texts(language).access_lead if line.wants == "chat" else gate_texts(language).right_lead
    return lead.format(who=who)


def _person(open_id: str) -> str:
    return f'<person id="{open_id}" style="normal"></person>'


def _moment(at_ms: int) -> str:
    return " ".join(
        f'<local_datetime millisecond="{at_ms}" format_type="{kind}"></local_datetime>'
        for kind in ("date_short", "time")
    )


def _button_rows(words: Texts, line: RequestLine) -> list[Element]:
    carried = {"request": line.request_id}
    given = {"chat", line.wants if line.state == "open" else ""}  # what *Allow* gives whatever the switches say
    switches = [name for name in SWITCHES if name not in given]
    toggles = [
        Button(
            f"{ON if name in line.switches else OFF} {getattr(words, f'access_{name}')}",
            {"do": "access_switch", "switch": name, "to": "off" if name in line.switches else "on", **carried},
        )
        for name in switches
    ]
    if line.state == "approved":
        return [button_row(toggles, "switches")]
    if line.state != "open":
        return []
    decide = [
        Button(words.access_allow, {"do": "access_allow", **carried}, "primary"),
        Button(words.access_allow_day, {"do": "access_allow_day", **carried}),
        Button(words.access_deny, {"do": "access_deny", **carried}, "danger"),
    ]
    if line.wants != "chat":  # a time would hold for everything that the person may do
        del decide[1]
    return [button_row(toggles, "switches"), button_row(decide, "decide")]
