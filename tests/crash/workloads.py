"""What people do while the service is killed. A workload waits for facts that come true whatever was killed when."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.emulator.accounts import GROUP, PLAIN
from tests.crash import absences, kinds, launches, ledgers, permissions, permits
from tests.crash.stage import Expect, Stage, Violation, read_copy

SETTINGS = "cardkit.card.settings"
REPLY, CREATE, UPDATE, REACT = "im.message.reply", "cardkit.card.create", "cardkit.card.update", "im.reaction.create"
FORGOTTEN_S = 57 * 60.0  # after this no uuid is remembered
AWAY_S = 2 * 3600.0  # the platform remembers a uuid for an hour
Sections = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Workload:
    """`kills`: boots that die by themselves so that the others have something to repair. `away_s`: how long the
    service stays away after its first death."""

    name: str
    run: Callable[[Stage], Awaitable[None]]
    kills: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    platform: dict[str, Any] = field(default_factory=dict)
    sections: Sections = field(default_factory=dict)
    away_s: float = 0.0


async def first_message(stage: Stage) -> None:
    await stage.answered(stage.say("hello"))


async def continue_topic(stage: Stage) -> None:
    first = stage.say("hello")
    await stage.answered(first)
    await stage.answered(stage.say("steps 4", thread_id=stage.world.message(first).thread_id))


async def two_at_once(stage: Stage) -> None:
    """The second waits for the session that the first establishes; a stranger's does not."""
    messages = [stage.say("first of two"), stage.say("second of two"), stage.say("somebody else", "Bob")]
    for message_id in messages:
        await stage.answered(message_id)


async def group(stage: Stage) -> None:
    """Without a mention nothing is answered, in a topic of the bot everything is."""
    stage.say("just talk", chat_id=GROUP, expect=Expect.NOTHING)
    asked = stage.say("steps 3", chat_id=GROUP, mention_bot=True)
    stage.say("more talk", "Bob", GROUP, expect=Expect.NOTHING)
    await stage.answered(asked)
    await stage.answered(stage.say("in the topic", "Bob", GROUP, thread_id=stage.world.message(asked).thread_id))


async def stop(stage: Stage) -> None:
    message_id = stage.say("forever and ever")
    await stage.press(message_id, "stop")
    await stage.answered(message_id)


async def queue(stage: Stage) -> None:
    """Three messages of one topic: one runs, two wait; one of those is taken back."""
    first = stage.say("hello")
    await stage.answered(first)
    topic = stage.world.message(first).thread_id
    running = stage.say("forever in the queue", thread_id=topic)
    taken_back = stage.say("never mind", expect=Expect.TAKEN_BACK, thread_id=topic)
    last = stage.say("the last one", thread_id=topic)
    await stage.until(lambda: stage.replies(running))
    stage.world.recall("Alice", taken_back)
    await stage.press(running, "stop")
    await stage.answered(last)


async def long_answer(stage: Stage) -> None:
    await stage.answered(stage.say("long answer please"))


async def failing(stage: Stage) -> None:
    failed = stage.say("fail now")
    await stage.answered(failed)
    await stage.answered(stage.say("raise now", thread_id=stage.world.message(failed).thread_id))


async def commands(stage: Stage) -> None:
    for text in ("/help", "/status", "/whoami", "/halp", "/userid", "/health"):
        stage.say(text, "Bob", expect=Expect.NOTICE)
    in_chat = stage.say("hello")
    await stage.answered(in_chat)
    again = stage.say("and again")
    await stage.answered(again)
    for text in ("/status", "/new", "/new"):
        await stage.answered(stage.say(text, expect=Expect.NOTICE))
    running = stage.say("forever until told")
    await stage.until(lambda: stage.replies(running))
    await stage.answered(stage.say("/stop", expect=Expect.NOTICE))
    if not stage.has_ended(running):
        await stage.press(running, "stop")
    await stage.answered(running)


async def one_command(stage: Stage) -> None:
    await stage.answered(stage.say("/help", expect=Expect.NOTICE))


async def interrupted(stage: Stage) -> None:
    """The first boot dies in mid-answer; the person presses *Continue*, and that turn runs in the same card."""
    message_id = stage.say("steps 40", chat_id=GROUP, mention_bot=True)
    await stage.answered(message_id)
    if await stage.press(message_id, "continue", "Bob") and await stage.press(message_id, "continue"):
        await stage.answered(message_id)


