"""What of the session's past goes to the model: the newest exchanges that fit a budget. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from channels.agents.protocol import Said


def estimate_tokens(text: str) -> int:
    """A cheap upper guess: four ASCII characters a token, one token for each other character; 0 for no text."""
    wide = len(text) - len(text.encode("ascii", "ignore"))
    return -(-(len(text) - wide) // 4) + wide


def fit_history(history: Sequence[Said], budget_tokens: int) -> tuple[Said, ...]:
    """The newest whole exchanges (a question and what was answered) that together stay within `budget_tokens`.

    Roles alternate and a question comes first, as several servers demand: neighbours of one role are joined, empty
    texts are left out. When not even the newest exchange fits, its texts are shortened in their middle, so that
    "sum that up" after a very long answer still knows what is meant.
    """
    exchanges = list(_exchanges(history))
    kept: list[tuple[Said, ...]] = []
    left = budget_tokens
    for exchange in reversed(exchanges):
        cost = sum(estimate_tokens(said.text) for said in exchange)
        if cost > left:
            break
        kept.append(exchange)
        left -= cost
    if not kept and exchanges and budget_tokens > 0:
        kept = [_shortened(exchanges[-1], budget_tokens)]
    return tuple(said for exchange in reversed(kept) for said in exchange)


def _exchanges(history: Sequence[Said]) -> Iterable[tuple[Said, ...]]:
    exchange: tuple[Said, ...] = ()
    for said in _alternating(history):
        if said.role == "user":
            if exchange:
                yield exchange
            exchange = (said,)
        elif exchange:
            yield (*exchange, said)
            exchange = ()
    if exchange:
        yield exchange


def _alternating(history: Sequence[Said]) -> list[Said]:
    joined: list[Said] = []
    for said in history:
        if not said.text.strip():
            continue
        if joined and joined[-1].role == said.role:
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text}\n\n{said.text}")
        else:
            joined.append(said)
    return joined


def _shortened(exchange: tuple[Said, ...], budget_tokens: int) -> tuple[Said, ...]:
    """Each text keeps its head and tail; a character is taken as a token, so the budget holds for any script."""
    share = budget_tokens // len(exchange)
    return tuple(replace(said, text=_cut_middle(said.text, share)) for said in exchange)


def _cut_middle(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    half = max((characters - 3) // 2, 1)
    return f"{text[:half]}\n…\n{text[-half:]}"
