"""The machine's clock is put forward and back: nothing waits for a moment that has been taken away."""

from tests.integration.conftest import OpenHouse
from tests.integration.taps import MovableClock

HOURS_MS = 3 * 3_600_000
PUT_OFF = "SELECT 1 FROM outbox WHERE op = 'reply' AND state = 'pending' AND last_error IS NOT NULL"


class SteppedClock(MovableClock):
    """Only its wall time can be set."""

    ahead_ms = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.ahead_ms


async def test_an_answer_put_off_while_the_clock_was_ahead_still_comes(open_house: OpenHouse) -> None:
    """It was to be sent again in a second, as the clock then stood; an hour's wait would be as bad as a loss."""
    house = await open_house(start=False)
    house.clock = clock = SteppedClock()
    await house.start()
    clock.ahead_ms = HOURS_MS
    house.fault("im.message.reply", "error", code=230020, status=429, headers={"x-ogw-ratelimit-reset": "1"})
    message_id = house.say("hello")
    await house.held(PUT_OFF)
    clock.ahead_ms = 0
    await house.seen(lambda: house.has_ended(message_id))
    await house.answered(message_id)
    house.assert_answered_once(message_id)


async def test_what_is_written_after_the_clock_was_put_back_does_not_wait(open_house: OpenHouse) -> None:
    house = await open_house(start=False)
    house.clock = clock = SteppedClock()
    clock.ahead_ms = HOURS_MS
    await house.start()
    first, _ = await house.ask("first")
    clock.ahead_ms = 0
    second, _ = await house.ask("second")
    await house.restart()
    third, _ = await house.ask("third")
    for message_id in (first, second, third):
        house.assert_answered_once(message_id)