async def recalled(stage: Stage) -> None:
    """One question is taken back at once, one while its answer runs, one before the service has heard of it."""
    at_once = stage.say("taken back at once", expect=Expect.TAKEN_BACK)
    stage.world.recall("Alice", at_once)
    running = stage.say("forever, then gone", "Bob", expect=Expect.TAKEN_BACK)
    await stage.until(lambda: stage.replies(running))
    stage.world.recall("Bob", running)
    await stage.press(running, "stop", "Bob")


async def lost_answers(stage: Stage) -> None:
    """Every call works and nobody hears of it."""
    for kind in (CREATE, REPLY, UPDATE, REACT):
        stage.fault(kind, "drop_after")
    first = stage.say("steps 6")
    await stage.answered(first)
    stage.fault("im.reaction.delete", "drop_after")
    await stage.answered(stage.say("hello", thread_id=stage.world.message(first).thread_id))


async def overdue(stage: Stage) -> None:
    """Nobody knows for half a minute whether the first reply is there: the next message starts without its topic."""
    stage.fault(REPLY, "drop_after")
    stage.fault(REPLY, "drop", times=None)
    first, second = stage.say("hello"), stage.say("anybody there")
    await stage.until(lambda: len(stage.ledger.calls(REPLY)) >= 2)
    await stage.advance(40)
    await stage.until(lambda: len(stage.boots) > 1 or len(stage.provider()) == 2)
    stage.emulator.faults.clear()
    await stage.answered(first)
    await stage.answered(second)


async def answered_all_the_same(stage: Stage) -> None:
    """The question is taken back before its card is there, and is to be answered: the answer goes to the chat."""
    stage.fault(CREATE, "delay", seconds=0.2)
    message_id = stage.say("hello", expect=Expect.ANSWER)
    began = "SELECT 1 FROM turns WHERE state <> 'queued'"  # taken back before that, it is rightly dropped
    await stage.until(lambda: stage.provider() or (len(stage.boots) > 1 and read_copy(stage.file, began)))
    stage.world.recall("Alice", message_id)
    await stage.quiet()


async def stop_from_outside(stage: Stage) -> None:
    """/stop beside the topics means the newest turn of who says it."""
    first, second = stage.say("forever one"), stage.say("forever two", "Bob")
    await stage.until(lambda: stage.replies(first) and stage.replies(second))
    await stage.answered(stage.say("/stop", expect=Expect.NOTICE))
    await stage.answered(stage.say("/stop", "Bob", expect=Expect.NOTICE))
    for message_id, user in ((first, "Alice"), (second, "Bob")):
        await stage.press(message_id, "stop", user)


async def lost_reply_found(stage: Stage) -> None:
    """The reply is there, nobody heard of it, and its uuid is forgotten: history shows it."""
    stage.fault(REPLY, "drop_after")
    stage.fault(REPLY, "status", status=503, times=None)
    message_id = stage.say("hello")
    await stage.until(lambda: len(stage.ledger.calls(REPLY)) >= 2)
    await stage.advance(FORGOTTEN_S)
    stage.emulator.faults.clear()
    await stage.answered(message_id)


async def two_lost_replies(stage: Stage) -> None:
    """Two replies of one topic are there, and nobody heard of either: history shows both, their cards tell which."""
    first = stage.say("hello")
    await stage.answered(first)
    topic = stage.world.message(first).thread_id
    stage.fault(REPLY, "drop_after", times=2)
    stage.fault(REPLY, "status", status=503, times=None)
    calls = len(stage.ledger.calls(REPLY))
    messages = [stage.say("steps 30", thread_id=topic), stage.say("and then", thread_id=topic)]
    await stage.until(lambda: len(stage.ledger.calls(REPLY)) >= calls + 4)
    await stage.advance(FORGOTTEN_S)
    stage.emulator.faults.clear()
    for message_id in messages:
        await stage.answered(message_id)


async def lost_reply_absent(stage: Stage) -> None:
    """The reply was never there, nobody knows, and its uuid is forgotten: history shows nothing."""
    stage.fault(REPLY, "drop", times=None)
    message_id = stage.say("hello")
    second = stage.say("and this", expect=Expect.ANSWER)
    await stage.until(lambda: len(stage.ledger.calls(REPLY)) >= 2)
    await stage.advance(FORGOTTEN_S)
    stage.emulator.faults.clear()
    await stage.answered(message_id)
    await stage.answered(second)


