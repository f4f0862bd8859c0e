"""SIGTERM and Ctrl-C: the first asks the service to stop, a second one leaves at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


# Some launchers (timeout, make) signal the child and then its whole group: that is one wish, not two.
ECHO_S = 0.3


@contextmanager
def stop_on_signals(
    stop: asyncio.Event, on_first: Callable[[], None] = lambda: None, *, echo_s: float = ECHO_S
) -> Iterator[None]:
    """Inside, the first stop signal calls `on_first` and sets `stop`. Needs a running loop.

    A second one ends the process on the spot with 128 + its number, unless it comes within `echo_s` of the first.
    """
    loop = asyncio.get_running_loop()
    first_at: float | None = None

    def handle(number: signal.Signals) -> None:
        nonlocal first_at
        if first_at is not None:
            if loop.time() - first_at < echo_s:
                return
            print(
                f"channels: {number.name} again: leaving at once; the next start takes up what is open", file=sys.stderr
            )
            sys.stderr.flush()
            os._exit(128 + number)
        first_at = loop.time()
        on_first()
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
