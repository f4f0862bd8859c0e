from hypothesis import given
from hypothesis import strategies as st

from channels.feishu.windows import RATES, Windows

CHAT = ("chat", "oc_1")
SECOND = RATES["chat"][0][1]


def drained(windows: Windows, keys: tuple[tuple[str, str], ...], calls: int) -> list[float]:
    """When each of `calls` calls goes that all want to go at 0."""
    now, times = 0.0, []
    for _ in range(calls):
        now = windows.free_at(keys, now)
        windows.take(keys, now)
        times.append(now)
    return times


def test_a_burst_of_the_whole_allowance_goes_at_once_and_the_rest_waits() -> None:
    times = drained(Windows(), (CHAT,), 12)
    assert times == [0.0] * 5 + [SECOND] * 5 + [2 * SECOND] * 2


def test_an_api_has_50_a_second_and_1000_a_minute() -> None:
    times = drained(Windows(), (("api", "send_message"),), 1001)
    assert sum(at < 1.0 for at in times) == 50
    assert sum(at < 60.0 for at in times) == 1000
    assert times[-1] >= 60.0


def test_the_tightest_key_decides() -> None:
    keys = (("api", "stream_text"), ("card", "c1"))
    assert sum(at < 1.0 for at in drained(Windows(), keys, 30)) == 10


@given(st.lists(st.floats(0, 3), max_size=60))
def test_no_second_ever_sees_more_than_the_allowance(wishes: list[float]) -> None:
    windows, gone = Windows(), list[float]()
    now = 0.0
    for gap in wishes:
        now = windows.free_at((CHAT,), now + gap)
        windows.take((CHAT,), now)
        gone.append(now)
    for start in gone:
        assert sum(start <= at < start + 1.0 for at in gone) <= 5


def test_a_closed_key_opens_when_the_server_said() -> None:
    windows = Windows()
    windows.close(CHAT, 52.0, 0.0)
    assert windows.free_at((CHAT,), 1.0) == 52.0
    windows.close(CHAT, 10.0, 0.0)
    assert windows.free_at((CHAT,), 1.0) == 52.0, "a shorter closing never shortens"
    assert windows.free_at((("chat", "oc_2"),), 1.0) == 1.0


def test_kinds_without_a_rate_are_free_but_can_be_closed() -> None:
    windows = Windows({})
    assert drained(windows, (CHAT,), 100) == [0.0] * 100
    windows.close(CHAT, 3.0, 0.0)
    assert windows.free_at((CHAT,), 0.0) == 3.0


def test_idle_keys_are_forgotten() -> None:
    windows = Windows()
    for index in range(10_000):
        key = ("chat", str(index))
        windows.take((key,), float(index))
    assert len(windows) <= 600


def test_a_key_in_use_is_not_forgotten() -> None:
    windows = Windows()
    windows.close(CHAT, 1e9, 0.0)
    for index in range(1000):
        windows.take((("chat", str(index)),), float(index * 10))
    assert windows.free_at((CHAT,), 1e4) == 1e9
