"""Rings, time-outs and cancels of `Signal`."""

import asyncio

import pytest

from channels.service.signals import Signal


async def _loop_over(signal: Signal) -> None:
    while True:
        await signal.wait(60)


async def test_a_ring_before_the_wait_counts() -> None:
    signal = Signal()
    signal.ring()
    assert await signal.wait(10)
    assert not await signal.wait(0)


@pytest.mark.parametrize("passes", range(5))
async def test_a_cancel_that_comes_soon_after_a_ring_ends_the_loop(passes: int) -> None:
    """Closing the connection rings, then the loops are cancelled: one that missed it kept the service from ending."""
    signal = Signal()
    loop = asyncio.create_task(_loop_over(signal))
    for _ in range(3):
        await asyncio.sleep(0)
    signal.ring()
    for _ in range(passes):  # how far the ring has come when the cancel arrives
        await asyncio.sleep(0)
    loop.cancel()
    done, _ = await asyncio.wait({loop}, timeout=5)
    assert done
    assert loop.cancelled()
