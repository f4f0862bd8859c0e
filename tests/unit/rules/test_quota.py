"""Windows follow one another whatever the clocks do, and what is used never exceeds what a window has."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.quota import (
    PERIODS,
    Balance,
    Limits,
    Period,
    QuotaPolicy,
    Window,
    consume,
    effective_limit,
    find_short,
    tokens_to_reserve,
    window_of,
)

HOUR_MS = 3_600_000
FIRST_MS, LAST_MS = -2_000_000_000_000, 2_500_000_000_000  # 1906 … 2049
ZONES = (
    "UTC",
    "Asia/Shanghai",
    "Europe/Berlin",
    "America/Havana",  # falls back from 01:00 to 00:00: midnight comes twice
    "America/St_Johns",  # fell back from 00:01 to 23:01 of the day before
    "America/Sao_Paulo",  # had no midnight on the day it sprang forward
    "Asia/Beirut",
    "Pacific/Apia",  # left out the 30th of December 2011
    "Australia/Lord_Howe",  # half an hour
    "Asia/Kathmandu",
)


def zone_of(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def at_ms(text: str, zone: tzinfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


@given(now=st.integers(FIRST_MS, LAST_MS), name=st.sampled_from(ZONES), period=st.sampled_from(PERIODS))
def test_windows_follow_one_another_without_a_gap(now: int, name: str, period: Period) -> None:
    zone = zone_of(name)
    window = window_of(period, now, zone)
    assert window.starts_at <= now < window.ends_at
    assert window_of(period, window.starts_at, zone) == window
    assert window_of(period, window.ends_at - 1, zone) == window
    following = window_of(period, window.ends_at, zone)
    assert following.starts_at == window.ends_at
    assert window_of(period, window.starts_at - 1, zone).ends_at == window.starts_at


@given(now=st.integers(FIRST_MS, LAST_MS), name=st.sampled_from(ZONES))
def test_a_month_begins_with_one_of_its_days(now: int, name: str) -> None:
    zone = zone_of(name)
    month = window_of("month", now, zone)
    assert window_of("day", month.starts_at, zone).starts_at == month.starts_at
    assert window_of("day", month.ends_at - 1, zone).ends_at == month.ends_at
    assert timedelta(days=27) <= timedelta(milliseconds=month.ends_at - month.starts_at) <= timedelta(days=32)


@pytest.mark.parametrize(
    ("zone", "date", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Europe/Berlin", "2026-06-01", 24),
        ("America/Havana", "2026-11-01", 25),
        ("America/Sao_Paulo", "2017-10-15", 23),
        ("Pacific/Apia", "2011-12-29", 24),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
    ],
)
def test_how_long_a_day_is(zone: str, date: str, hours: float) -> None:
    noon = at_ms(f"{date}T12:00:00", ZoneInfo(zone))
    day = window_of("day", noon, ZoneInfo(zone))
    assert (day.ends_at - day.starts_at) / HOUR_MS == hours


def test_the_day_that_was_left_out_belongs_to_nobody() -> None:
    zone = ZoneInfo("Pacific/Apia")
    before, after = (window_of("day", at_ms(f"2011-12-{day}T12:00:00", zone), zone) for day in (29, 31))
    assert before.ends_at == after.starts_at


def test_midnight_that_comes_twice_counts_once() -> None:
    zone = ZoneInfo("America/St_Johns")
    midnight = at_ms("2010-11-07T00:00:00", zone)
    again = midnight + 10 * 60_000  # the clocks show 23:10 of the day before
    assert datetime.fromtimestamp(again / 1000, zone).day == 6
    assert window_of("day", again, zone).starts_at == midnight


def test_months_of_shanghai() -> None:
    zone = ZoneInfo("Asia/Shanghai")
    month = window_of("month", at_ms("2026-12-31T16:00:00"), zone)
    assert month == Window("month", at_ms("2027-01-01T00:00:00", zone), at_ms("2027-02-01T00:00:00", zone))


@given(
    real=st.integers(0, 10**9),
    reserved=st.integers(0, 10**6),
    free=st.none() | st.integers(0, 10**9),
    others=st.integers(0, 10**6),
)
def test_use_takes_what_is_reserved_then_what_is_free_and_no_more(
    real: int, reserved: int, free: int | None, others: int
) -> None:
    part = consume(real, reserved, free)
    assert part.used + part.overrun == real
    if free is None:
        assert part.overrun == 0
        return
    before = Balance(limit=free + reserved + others, held=reserved + others)
    after = Balance(before.limit, before.held - reserved, part.used)
    assert after.free is not None and after.free >= 0
    assert part.overrun == 0 or after.free == 0


class TestShort:
    WINDOW = Window("day", 0, 86_400_000)

    def test_no_limit_is_never_short(self) -> None:
        assert find_short(self.WINDOW, Balance(None, 9, 9), Balance(None, 9, 9), 10**9) is None

    def test_turns_come_first(self) -> None:
        short = find_short(self.WINDOW, Balance(2, 1, 1), Balance(100, 90, 10), 8)
        assert short is not None
        assert (short.unit, short.limit, short.held, short.used, short.ends_at) == ("turns", 2, 1, 1, 86_400_000)

    @pytest.mark.parametrize(("held", "fits"), [(92, True), (93, False)])
    def test_what_is_wanted_must_be_free(self, held: int, fits: bool) -> None:
        assert (find_short(self.WINDOW, Balance(), Balance(100, held, 0), 8) is None) == fits

    def test_a_window_without_anything_left_lets_nothing_in(self) -> None:
        assert find_short(self.WINDOW, Balance(), Balance(0), 0) is not None


@pytest.mark.parametrize(
    ("wanted", "held", "used", "limit"), [(10, 3, 4, 10), (5, 3, 4, 7), (0, 3, 4, 7), (None, 3, 4, None)]
)
def test_a_lowered_limit_stops_at_held_and_used(wanted: int | None, held: int, used: int, limit: int | None) -> None:
    assert effective_limit(wanted, Balance(10, held, used)) == limit


def test_a_limit_below_the_estimate_still_allows_one_turn() -> None:
    policy = QuotaPolicy(tokens_per_turn=8_000)
    assert tokens_to_reserve(policy, Limits()) == 8_000
    assert tokens_to_reserve(policy, Limits(tokens_per_day=10_000, tokens_per_month=500)) == 500
