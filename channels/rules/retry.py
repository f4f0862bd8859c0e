"""How long to wait before trying again. Pure: the caller brings the random number."""

FIRST_MS = 500
CAP_MS = 60_000
CLOSING_CAP_MS = 3_600_000  # closing updates of cards back off up to an hour
UUID_WINDOW_MS = 55 * 60_000  # Feishu remembers a uuid for an hour; five minutes of it are ours for clocks and queues
CARD_LIFE_MS = 14 * 24 * 3_600_000  # after this no update of a card is possible


def backoff_ms(attempts: int, random: float, cap_ms: int = CAP_MS) -> int:
    """The wait after `attempts` (≥ 1) tries: 0.5 s, 1 s, 2 s … up to `cap_ms`, give or take a quarter."""
    plain = min(cap_ms, FIRST_MS * 2 ** min(attempts - 1, 20))
    return int(plain * (0.75 + 0.5 * random))
