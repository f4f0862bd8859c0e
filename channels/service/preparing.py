"""Between admit and enter: what the agent will be given, read and kept.

Most messages are words and need nothing. Pictures, files, forwards and quotes are fetched once: the preparation is
counted before it begins (a message that kills the process is given up after five), and its result is saved with the
turn's snapshot, so that a restart does not fetch again. It never fails: what cannot be read is named to the agent in
its place and to the person on the card.

A message that has waited for long is read once more, because its author may have changed it (Feishu sends no event for
that) or taken it back while nobody listened.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from channels.agents.protocol import Attachment
from channels.cards.texts import Texts, texts
from channels.feishu.events import normalise
from channels.feishu.forwards import find_item, is_gone, message_from, was_edited
from channels.ids import MessageId
from channels.logs import LOOP_FAILED, TURN_PREPARED, get_logger
from channels.rules.downloads import MEGABYTE, FileLimits
from channels.rules.gathering import FORWARD
from channels.rules.message import Envelope, Message
from channels.rules.reading import Labels, Question, Read, Thing, compose, things_of, unread
from channels.service.context import Context
from channels.service.fetching import Fetcher, Tools
from channels.service.people import People
from channels.store.inbox import InboxRow
from channels.store.snapshots import Snapshot
from channels.store.transactions.prepare import Material, begin_preparing, read_material, save_prepared
from channels.store.transactions.run import Lease

DOWNLOADS_AT_ONCE = 4  # of all turns together: each is held in memory
REREAD_AFTER_MS = 10_000  # a message that has waited so long is read once more

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    """`unread`: what the person is told; `recalled`: its author took everything back."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    unread: tuple[str, ...] = ()
    recalled: bool = False


class Preparing:
    """Prepares turns."""

    def __init__(self, context: Context, limits: FileLimits) -> None:
        self._context, self._limits = context, limits
        gate = asyncio.Semaphore(DOWNLOADS_AT_ONCE)
        self._tools = Tools(context, People(context), limits, gate)

    async def prepare(self, lease: Lease, snapshot: Snapshot | None, folder: Path | None) -> Prepared:
        """What the agent of this turn is given; files are saved below `folder`, the session's own."""
        kept = _read_kept(snapshot)
        if kept is not None:
            return kept
        material = await self._context.database.read(read_material, lease)
        plain = _plain(snapshot)
        if material is None or not material.rows or snapshot is None:
            return plain
        try:
            return await self._prepare(lease, snapshot, material, folder)
        except Exception:
            log.exception(LOOP_FAILED, loop="preparing", turn_id=lease.turn_id)
            words = texts(self._context.preferences.language)
            return replace(plain, unread=(f"{words.thing_message}: {words.error_internal}",))

    async def _prepare(self, lease: Lease, snapshot: Snapshot, material: Material, folder: Path | None) -> Prepared:
        context = self._context
        messages = [normalise(row.payload, context.policy.bot_open_id) for row in material.rows]
        late = [row for row in material.rows if context.now() - row.received_at >= REREAD_AFTER_MS]
        if not late and not any(_needs_feishu(message, material.first) for message in messages):
            said = [Question(Read(one.text, one.envelope.message_type)) for one in messages]
            return Prepared(compose(said, self._labels))
        if not await context.database.run(begin_preparing, lease):
            return _plain(snapshot)
        folder = folder or Path(f"{context.preferences.base_dir}/sessions/{lease.session_id}")
        fetcher = Fetcher(self._tools, folder, snapshot.chat_type)
        messages = await self._newest(fetcher, messages, late, snapshot.chat_type)
        questions = [await fetcher.question(one, _quoted(one.envelope, material.first)) for one in messages]
        prepared = self._prepared(questions, folder, recalled=not questions)
        saved = await context.database.run(save_prepared, lease, _keep(prepared))
        log.info(
            TURN_PREPARED,
            turn_id=lease.turn_id,
            messages=len(messages),
            files=len(prepared.attachments),
            unread=len(prepared.unread),
            saved=saved,
        )
        return prepared

    async def _newest(
        self, fetcher: Fetcher, messages: Sequence[Message], late: Sequence[InboxRow], chat_type: str
    ) -> list[Message]:
        """The messages as their author has left them; without those that were taken back."""
        items = await fetcher.items([row.message_id for row in late]) if late else []
        policy, newest = self._context.policy, []
        for message in messages:
            item = find_item(items, message.envelope.message_id)
            if item is not None and is_gone(item):
                continue
            edited = (
                message_from(item, chat_type, policy.app_id, policy.bot_open_id)
                if item is not None and was_edited(item)
                else None
            )
            newest.append(replace(message, text=edited.text, resources=edited.resources) if edited else message)
        return newest

    def _prepared(self, questions: Sequence[Question], folder: Path, *, recalled: bool) -> Prepared:
        labels = self._labels
        things = dict.fromkeys(things_of(questions))
        return Prepared(
            compose(questions, labels),
            tuple(_attachment(thing, folder, labels) for thing in things),
            unread(questions, labels),
            recalled,
        )

    @property
    def _labels(self) -> Labels:
        return labels_of(texts(self._context.preferences.language), self._limits)


