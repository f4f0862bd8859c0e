"""The floored clock: what is put back outside moves nothing that waits inside."""

from channels.clock import FlooredClock


class SteppedClock:
    """Wall and monotonic time that are set apart."""

    def __init__(self, wall_ms: int) -> None:
        self.wall, self.monotonic_s = wall_ms, 100.0

    def wall_ms(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.monotonic_s

    def pass_ms(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.monotonic_s += milliseconds / 1000


def test_it_follows_the_wall_clock() -> None:
    clock = SteppedClock(1_000_000)
    floored = FlooredClock(clock)
    clock.pass_ms(250)
    assert (floored.now_ms(), floored.wall_ms()) == (1_000_250, 1_000_250)


def test_a_floor_ahead_of_the_wall_clock_goes_on_from_there() -> None:
    clock = SteppedClock(1_000_000)
    floored = FlooredClock(clock, 5_000_000)
    clock.pass_ms(500)
    assert (floored.now_ms(), floored.wall_ms()) == (5_000_500, 1_000_500)


def test_a_wall_clock_that_is_put_back_does_not_put_now_back() -> None:
    """Within one boot: a due time that was written while the clock was ahead still comes."""
    clock = SteppedClock(1_000_000)
    floored = FlooredClock(clock)
    clock.wall += 3_600_000
    ahead_ms = floored.now_ms()
    clock.wall -= 3_600_000
    clock.pass_ms(2_000)
    assert floored.now_ms() == ahead_ms + 2_000
    assert floored.wall_ms() == 1_002_000


def test_it_follows_the_wall_clock_again_once_that_has_caught_up() -> None:
    clock = SteppedClock(1_000_000)
    floored = FlooredClock(clock, 1_000_400)
    clock.wall += 5_000
    assert floored.now_ms() == 1_005_000
    clock.pass_ms(1_500)
    assert floored.now_ms() == 1_006_500
