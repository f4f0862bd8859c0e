"""What open chat pages must be told: every visible change of the world, numbered, latest state only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from channels.emulator.world import World

Json = dict[str, Any]

KEEP_ALIVE_S = 15.0


class Changes:
    """Numbers every visible change and hands it to the open pages; watches the world only while a page is open."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._pages: set[Feed] = set()
        self._end: Callable[[], None] | None = None
        self.number = 0

    def open(self) -> Feed:
        feed = Feed()
        self._pages.add(feed)
        if self._end is None:
            self._end = self._world.observe(self._changed)
        return feed

    def close(self, feed: Feed) -> None:
        self._pages.discard(feed)
        if not self._pages and self._end is not None:
            self._end()
            self._end = None

    def close_all(self) -> None:
        for feed in tuple(self._pages):
            feed.end()

    def _changed(self, change: Json) -> None:
        if change["type"] == "toast":
            return  # the page that clicked shows the toast from its own answer
        if change["type"] == "chat":
            self._tell("chat", change["chat_id"])
            return
        self._tell("message", change["message_id"])
        if root_id := self._world.message(change["message_id"]).root_id:
            self._tell("message", root_id)  # the first reply in a topic gives its root a thread_id

    def _tell(self, kind: str, subject: str) -> None:
        self.number += 1
        for feed in self._pages:
            feed.put(kind, subject, self.number)


class Feed:
    """What one page has not been told yet: the last number per chat or message, so that a slow page skips states."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], int] = {}
        self._wake = asyncio.Event()
        self._ended = False

    def put(self, kind: str, subject: str, number: int) -> None:
        self._waiting.pop((kind, subject), None)
        self._waiting[kind, subject] = number
        self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def batches(self) -> AsyncIterator[dict[tuple[str, str], int]]:
        """Everything that changed since the last batch, in order of change; an empty batch keeps the line open."""
        while not self._ended:
            try:
                await asyncio.wait_for(self._wake.wait(), KEEP_ALIVE_S)
            except TimeoutError:
                yield {}
                continue
            self._wake.clear()
            batch, self._waiting = self._waiting, {}
            if batch:
                yield batch
