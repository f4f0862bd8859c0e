"""Workloads with a service that is away for a while, or whose file is an older one."""

from channels.emulator.accounts import GROUP
from tests.crash.stage import Expect, Stage, read_copy

CREATE, LIST = "cardkit.card.create", "im.message.list"
MINUTES, HOURS = 60.0, 3600.0


async def missed(stage: Stage) -> None:
    """Away for minutes: history is read and answered. Away for hours: people are asked, and decide."""
    first, asked = stage.say("hello"), stage.say("hello all", "Bob", GROUP, mention_bot=True)
    await stage.answered(first)
    await stage.answered(asked)
    topic = stage.world.message(first).thread_id
    await stage.down()
    young = [
        stage.say("while you were away", thread_id=topic, push=False),
        stage.say("and you all", chat_id=GROUP, mention_bot=True, push=False),
        stage.say("nobody is meant", "Bob", GROUP, push=False, expect=Expect.UNNOTICED),
    ]
    await stage.advance(5 * MINUTES)
    await stage.up()
    for message_id in young[:2]:
        await stage.answered(message_id)
    await stage.down()
    old = stage.say("long ago", thread_id=topic, push=False)
    ignored = stage.say("long ago in the group", chat_id=GROUP, mention_bot=True, push=False, expect=Expect.IGNORED)
    await stage.advance(3 * HOURS)
    await stage.up()
    await stage.decide(stage.world.message(old).chat_id, "missed_handle")
    await stage.answered(old)
    await stage.decide(GROUP, "missed_ignore")
    assert not stage.replies(ignored)


async def pending_stays(stage: Stage) -> None:
    """Nobody decides: the messages are visibly pending, also after another boot; one of them is taken back."""
    await stage.answered(stage.say("hello"))
    await stage.down()
    chat_id = stage.world.private_chat("Alice")
    stage.say("long ago", push=False, expect=Expect.PENDING)
    taken_back = stage.say("never mind", push=False, expect=Expect.TAKEN_BACK)
    await stage.advance(3 * HOURS)
    await stage.up()
    await stage.until(lambda: stage.button_in_chat(chat_id, "missed_handle"))
    stage.world.recall("Alice", taken_back)
    await stage.quiet()
    await stage.advance(13.5 * 24 * HOURS)  # a card can soon no longer be changed: it gets a successor
    for _ in range(2):  # that is looked for once an hour
        await stage.quiet()
        await stage.advance(1.5 * HOURS)
    await stage.quiet()


async def put_back(stage: Stage) -> None:
    """An hour-old copy of the file is put back: nothing is answered twice, the rest is asked about."""
    first = stage.say("hello")
    await stage.answered(first)
    await stage.back_up(stage.folder / "kept.db")
    after = stage.say("after the backup", thread_id=stage.world.message(first).thread_id)
    await stage.answered(after)
    await stage.quiet()
    await stage.put_back(stage.folder / "kept.db")
    open_one = stage.say("while it was away", push=False, expect=Expect.PENDING)
    await stage.advance(1 * HOURS)
    await stage.up()
    await stage.until(lambda: stage.replies(open_one) or stage.button_in_chat(_chat(stage), "missed_handle"))
    stage.world.push_message(stage.world.message(after))
    await stage.quiet()


async def put_back_in_mid_turn(stage: Stage) -> None:
    """The copy holds a turn as running, one as waiting and one without a card, that have come to their ends since."""
    first = stage.say("hello")
    await stage.answered(first)
    topic = stage.world.message(first).thread_id
    running, waiting = stage.say("steps 25", thread_id=topic), stage.say("after that", thread_id=topic)
    await stage.until(lambda: stage.replies(waiting))
    stage.fault(CREATE, "delay", seconds=0.5)
    made = len(stage.ledger.calls(CREATE))
    cardless = stage.say("not even a card", "Bob")
    await stage.until(lambda: len(stage.ledger.calls(CREATE)) > made)
    undecided = stage.say("in the queue of nobody", "Bob")
    await stage.until(lambda: stage.ledger.deliveries(undecided)[-1].ack_code == 200)
    await stage.back_up(stage.folder / "kept.db")
    for message_id in (running, waiting, cardless, undecided):
        await stage.answered(message_id)
    await stage.quiet()
    await stage.put_back(stage.folder / "kept.db")
    await stage.advance(10 * MINUTES)
    stage.fault(LIST, "status", status=503, times=None)
    listed = len(stage.ledger.calls(LIST))
    await stage.up()
    await stage.until(lambda: len(stage.ledger.calls(LIST)) >= listed + 12)
    stage.emulator.faults.clear()
    await stage.quiet()


async def swept(stage: Stage) -> None:
    """The socket stands and brings nothing: the sweep finds the message, and the connection is built anew."""
    first = stage.say("hello")
    await stage.answered(first)
    stage.emulator.sockets.mute_present()
    topic = stage.world.message(first).thread_id
    silent = stage.say("do you hear me", thread_id=topic, push=False, expect=Expect.PENDING)
    await stage.advance(6 * MINUTES)
    await stage.until(lambda: stage.has_ended(silent) or stage.button_in_chat(_chat(stage), "missed_handle"))
    await stage.advance(31 * 24 * HOURS)  # gaps that were closed long ago are forgotten
    await stage.answered(stage.say("still there?", "Bob"))


async def unreadable(stage: Stage) -> None:
    """History cannot be read at first, and one chat's never."""
    first = stage.say("hello")
    await stage.answered(first)
    await stage.answered(stage.say("hello", "Bob", GROUP, mention_bot=True))
    await stage.down()
    away = stage.say("while you were away", thread_id=stage.world.message(first).thread_id, push=False)
    stage.fault("im.message.list", "status", status=503, times=2)
    stage.emulator.settings.scopes.discard("im:message.group_msg")
    await stage.advance(5 * MINUTES)
    await stage.up()
    await stage.answered(away)


async def expired(stage: Stage) -> None:
    """A topic that nobody has used for a month: its route goes, a tombstone stays, the next message is refused."""
    first = stage.say("hello")
    await stage.answered(first)
    await stage.quiet()
    await stage.down()
    await stage.advance(40 * 24 * HOURS)
    await stage.up()
    await stage.until(lambda: is_tombstoned(stage))
    topic = stage.world.message(first).thread_id
    await stage.answered(stage.say("still there?", thread_id=topic, expect=Expect.NOTICE))
    await stage.answered(stage.say("/help", thread_id=topic, expect=Expect.NOTICE))


def _chat(stage: Stage) -> str:
    return stage.world.private_chat("Alice")


def is_tombstoned(stage: Stage) -> bool:
    return bool(read_copy(stage.file, "SELECT 1 FROM expired_routes"))
