"""The refusal of a person whose quota is used up: what was used up, how much it is, and when the window ends."""

from datetime import datetime, tzinfo

from channels.cards.card import Card
from channels.cards.notice import notice_card
from channels.cards.texts import texts
from channels.rules.quota import Short


def window_end(short: Short, zone: tzinfo) -> str:
    """The first moment of the next window, in the time zone that windows go by: 2026-12-01 00:00 (UTC)."""
    at = datetime.fromtimestamp(short.ends_at / 1000, zone)
    return f"{at:%Y-%m-%d %H:%M} ({zone})"


def quota_card(language: str, short: Short, zone: tzinfo) -> Card:
    """Nothing was taken: the person may ask again once the window has ended."""
    words = texts(language)
    unit = words.quota_turns if short.unit == "turns" else words.quota_tokens
    period = words.quota_day if short.period == "day" else words.quota_month
    limit, used = f"{short.limit:,}", f"{short.used:,}"
    lines = [words.quota_used_up.format(limit=limit, unit=unit, period=period, used=used)]
    if short.held:
        lines.append(words.quota_held.format(held=f"{short.held:,}"))
    lines.append(words.quota_until.format(until=window_end(short, zone)))
    body = "\n\n".join(lines)
    return notice_card(words.quota_title, body, template="orange", language=language)
