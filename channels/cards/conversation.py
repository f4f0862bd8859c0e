"""Cards about conversations: the guide, the lists of /sessions and /usage, and refusals that come often."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from channels.cards.card import Card, Element, finish, header, markdown, small
from channels.cards.excerpt import one_line
from channels.cards.markdown import literal
from channels.cards.notice import facts, notice_card
from channels.cards.texts import texts
from channels.cards.wording import Texts

EXCERPT_CHARACTERS = 60
SUMMARY_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session: its number, when it began (ms), its first words ("" where nothing was said), what it has used."""

    number: int
    began_ms: int
    words: str
    turns: int
    tokens: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What a person has used in one stretch of time."""

    turns: int
    sessions: int
    input_tokens: int
    output_tokens: int


@cache
def expired_card(language: str) -> Card:
    """A message or a session's command in a topic that has expired."""
    words = texts(language)
    return notice_card(words.expired_title, words.expired_body, template="grey", language=language)


@cache
def queue_full_card(language: str, limit: int) -> Card:
    """A message that is one too many."""
    words = texts(language)
    body = words.queue_full.format(count=limit)
    return notice_card(words.queue_full_title, body, template="orange", language=language)


def guide_card(language: str, name: str, *, group: bool, topics: bool = True) -> Card:
    """The first card: how to talk to the bot here. `name` is the bot's own; `topics`: whether questions open one."""
    words = texts(language)
    first = words.guide_group if group else words.guide_private
    lines = [first, *([words.guide_topics] if topics else []), words.guide_commands]
    body = "\n".join(f"- {line}" for line in lines)
    return notice_card(words.guide_title.format(name=name), body, language=language)


def sessions_card(language: str, lines: Sequence[SessionLine], earlier: int, archived: Sequence[int] = ()) -> Card:
    """A person's conversations in one place, the newest first; `earlier`: so many more that are not listed;
    `archived`: the numbers of those that were put away."""
    words = texts(language)
    away = [words.sessions_archived.format(numbers=", ".join(map(str, archived)))] if archived else []
    if not lines:
        return notice_card(words.sessions_title, "\n\n".join([words.sessions_none, *away]), language=language)
    elements: list[Element] = [markdown(_session(words, line), f"session_{line.number}") for line in lines]
    if earlier:
        elements.append(small(words.sessions_earlier.format(count=earlier), "earlier"))
    elements += [small(text, "archived") for text in away]
    elements.append(small(words.sessions_hint, "hint"))
    said = [f"{line.number}. {line.words or words.sessions_unsaid}" for line in lines]
    text = "\n".join([words.sessions_title, *said, *away, words.sessions_hint])
    return finish(
        elements,
        text=text,
        summary=one_line(words.sessions_title, SUMMARY_CHARACTERS),
        header=header(words.sessions_title, "blue"),
    )


def usage_card(
    language: str, day: UsageLine, month: UsageLine, whole: UsageLine, quota: Mapping[str, str] | None = None
) -> Card:
    """What a person has used, and (`quota`: names and values) what may still be."""
    words = texts(language)
    rows = {
        words.usage_day: _usage(words, day),
        words.usage_month: _usage(words, month),
        words.usage_all: _usage(words, whole),
    }
    return notice_card(words.usage_title, facts(rows | dict(quota or {})), language=language)


def first_words(text: str) -> str:
    """The beginning of what was said, on one line."""
    return one_line(text, EXCERPT_CHARACTERS)


def _session(words: Texts, line: SessionLine) -> str:
    moment = " ".join(
        f'<local_datetime millisecond="{line.began_ms}" format_type="{kind}"></local_datetime>'
        for kind in ("date_short", "time")
    )
    here = f" · {words.sessions_here}" if line.is_current else ""
    used = words.sessions_facts.format(turns=line.turns, tokens=f"{line.tokens:,} tokens")
    begin = literal(line.words) or words.sessions_unsaid
    return f"**{line.number}.** {begin}\n<font color='grey'>{moment} · {used}{here}</font>"


def _usage(words: Texts, line: UsageLine) -> str:
    tokens = words.footer_tokens.format(input=f"{line.input_tokens:,}", output=f"{line.output_tokens:,}")
    return words.usage_facts.format(turns=line.turns, sessions=line.sessions, tokens=tokens)
