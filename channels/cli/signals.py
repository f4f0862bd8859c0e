"""SIGTERM and Ctrl-C: the first asks the service to stop, a second one leaves at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals(stop: asyncio.Event, on_first: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Inside, the first stop signal calls `on_first` and sets `stop`. Needs a running loop."""
    loop = asyncio.get_running_loop()

    def handle(number: signal.Signals) -> None:
        if stop.is_set():
            print(
                f"channels: {number.name} again: leaving at once; the next start takes up what is open", file=sys.stderr
            )
            sys.stderr.flush()
            os._exit(128 + number)
        on_first()
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
