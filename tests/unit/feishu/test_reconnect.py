import pytest

from channels.feishu.reconnect import (
    ConnectionSettings,
    End,
    Fatal,
    Lost,
    TryAgain,
    count_failures,
    pause_s,
    silence_limit_s,
)

SETTINGS = ConnectionSettings(first_pause_s=5.0, longest_pause_s=60.0, fatal_pause_s=300.0)
LOST, AGAIN, FATAL = Lost("cut", True), TryAgain("no route"), Fatal(403, "no")


@pytest.mark.parametrize(
    ("end", "failures", "fraction", "nonce_s", "pause"),
    [
        (LOST, 0, 0.0, 30.0, 0.0),
        (LOST, 0, 0.5, 30.0, 2.5),
        (LOST, 0, 0.5, 2.0, 1.0),
        (LOST, 0, 0.5, 0.0, 0.0),
        (AGAIN, 1, 0.5, 30.0, 1.0),
        (AGAIN, 2, 0.5, 30.0, 2.0),
        (AGAIN, 3, 0.5, 30.0, 4.0),
        (AGAIN, 4, 0.0, 30.0, 6.4),
        (AGAIN, 5, 0.5, 30.0, 16.0),
        (AGAIN, 6, 0.999, 30.0, 38.3872),
        (AGAIN, 7, 0.5, 30.0, 60.0),
        (AGAIN, 10_000, 0.999, 30.0, 60.0),
        (FATAL, 1, 0.5, 30.0, 300.0),
        (FATAL, 99, 0.0, 30.0, 270.0),
    ],
)
def test_the_schedule(end: End, failures: int, fraction: float, nonce_s: float, pause: float) -> None:
    assert pause_s(end, failures, fraction, nonce_s, SETTINGS) == pytest.approx(pause)


@pytest.mark.parametrize(
    ("end", "before", "after"),
    [
        (LOST, 7, 0),
        (Lost("dropped at once", False), 7, 8),
        (AGAIN, 0, 1),
        (FATAL, 3, 4),
    ],
)
def test_only_a_connection_that_proved_itself_starts_anew(end: End, before: int, after: int) -> None:
    assert count_failures(before, end) == after


def test_silence_is_two_missed_pongs_and_some_grace() -> None:
    assert silence_limit_s(120.0, ConnectionSettings(missed_pongs=2, grace_s=10.0)) == 250.0