def labels_of(words: Texts, limits: FileLimits) -> Labels:
    """The words for what came beside words."""
    return Labels(
        kinds={
            "image": words.thing_image,
            "file": words.thing_file,
            "audio": words.thing_audio,
            "video": words.thing_video,
            "sticker": words.thing_sticker,
            "location": words.thing_location,
            "share_chat": words.thing_group,
            "share_user": words.thing_person,
            "folder": words.thing_folder,
            "message": words.thing_message,
            FORWARD: words.thing_forward,
            "other": words.thing_other,
        },
        reasons={
            "too_large": words.reason_too_large.format(limit=f"{limits.largest_bytes / MEGABYTE:.3g} MB"),
            "too_many": words.reason_too_many.format(limit=limits.most),
            "slow": words.reason_slow,
            "gone": words.reason_gone,
            "hidden": words.reason_hidden,
            "withheld": words.reason_withheld,
            "storage": words.reason_storage,
            "refused": words.reason_refused,
            "unreachable": words.reason_unreachable,
            "deep": words.reason_deep,
            "unknown": words.reason_unknown,
        },
        quoted=words.read_quoted,
        forwarded=words.read_forwarded,
        left_out=words.read_left_out,
        cut=words.read_cut,
        not_read=words.read_not,
        more=words.read_more,
    )


def _needs_feishu(message: Message, first: bool) -> bool:
    envelope = message.envelope
    return bool(message.resources) or envelope.message_type == FORWARD or _quoted(envelope, first) is not None


def _quoted(envelope: Envelope, first: bool) -> MessageId | None:
    """What this message quotes. In a topic everything answers the root: that is a quote only where the bot comes to a
    topic of others, whose beginning it has not heard."""
    parent = envelope.parent_id
    if envelope.thread_id is None or parent is None or parent != envelope.root_id:
        return parent
    return parent if first else None


def _attachment(thing: Thing, folder: Path, labels: Labels) -> Attachment:
    path = folder / thing.path if thing.path else None
    name = thing.name or labels.kinds.get(thing.kind, labels.kinds["other"])
    return Attachment(thing.kind, name, path, thing.size_bytes, labels.reasons[thing.why] if thing.why else "")


def _plain(snapshot: Snapshot | None) -> Prepared:
    """What the snapshot itself says: the message's own text, or that of a turn without a message."""
    message = json.loads(snapshot.message) if snapshot and snapshot.message else {}
    return Prepared(str(message.get("text", "")))


def _keep(prepared: Prepared) -> str:
    """The prepared turn as its snapshot keeps it."""
    attachments: Iterable[dict[str, object]] = (
        asdict(one) | {"path": str(one.path) if one.path else None} for one in prepared.attachments
    )
    kept = {"prepared": True, "text": prepared.text, "unread": prepared.unread, "recalled": prepared.recalled}
    return json.dumps(kept | {"attachments": list(attachments)}, ensure_ascii=False)


def _read_kept(snapshot: Snapshot | None) -> Prepared | None:
    """What an earlier start of this turn has prepared."""
    if snapshot is None or not snapshot.message:
        return None
    kept = json.loads(snapshot.message)
    if not kept.get("prepared"):
        return None
    attachments = (one | {"path": Path(one["path"]) if one["path"] else None} for one in kept["attachments"])
    return Prepared(
        kept["text"], tuple(Attachment(**one) for one in attachments), tuple(kept["unread"]), kept["recalled"]
    )
