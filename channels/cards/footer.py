"""The small grey line under a finished answer: agent, model, tokens, cache hits, time."""

from channels.cards.excerpt import one_line
from channels.cards.texts import Texts
from channels.rules.turn import View

AGENT_CHARACTERS = 60


def footer_line(view: View, words: Texts) -> str:
    """Only what is known: no token words for an agent that reports none, or was cut off before it counted them."""
    usage = view.usage
    parts = [one_line(view.agent, AGENT_CHARACTERS)]
    if view.model.strip() and view.model.strip() != view.agent:
        parts.append(one_line(view.model, AGENT_CHARACTERS))
    if usage.output_tokens:
        parts.append(words.footer_tokens.format(input=f"{usage.input_tokens:,}", output=f"{usage.output_tokens:,}"))
    if usage.output_tokens and usage.cached_tokens:
        parts.append(words.footer_cached.format(cached=f"{usage.cached_tokens:,}"))
    if view.duration_ms > 0:
        parts.append(words.footer_duration.format(duration=duration(view.duration_ms, words)))
    return " · ".join(part for part in parts if part)


def duration(span_ms: int, words: Texts) -> str:
    """A span of time in words, with tenths of a second below ten seconds, and never none at all."""
    seconds = max(span_ms / 1000, 0.1)
    if seconds < 10:
        return words.seconds.format(seconds=f"{seconds:.1f}")
    whole = round(seconds)
    if whole < 60:
        return words.seconds.format(seconds=whole)
    if whole < 3600:
        return words.minutes.format(minutes=whole // 60, seconds=whole % 60)
    return words.hours.format(hours=whole // 3600, minutes=whole % 3600 // 60)
