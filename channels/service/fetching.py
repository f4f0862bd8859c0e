"""Reading one question with Feishu's help: quotes, forwards, files. Within limits, and without ever failing.

Whatever cannot be read becomes a `why` in the result: the caller goes on with the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TypeVar

from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.forwards import Item, author_of, children_of, find_item, is_gone, message_from
from channels.feishu.history import created_ms, message_id_of
from channels.ids import MessageId
from channels.logs import FILE_FAILED, FILE_SAVED, get_logger
from channels.rules.downloads import FileLimits, file_name
from channels.rules.gathering import FORWARD
from channels.rules.message import Message, Resource
from channels.rules.reading import DEPTH_AT_MOST, Question, Read, Thing
from channels.rules.retry import backoff_ms
from channels.service.context import Context
from channels.service.people import People
from channels.service.received_files import save_file
from channels.store.transactions.prepare import own_words

T = TypeVar("T")

TRIES = 4
CHILDREN_AT_MOST = 100
LATEST_MS = 253_402_300_799_000  # the end of year 9999
READS_AT_MOST = 12  # calls for one question's quotes and forwards
NOT_HANDED_OUT = 234043  # files of forwards and cards
FILES = frozenset({"image", "file", "audio", "video"})
NEVER_READ = {"sticker": "withheld", "folder": "withheld", "other": "unknown"}

log = get_logger(__name__)


class Unreadable(Exception):
    """It cannot be read; `why` is a key of `rules.reading.Labels.reasons`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Tools:
    """What every question is read with. `gate` bounds the downloads of all turns together."""

    context: Context
    people: People
    limits: FileLimits
    gate: asyncio.Semaphore


