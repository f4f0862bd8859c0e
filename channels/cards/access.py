"""Cards of an access request: what an admin decides on, and what the person who asks sees. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from channels.cards.card import Button, Card, Element, button_row, finish, header, markdown
from channels.cards.excerpt import one_line
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


def request_card(language: str, line: RequestLine) -> Card:
    """What an admin sees. Undecided: *Allow*, *Allow for a day*, *Decline*, and the switches that *Allow* would give;
    after *Allow* the switches that the person has."""
    words = texts(language)
    title, template, said = _states(words, line)[line.state]
    elements: list[Element] = [markdown(_lead(words, line), "lead")]
    if line.excerpt:
        elements.append(markdown(f"**{words.access_says}** {literal(line.excerpt)}", "excerpt"))
    body = [said] if said else []
    if line.state == "open":
        body += [words.access_more.format(count=line.kept)] if line.kept > 1 else []
        body.append(f"<font color='grey'>{words.access_expires}</font> {_moment(line.expires_ms)}")
    if line.decided_by:
        body.append(f"{words.access_by} {_person(line.decided_by)}")
    elements.append(markdown("\n".join(body), "state"))
    elements += _button_rows(words, line)
    text = "\n".join(part for part in (title, _lead_text(words, line), said, line.excerpt) if part)
    return finish(elements, text=text, summary=one_line(text, SUMMARY_CHARACTERS), header=header(title, template))


@cache
def applicant_card(language: str, state: str) -> Card:
    """What the person who asks sees, from the first message to the decision."""
    words = texts(language)
    title, body, template = {
        "open": (words.kept_title, words.kept_body, "orange"),
        "approved": (words.kept_approved_title, words.kept_approved, "green"),
        "denied": (words.kept_denied_title, words.kept_denied, "grey"),
        "expired": (words.kept_expired_title, words.kept_expired, "grey"),
        "withdrawn": (words.kept_withdrawn_title, words.kept_withdrawn, "grey"),
    }[state]
    return notice_card(title, body, template=template, language=language)


@cache
def denied_card(language: str) -> Card:
    """Answers a message that comes while a denial is fresh."""
    words = texts(language)
    return notice_card(words.denied_title, words.denied_body, template="grey", language=language)


def switch_names(words: Texts, switches: Collection[str]) -> str:
    """Switches in words for people, in their fixed order."""
    found = [getattr(words, f"access_{name}") for name in SWITCHES if name in switches]
    return ", ".join(found) or words.access_nothing


def _states(words: Texts, line: RequestLine) -> dict[str, tuple[str, str, str]]:
    """Title, colour and sentence of every state."""
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


def _lead(words: Texts, line: RequestLine) -> str:
    who = _person(line.open_id) if line.open_id else f"**{literal(line.name)}**"
    lead = words.access_lead.format(who=f"{who} ")
    return f"{lead} {words.access_in_group}" if line.in_group else lead


def _lead_text(words: Texts, line: RequestLine) -> str:
    return words.access_lead.format(who=f"{line.name or line.open_id} ")


def _person(open_id: str) -> str:
    return f'<person id="{open_id}" style="normal"></person>'


def _moment(at_ms: int) -> str:
    return " ".join(
        f'<local_datetime millisecond="{at_ms}" format_type="{kind}"></local_datetime>'
        for kind in ("date_short", "time")
    )


def _button_rows(words: Texts, line: RequestLine) -> list[Element]:
    carried = {"request": line.request_id}
    switches = [name for name in SWITCHES if name != "chat"]
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
    return [button_row(toggles, "switches"), button_row(decide, "decide")]
