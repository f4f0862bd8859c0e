"""When a streaming card may be sent its next frame.

Feishu draws streamed text like a typewriter, so frames may come seconds apart and the card still moves; every frame
costs a call of the monthly quota. The first frame goes at once, the gaps then grow: an answer of 800 characters costs
eight calls in all, one of 2 000 characters at most twelve.
"""

from collections.abc import Sequence

FRAME_GAPS_MS: tuple[int, ...] = (0, 1_000, 3_000, 5_000)


def gap_ms(frames_sent: int, gaps: Sequence[int] = FRAME_GAPS_MS) -> int:
    """How long after the last frame the next one may go; the last gap repeats."""
    return gaps[min(frames_sent, len(gaps) - 1)]