class Fetcher:
    """Reads the messages of one turn; its limits count over all of them."""

    def __init__(self, tools: Tools, folder: Path, chat_type: str) -> None:
        self._tools, self._folder, self._chat_type = tools, folder, chat_type
        self._context = tools.context
        self._until = asyncio.get_running_loop().time() + tools.limits.time_limit_s
        self._files = self._reads = self._children = 0
        self._things: dict[str, Thing] = {}

    async def question(self, message: Message, quoted: MessageId | None) -> Question:
        """The message and what it quotes."""
        said = await self._read(message)
        return Question(said, await self._quoted(quoted) if quoted else None)

    async def items(self, message_ids: Sequence[MessageId]) -> list[Item]:
        """These messages as they are now; none where that cannot be told."""
        try:
            return list(await self._patiently(lambda: self._context.feishu.get_messages(message_ids)))
        except Unreadable:
            return []

    async def _read(self, message: Message, items: Sequence[Item] = ()) -> Read:
        envelope = message.envelope
        if envelope.message_type == FORWARD:
            return await self._forward(envelope.message_id, items)
        things = [await self._thing(envelope.message_id, one) for one in message.resources]
        return Read(message.text, envelope.message_type, things=tuple(things))

    async def _quoted(self, message_id: MessageId) -> Read:
        ours = await self._context.database.read(own_words, message_id)
        if ours is not None:
            return Read(ours, "interactive", author=self._context.bot_name)
        try:
            items = await self._get(message_id)
        except Unreadable as error:
            return Read(message_type="message", why=error.why)
        item = find_item(items, message_id)
        message = self._message(item) if item is not None and not is_gone(item) else None
        if item is None or message is None:
            return Read(message_type="message", why="gone")
        names = await self._names([item])
        return _headed(await self._read(message, items), item, names)

    # Forwards

    async def _forward(self, message_id: MessageId, items: Sequence[Item]) -> Read:
        try:
            found = items or await self._get(message_id)
            names = await self._names(found)
            return await self._inside(message_id, found, names, 1)
        except Unreadable as error:
            return Read(message_type=FORWARD, why=error.why)

    async def _inside(self, upper: MessageId, items: Sequence[Item], names: dict[str, str], depth: int) -> Read:
        inside = children_of(items, upper)
        read: list[Read] = []
        for item in inside:
            if self._children >= CHILDREN_AT_MOST:
                break
            self._children += 1
            read.append(_headed(await self._child(item, items, names, depth), item, names))
        return Read(message_type=FORWARD, children=tuple(read), left_out=len(inside) - len(read))

    async def _child(self, item: Item, items: Sequence[Item], names: dict[str, str], depth: int) -> Read:
        message = self._message(item)
        if message is None or is_gone(item):
            return Read(message_type="message", why="gone")
        kind = message.envelope.message_type
        if kind != FORWARD:
            return Read(message.text, kind, things=tuple(_named(one) for one in message.resources))
        if depth >= DEPTH_AT_MOST:
            return Read(message_type=FORWARD, why="deep")
        message_id = message_id_of(item)
        try:
            if not children_of(items, message_id):
                items = await self._get(message_id)
                names = names | await self._names(items)
            return await self._inside(message_id, items, names, depth + 1)
        except Unreadable as error:
            return Read(message_type=FORWARD, why=error.why)

    def _message(self, item: Item) -> Message | None:
        policy = self._context.policy
        return message_from(item, self._chat_type, policy.app_id, policy.bot_open_id)

    async def _names(self, items: Sequence[Item]) -> dict[str, str]:
        """Names of authors; who has none is told from the others by a number."""
        authors = list(dict.fromkeys(author for item in items if (author := author_of(item))))
        names = await self._tools.people.names(authors)
        numbers = count(1)
        return {author: names.get(author) or f"#{next(numbers)}" for author in authors}

    async def _get(self, message_id: MessageId) -> list[Item]:
        self._reads += 1
        if self._reads > READS_AT_MOST:
            raise Unreadable("deep")
        return list(await self._patiently(lambda: self._context.feishu.get_message(message_id)))

    # Files

    async def _thing(self, message_id: MessageId, resource: Resource) -> Thing:
        if resource.kind not in FILES:
            return Thing(resource.kind, resource.name, why=NEVER_READ.get(resource.kind, ""))
        thing = Thing(resource.kind, resource.name, key=resource.file_key)
        if resource.file_key in self._things:
            return self._things[resource.file_key]
        if self._files >= self._tools.limits.most:
            return replace(thing, why="too_many")
        self._files += 1
        thing = self._things[resource.file_key] = await self._download(message_id, resource, thing)
        return thing

    async def _download(self, message_id: MessageId, resource: Resource, thing: Thing) -> Thing:
        try:
            data = await self._patiently(lambda: self._bytes(message_id, resource))
            name = file_name(resource.name, resource.kind, data)
            path = await asyncio.to_thread(save_file, self._folder, name, data)
        except Unreadable as error:
            log.warning(FILE_FAILED, message_id=message_id, kind=resource.kind, why=error.why)
            return replace(thing, name=file_name(resource.name, resource.kind) if resource.name else "", why=error.why)
        except OSError as error:
            log.error(FILE_FAILED, message_id=message_id, kind=resource.kind, why=type(error).__name__)
            return replace(thing, name=name, why="storage")
        log.info(FILE_SAVED, message_id=message_id, kind=resource.kind, size_bytes=len(data))
        return replace(thing, name=path.rpartition("/")[2], path=path, size_bytes=len(data))

    async def _bytes(self, message_id: MessageId, resource: Resource) -> bytes:
        limit = self._tools.limits.largest_bytes
        async with self._tools.gate:
            return await self._context.feishu.download(message_id, resource.file_key, resource.kind, limit_bytes=limit)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """The result of a call that is made again while that makes sense and there is time. Raises Unreadable."""
        loop, rng = asyncio.get_running_loop(), self._context.rng
        for tries in count(1):
            try:
                async with asyncio.timeout_at(self._until):
                    return await call()
            except TimeoutError:
                raise Unreadable("slow") from None
            except ApiRefused as refusal:
                raise Unreadable(_why(refusal)) from refusal
            except (RetryLater, OutcomeUnknown) as error:
                asked_ms = error.after_ms if isinstance(error, RetryLater) else 0
                wait_s = (asked_ms or backoff_ms(tries, rng.random())) / 1000
                if tries >= TRIES or loop.time() + wait_s >= self._until:
                    raise Unreadable("unreachable") from error
                await asyncio.sleep(wait_s)
        raise AssertionError("count never ends")


def _why(refusal: ApiRefused) -> str:
    if refusal.code == NOT_HANDED_OUT:
        return "withheld"
    match refusal.kind:
        case CodeKind.TOO_LARGE:
            return "too_large"
        case CodeKind.MESSAGE_GONE | CodeKind.EXPIRED:
            return "gone"
        case CodeKind.SCOPE | CodeKind.CHAT_GONE:
            return "hidden"
        case _:
            return "refused"


def _named(resource: Resource) -> Thing:
    """A thing inside a forward: Feishu hands out none of its bytes."""
    if resource.kind not in FILES:
        return Thing(resource.kind, resource.name, why=NEVER_READ.get(resource.kind, ""))
    name = file_name(resource.name, resource.kind) if resource.name else ""
    return Thing(resource.kind, name, key=resource.file_key, why="withheld")


def _headed(read: Read, item: Item, names: dict[str, str]) -> Read:
    """With who said it, and when."""
    said_ms = min(created_ms(item), LATEST_MS)
    at = datetime.fromtimestamp(said_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if said_ms else ""
    return replace(read, author=names.get(author_of(item), ""), at=at)
