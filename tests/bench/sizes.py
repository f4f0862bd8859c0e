"""How much a bench does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts and durations of one run; `rounds` are alternations A B A B …, of which the medians count."""

    rounds: int = 3
    starts: int = 3
    burst: int = 2_000
    trickle: int = 100
    gap_ms: float = 20.0
    questions: int = 20
    characters: tuple[int, ...] = (800, 2_000)
    model_ms: int = 800
    asked_at_once: int = 50
    turns_at_once: int = 500
    turn_ms: int = 6_000
    talk: int = 100
    settlements: int = 5_000


SMALLEST = Sizes(
    rounds=1,
    starts=1,
    burst=20,
    trickle=5,
    questions=2,
    characters=(80,),
    model_ms=100,
    asked_at_once=3,
    turns_at_once=4,
    turn_ms=200,
    talk=3,
    settlements=70,
)
