import asyncio

import pytest

from channels.errors import ApiRefused, CodeKind, RetryLater
from channels.feishu.tokens import Token, Tokens
from tests.unit.feishu.clocks import LoopClock


class Source:
    """Hands out t-1, t-2 …; waits for `gate` when there is one, raises `error` when there is one."""

    def __init__(self, lifetime_s: float = 7200.0) -> None:
        self.lifetime_s, self.fetched = lifetime_s, 0
        self.gate: asyncio.Event | None = None
        self.error: Exception | None = None

    async def fetch(self) -> Token:
        self.fetched += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return Token(f"t-{self.fetched}", self.lifetime_s)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_fifty_callers_make_one_fetch() -> None:
    source = Source()
    source.gate = asyncio.Event()
    tokens = Tokens(source.fetch, LoopClock())
    callers = [asyncio.create_task(tokens.get()) for _ in range(50)]
    await settled()
    source.gate.set()
    assert set(await asyncio.gather(*callers)) == {"t-1"}
    assert source.fetched == 1


async def test_a_caller_that_gives_up_does_not_end_the_fetch_for_the_others() -> None:
    source = Source()
    source.gate = asyncio.Event()
    tokens = Tokens(source.fetch, LoopClock())
    first, second = asyncio.create_task(tokens.get()), asyncio.create_task(tokens.get())
    await settled()
    first.cancel()
    await settled()
    source.gate.set()
    assert await second == "t-1"


@pytest.mark.parametrize(("lifetime_s", "early_s"), [(7200.0, 720.0), (1800.0, 300.0), (100.0, 50.0)])
async def test_it_is_renewed_early_in_the_background(lifetime_s: float, early_s: float) -> None:
    source, clock = Source(lifetime_s), LoopClock()
    tokens = Tokens(source.fetch, clock)
    assert await tokens.get() == "t-1"
    clock.ahead_s = lifetime_s - early_s - 1
    assert await tokens.get() == "t-1"
    await settled()
    assert source.fetched == 1
    clock.ahead_s = lifetime_s - early_s + 1
    source.gate = asyncio.Event()
    assert await tokens.get() == "t-1", "the old one serves while the new one is fetched"
    await settled()
    assert source.fetched == 2
    source.gate.set()
    await settled()
    assert await tokens.get() == "t-2"


async def test_a_failed_renewal_is_tried_again_after_a_pause_and_hurts_nobody() -> None:
    source, clock = Source(), LoopClock()
    tokens = Tokens(source.fetch, clock)
    await tokens.get()
    source.error = RetryLater(0, CodeKind.SERVER)
    clock.ahead_s = 7000.0
    for _ in range(10):
        assert await tokens.get() == "t-1"
        await settled()
    assert source.fetched == 2
    clock.ahead_s += 6.0
    source.error = None
    assert await tokens.get() == "t-1"
    await settled()
    assert await tokens.get() == "t-3"


async def test_a_token_at_its_end_is_not_given_out() -> None:
    source, clock = Source(), LoopClock()
    tokens = Tokens(source.fetch, clock)
    await tokens.get()
    clock.ahead_s = 7199.0
    assert await tokens.get() == "t-2"


async def test_a_dropped_token_is_never_given_out_again_and_a_newer_one_stays() -> None:
    source = Source()
    tokens = Tokens(source.fetch, LoopClock())
    assert await tokens.get() == "t-1"
    tokens.drop("t-1")
    assert await tokens.get() == "t-2"
    tokens.drop("t-1")
    assert await tokens.get() == "t-2"
    assert source.fetched == 2


async def test_the_error_of_a_fetch_reaches_every_caller() -> None:
    source = Source()
    source.error = ApiRefused(CodeKind.SCOPE, 10014)
    tokens = Tokens(source.fetch, LoopClock())
    results = await asyncio.gather(*(tokens.get() for _ in range(3)), return_exceptions=True)
    assert all(isinstance(result, ApiRefused) for result in results)
    assert source.fetched == 1


async def test_close_ends_a_fetch_under_way() -> None:
    source = Source()
    source.gate = asyncio.Event()
    tokens = Tokens(source.fetch, LoopClock())
    caller = asyncio.create_task(tokens.get())
    await settled()
    await tokens.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
