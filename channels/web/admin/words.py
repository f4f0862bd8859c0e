"""Which words the admin page takes (`words_en`, `words_zh`), and times and spans in words. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime

from channels.web.admin.words_en import ENGLISH
from channels.web.admin.words_zh import CHINESE

Words = Mapping[str, str]


def words_of(language: str) -> Words:
    """The words of zh or en."""
    return CHINESE if language == "zh" else ENGLISH


def span(seconds: int, words: Words) -> str:
    """A length of time in its largest unit: 59 s, 12 min, 3 h, 5 d."""
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= unit:
            return words[name].format(seconds // unit)
    return words["seconds"].format(max(0, seconds))


def span_of_ms(milliseconds: int, words: Words) -> str:
    """As `span`, with tenths where it is short."""
    if milliseconds < 10_000:
        return words["seconds"].format(f"{max(0, milliseconds) / 1000:.1f}")
    return span(milliseconds // 1000, words)


def moment(at_ms: int) -> str:
    """A time as ISO 8601 in UTC, to the second; the page's script puts it into the reader's own time."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain_moment(at_ms: int) -> str:
    """The same for readers without scripts."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