async def without_cardkit(stage: Stage) -> None:
    """No entities: the card is patched; a patch whose outcome is unknown is followed by another."""
    stage.fault(CREATE, "error", code=99991672, times=None)
    stage.fault("im.message.patch", "drop_after")
    await stage.answered(stage.say("steps 8"))


async def without_cards(stage: Stage) -> None:
    """Cards are refused: the answer is a text. A closing update that is refused becomes a text too."""
    stage.fault(REPLY, "error", code=230099)
    await stage.answered(stage.say("hello"))
    stage.fault(UPDATE, "error", code=230099)
    await stage.answered(stage.say("once more", "Bob"))


async def no_topics(stage: Stage) -> None:
    """A group without topics: the route is one of the chat."""
    first = stage.say("hello", chat_id=PLAIN, mention_bot=True)
    await stage.answered(first)
    await stage.answered(stage.say("steps 3", chat_id=PLAIN, mention_bot=True))


async def removed(stage: Stage) -> None:
    """The bot is put out of the group in mid-answer."""
    message_id = stage.say("forever here", chat_id=GROUP, mention_bot=True, expect=Expect.TAKEN_BACK)
    await stage.until(lambda: stage.replies(message_id))
    stage.world.remove_bot(GROUP)
    stage.fault(UPDATE, "error", code=230002, times=None)
    await stage.press(message_id, "stop")
    await stage.quiet()


async def odd_sequences(stage: Stage) -> None:
    """The platform says that a later update is there, that this one is, and that streaming is over."""
    stage.fault(UPDATE, "error", code=300317)
    stage.fault("cardkit.element.content", "error", code=300309)
    streaming = stage.say("forever and on")
    await stage.until(lambda: stage.ledger.calls(SETTINGS) or len(stage.boots) > 1)
    await stage.press(streaming, "stop")
    await stage.answered(streaming)
    stage.fault(UPDATE, "error", code=200770, effect=True)
    await stage.answered(stage.say("hello", "Bob"))


async def rejected_mail(stage: Stage) -> None:
    """The platform's audit refuses addresses: they are masked."""
    await stage.answered(stage.say("mail me at somebody@example.com"))


async def poisoned(stage: Stage) -> None:
    """A message that five boots died of is refused; somebody else is answered. Where another kill takes the place of
    one of the five, it is answered."""
    poison = stage.say("poison", expect=Expect.NOTICE)
    await stage.until(lambda: len(stage.boots) >= 6 or stage.has_ended(poison))
    await stage.answered(stage.say("in between", "Bob"))
    await stage.quiet()


async def worn_out(stage: Stage) -> None:
    """A turn whose start was tried too often ends as interrupted."""
    message_id = stage.say("hello")
    await stage.answered(message_id)


