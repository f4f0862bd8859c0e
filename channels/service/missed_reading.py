"""Reading history: a place's messages since a moment, oldest first, as the events that they would have been.

Chats are read page by page in order of time, so that what is handed on early is the oldest. A topic takes no time
range: it is read newest first down to the moment, and only then handed on, turned round.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

from channels.errors import ApiRefused, CodeKind
from channels.feishu import events, history
from channels.feishu.messages import Item
from channels.ids import MessageId
from channels.rules.missed import NOT_OURS_TO_READ, Pages
from channels.rules.routing import drop_at_the_door
from channels.service.context import Context
from channels.store.missed import Container, Place
from channels.store.transactions.missed import unprocessed

THREAD_PAGES_AT_MOST = 200
CUT_SHORT = "Feishu's page tokens lead nowhere: the older messages of this topic could not be read"
TOO_LONG = f"this topic has more than {THREAD_PAGES_AT_MOST} pages since then: its older messages were not read"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some messages, oldest first; `read_to_ms`: everything of the place before it has been given out.

    `cut_short` says, on the last chunk of a topic, why older messages are missing.
    """

    items: tuple[Item, ...]
    read_to_ms: int
    cut_short: str = ""


async def read_place(context: Context, container: Container) -> AsyncIterator[Chunk]:
    """What was said in a place from `read_to_ms` on. Raises as `feishu.api` does."""
    if container.place.kind == "thread":
        yield await _read_thread(context, container)
        return
    pages = Pages(container.read_to_ms, ranged=True)
    while not pages.ended:
        page = await context.feishu.list_messages(
            "chat", container.place.container, start_s=pages.since_ms // 1000, page_token=pages.token or None
        )
        fresh = pages.take(_keys(page.items), page.page_token)
        yield Chunk(_ordered(item for item in page.items if history.message_id_of(item) in fresh), pages.read_to_ms)


async def _read_thread(context: Context, container: Container) -> Chunk:
    pages, found, count = Pages(0, ranged=False), list[Item](), 0
    since_ms, cut_short = container.read_to_ms, ""
    while not pages.ended:
        count += 1
        page = await context.feishu.list_messages(
            "thread", container.place.container, ascending=False, page_token=pages.token or None
        )
        fresh = pages.take(_keys(page.items), page.page_token)
        items = [item for item in page.items if history.message_id_of(item) in fresh]
        found += [item for item in items if history.created_ms(item) >= since_ms]
        if any(history.created_ms(item) < since_ms for item in items):
            break
        if count >= THREAD_PAGES_AT_MOST:
            cut_short = TOO_LONG
            break
    else:
        cut_short = CUT_SHORT if pages.cut_short else ""
    return Chunk(_ordered(found), since_ms, cut_short)


async def found_events(context: Context, place: Place, items: Sequence[Item]) -> list[events.MessageReceived]:
    """Those of these messages that the gate has not seen, as events, in the same order.

    Our own messages and those of other bots are left out; each of the rest is read a second time for its user_id.
    """
    wanted = [item for item in items if history.is_said(item)]
    fresh = await context.database.read(unprocessed, [history.message_id_of(item) for item in wanted])
    wanted = [item for item in wanted if history.message_id_of(item) in fresh]
    wanted = [item for item in wanted if not _is_bots(context, _event(context, place, item, None))]
    twins = await _twins(context, [history.message_id_of(item) for item in wanted])
    found = (_event(context, place, item, twins.get(history.message_id_of(item))) for item in wanted)
    return [event for event in found if isinstance(event, events.MessageReceived)]


def threads_in(place: Place, items: Sequence[Item]) -> list[Place]:
    """Topics that a chat's listing shows by their roots: their replies stand in the topic alone."""
    if place.kind != "chat":
        return []
    found = dict.fromkeys(thread for item in items if (thread := history.thread_of(item)) is not None)
    return [Place(thread, "thread", place.chat_id, place.chat_type) for thread in found]


async def _twins(context: Context, message_ids: Sequence[MessageId]) -> dict[MessageId, Item]:
    """The same messages with user_id; nothing where the app may not see it (live events then lack it too)."""
    if not message_ids:
        return {}
    try:
        items = await context.feishu.get_messages(message_ids, user_id_type="user_id")
    except ApiRefused as refusal:
        if refusal.kind is CodeKind.SCOPE:
            return {}
        raise
    return {history.message_id_of(item): item for item in items}


def _event(context: Context, place: Place, item: Item, twin: Item | None) -> events.Event:
    policy = context.policy
    return events.parse(history.event_from(item, twin, place.chat_type, policy.app_id, policy.bot_open_id))


def _is_bots(context: Context, event: events.Event) -> bool:
    if not isinstance(event, events.MessageReceived):
        return False
    return drop_at_the_door(event.envelope, context.policy) in NOT_OURS_TO_READ


def _keys(items: Sequence[Item]) -> list[tuple[str, int]]:
    return [(history.message_id_of(item), history.created_ms(item)) for item in items]


def _ordered(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: (history.created_ms(item), history.message_id_of(item))))
