import asyncio
import time

import pytest

from channels.errors import CodeKind, RetryLater
from channels.feishu.limits import Limits
from channels.feishu.windows import Rates, Windows
from tests.unit.feishu.clocks import LoopClock, StoppedClock

API, A, B = ("api", "send"), ("chat", "a"), ("chat", "b")
FAST: Rates = {"api": ((50, 1.0),), "chat": ((2, 0.05),)}


def limits_with(rates: Rates, longest_wait_s: float = 5.0, clock: LoopClock | None = None) -> Limits:
    return Limits(clock or LoopClock(), longest_wait_s=longest_wait_s, windows=Windows(rates))


async def looked_through(limits: Limits) -> None:
    """Wait until the queue has been read once more: somebody else's short closing ends then."""
    other = ("chat", "somebody else")
    limits.close(other, 20)
    await limits.acquire((other,))


async def test_callers_of_one_chat_go_in_the_order_of_asking() -> None:
    limits, gone = limits_with(FAST), list[int]()

    async def call(index: int) -> None:
        await limits.acquire((API, A))
        gone.append(index)

    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(call(index) for index in range(7)))
    assert gone == list(range(7))
    assert asyncio.get_running_loop().time() - started >= 3 * 0.05
    assert limits.waiting == 0


async def test_a_busy_chat_delays_no_other_chat() -> None:
    limits = limits_with({"api": ((50, 1.0),), "chat": ((1, 60.0),)}, longest_wait_s=100.0)
    await limits.acquire((API, A))
    stuck = [asyncio.create_task(limits.acquire((API, A))) for _ in range(3)]
    await asyncio.sleep(0)
    assert limits.waiting == 3
    assert limits.try_acquire((API, B)), "a frame of another chat is not dropped because of this one"
    async with asyncio.timeout(1):
        await limits.acquire((API, ("chat", "c")))
    for task in stuck:
        task.cancel()
    await asyncio.wait(stuck)
    assert limits.waiting == 0


async def test_a_frame_may_not_overtake_those_that_wait_in_its_chat() -> None:
    clock = LoopClock()
    limits = limits_with({"chat": ((1, 1.0),), "api": ((1, 60.0),)}, 100.0, clock)
    await limits.acquire((API, A))
    waiting = asyncio.create_task(limits.acquire((API, A)))
    await asyncio.sleep(0)
    clock.ahead_s = 2.0
    assert limits.try_acquire((A,)) is False, "room in the chat, but somebody waits for the API"
    waiting.cancel()
    await asyncio.wait({waiting})
    assert limits.try_acquire((A,))


async def test_try_acquire_never_waits() -> None:
    limits = limits_with(FAST)
    assert [limits.try_acquire((A,)) for _ in range(3)] == [True, True, False]


async def test_a_wait_that_would_be_too_long_is_refused_at_once() -> None:
    limits = limits_with({"chat": ((1, 60.0),)}, longest_wait_s=2.0)
    await limits.acquire((A,))
    async with asyncio.timeout(1):
        with pytest.raises(RetryLater) as caught:
            await limits.acquire((A,))
    assert caught.value.kind is CodeKind.RATE
    assert 59_000 < caught.value.after_ms <= 60_000


async def test_a_wait_behind_others_ends_too() -> None:
    limits = limits_with({"chat": ((1, 0.1),)}, longest_wait_s=0.15)
    results = await asyncio.gather(*(limits.acquire((A,)) for _ in range(6)), return_exceptions=True)
    assert sum(result is None for result in results) in (2, 3)
    assert all(isinstance(result, RetryLater) for result in results if result is not None)
    assert limits.waiting == 0


async def test_a_waiter_that_gives_up_lets_the_next_go() -> None:
    clock = LoopClock()
    limits = limits_with({"chat": ((1, 1.0),), "api": ((1, 60.0),)}, 100.0, clock)
    await limits.acquire((API, A))
    first = asyncio.create_task(limits.acquire((API, A)))
    await asyncio.sleep(0)
    clock.ahead_s = 2.0
    second = asyncio.create_task(limits.acquire((A,)))
    await looked_through(limits)
    assert not second.done(), "it stands behind the first in its chat"
    first.cancel()
    async with asyncio.timeout(1):
        await second


async def test_a_closed_key_holds_everybody_and_says_how_long() -> None:
    limits = limits_with(FAST, longest_wait_s=2.0)
    limits.close(A, 52_000)
    assert limits.try_acquire((A,)) is False
    with pytest.raises(RetryLater) as caught:
        await limits.acquire((API, A))
    assert 51_000 < caught.value.after_ms <= 52_000
    assert limits.try_acquire((API, B))


async def test_a_short_closing_is_waited_for() -> None:
    limits = limits_with(FAST)
    limits.close(A, 50)
    started = asyncio.get_running_loop().time()
    await limits.acquire((A,))
    assert asyncio.get_running_loop().time() - started >= 0.049


async def test_switched_off_nobody_waits() -> None:
    limits = Limits(LoopClock(), enabled=False)
    async with asyncio.timeout(1):
        for _ in range(5000):
            await limits.acquire((API, A))


async def test_many_waiters_cost_little() -> None:
    limits = Limits(StoppedClock(), longest_wait_s=100.0)  # on a busy machine the API's second would pass meanwhile
    tasks = [asyncio.create_task(limits.acquire((API, ("chat", str(index))))) for index in range(3000)]
    started = time.thread_time()
    await asyncio.sleep(0)
    assert limits.waiting == 2950
    assert time.thread_time() - started < 2.0
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert limits.waiting == 0