WORKLOADS = {
    each.name: each
    for each in (
        Workload("first message", first_message),
        Workload("continue in a topic", continue_topic),
        Workload("two first messages at once", two_at_once),
        Workload("group without mention", group),
        Workload("stop", stop),
        Workload("queue and recall", queue),
        Workload("long answer", long_answer),
        Workload("failing turn", failing),
        Workload("commands", commands, sections={"topics": {"private": "chat", "group": "topic"}}),
        Workload("interrupted and continued", interrupted, kills={1: ("snapshots.SAVE_TEXT", 6)}),
        Workload("recalled questions", recalled),
        Workload("answers get lost", lost_answers),
        Workload("nobody knows of the reply", overdue),
        Workload("answered all the same", answered_all_the_same, sections={"turns": {"recalled": "answer"}}),
        Workload("stop from outside", stop_from_outside),
        Workload("lost reply, found in history", lost_reply_found),
        Workload("two lost replies of one topic", two_lost_replies),
        Workload("lost reply, not in history", lost_reply_absent),
        Workload("without CardKit", without_cardkit, kills={1: ("snapshots.SAVE_TEXT", 4)}),
        Workload("cards refused", without_cards),
        Workload("group without topics", no_topics),
        Workload("removed from the group", removed),
        Workload("odd sequences", odd_sequences),
        Workload("rejected mail", rejected_mail, platform={"audit_pattern": "somebody@example"}),
        Workload("missed messages", absences.missed),
        Workload("pending messages", absences.pending_stays),
        Workload("an older file", absences.put_back),
        Workload("an older file in mid-turn", absences.put_back_in_mid_turn),
        Workload("a deaf socket", absences.swept),
        Workload("history cannot be read", absences.unreadable),
        Workload("another bot", kinds.other_bots, sections={"chat": {"allow_bots": True}}),
        Workload("agents", kinds.agents),
        Workload("launch", launches.launch),
        Workload("launch in private", launches.launch_in_private),
        Workload(
            "launch into a chat, card lost",
            launches.launch_into_a_chat,
            sections={"topics": {"private": "chat", "group": "topic"}},
        ),
        Workload("launch cut off and continued", launches.launch_cut_off, kills={1: ("snapshots.SAVE_TEXT", 9)}),
        Workload("wake", launches.wake),
        Workload("wake in an expired topic", launches.wake_in_an_expired_topic),
        Workload("workspaces", kinds.workspaces, sections={"workspace": {"base_dir": "work"}}),
        Workload("an expired topic", absences.expired),
        Workload("files", kinds.files),
        Workload("forwards", kinds.forwards),
        Workload("a forward behind another message", kinds.forward_behind),
        Workload("quotes and edits", kinds.quotes),
        Workload("new places", kinds.new_places),
        Workload("sessions", kinds.sessions, sections={"topics": {"private": "chat", "group": "topic"}}),
        Workload("put away", kinds.put_away, sections={"topics": {"private": "chat", "group": "topic"}}),
        Workload("tools that ask", permissions.asked, sections={"access": {"admins": ["u_alice"]}}),
        Workload("the right to change code", permissions.rights, sections={"access": {"admins": ["u_alice"]}}),
        Workload("a long output", permissions.long_output),
        Workload("a lost session of the agent", permissions.lost_session),
        Workload(
            "access on approval", permits.approval, sections={"access": {"mode": "approval", "admins": ["u_alice"]}}
        ),
        Workload(
            "an owner and the admin page",
            permits.owned,
            sections={"access": {"mode": "approval"}, "web": {"enabled": True, "admin": True, "port": 0}},
        ),
        Workload(
            "back after two hours",
            first_message,
            kills={1: ("reply_message after_effect", 1)},
            away_s=AWAY_S,
        ),
        Workload(
            "back after two hours: a command",
            one_command,
            kills={1: ("COMMIT outbox.SET_LAST+sent_cards.PUT_SENT", 1)},
            away_s=AWAY_S,
        ),
        Workload(
            "quota used up",
            ledgers.quota_used_up,
            sections={"quota": {"turns_per_day": 2, "tokens_per_month": 900_000}},
        ),
        Workload("limits of one person", ledgers.limits_of_one_person),
        Workload("settlement paused", ledgers.paused, sections={"access": {"admins": ["u_alice"]}}),
        Workload("stop racing settle", ledgers.stop_races_settle),
        Workload("more stops than room", ledgers.many_stops),
        Workload("settled after a restart", ledgers.settled_after_a_restart, kills={1: ("releases.INSERT_RELEASE", 1)}),
        Workload(
            "too late to settle",
            ledgers.settled_after_a_restart,
            kills={1: ("releases.INSERT_RELEASE", 1)},
            away_s=AWAY_S,
        ),
        Workload(
            "archived while it waits",
            ledgers.archived_while_it_waits,
            sections={"access": {"admins": ["u_alice"]}, "topics": {"private": "chat", "group": "topic"}},
        ),
        Workload("poisoned message", poisoned, kills=dict.fromkeys(range(1, 6), ("inbox.SET_QUEUED", 1))),
        Workload("worn-out turn", worn_out, kills=dict.fromkeys(range(1, 7), ("turns.ENTER", 1))),
        Workload(
            "waiting turns are not replayed",
            worn_out,
            kills={1: ("turns.ENTER", 1)},
            sections={"replay": {"pending": False}},
        ),
    )
}


async def carry_out(workload: Workload, stage: Stage) -> None:
    """The workload, then quiet and a clean stop; a workload that waits in vain is a violation, not an error."""
    try:
        await stage.until(lambda: len(stage.boots) > 1 or (bool(stage.boots) and stage.boot.ready.is_set()))
        async with asyncio.timeout(1.5 * stage.limit_s):
            await workload.run(stage)
    except TimeoutError:
        stage.violations.append(Violation("L1", "the workload waited in vain for something that people should see"))
    await stage.finish()
