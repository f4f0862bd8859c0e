"""Workloads of turns that nobody's message causes. Who asks for them asks again under the same key until told."""

from typing import Any

from channels.emulator.accounts import GROUP
from channels.emulator.messages import Message
from tests.crash.absences import is_tombstoned
from tests.crash.stage import Expect, Stage
from tests.integration import cards_seen

DAYS = 24 * 3600.0


async def launch(stage: Stage) -> None:
    """A topic for Alice in a group. Bob writes under its card as soon as that is there, and goes on in the topic."""
    turn = await _begin(stage, "topic_start", user="u_alice", chat=GROUP, text="steps 6", key="daily")
    await stage.until(lambda: _cards(stage, GROUP))
    (card,) = _cards(stage, GROUP)[:1]
    if not card.thread_id:
        stage.world.timeline.open_thread(card, "omt_by_bob")
    at_once = stage.say("what is this?", "Bob", GROUP, thread_id=card.thread_id)
    await stage.answered(at_once)
    again = await _begin(stage, "topic_start", user="u_alice", chat=GROUP, text="steps 6", key="daily")
    assert (again["turn"], again["session"]) == (turn["turn"], turn["session"])
    await stage.answered(stage.say("thank you", chat_id=GROUP, thread_id=card.thread_id))
    await stage.until(lambda: all(_has_ended(stage, each) for each in _cards(stage, GROUP)))


async def launch_in_private(stage: Stage) -> None:
    """Into a private chat that nobody has opened; the answer fills several cards. Then one for who is known there."""
    chat_id = stage.world.private_chat("Bob")
    await _begin(stage, "topic_start", user="u_bob", text="long answer", key="first")
    await stage.until(lambda: any(_has_ended(stage, each) for each in _cards(stage, chat_id)))
    await stage.quiet()
    thread_id = _cards(stage, chat_id)[0].thread_id
    await stage.answered(stage.say("go on", "Bob", thread_id=thread_id))
    stage.world.enter_private_chat("Alice")
    await _begin(stage, "topic_start", user="u_alice", text="hello", key="second")
    await stage.until(lambda: any(_has_ended(stage, each) for each in _cards(stage, stage.world.private_chat("Alice"))))


async def launch_into_a_chat(stage: Stage) -> None:
    """Where conversations stay in the chat; nobody hears of the card, and its uuid is forgotten."""
    chat_id = stage.world.private_chat("Alice")
    await stage.answered(stage.say("hello"))
    stage.fault("im.message.create", "drop_after")
    stage.fault("im.message.create", "status", status=503, times=None)
    calls = len(stage.ledger.calls("im.message.create"))
    await _begin(stage, "topic_start", user="u_alice", chat=chat_id, text="steps 3", key="k")
    await stage.until(lambda: len(stage.ledger.calls("im.message.create")) >= calls + 2)
    await stage.advance(57 * 60.0)
    stage.emulator.faults.clear()
    await stage.until(
        lambda: _cards(stage, chat_id) and all(_has_ended(stage, each) for each in _cards(stage, chat_id))
    )
    await stage.answered(stage.say("and now"))


async def launch_cut_off(stage: Stage) -> None:
    """The app may not look at chats. A boot dies in mid-answer; the person for whom it ran presses *Continue*."""
    await stage.answered(stage.say("hello", "Bob", GROUP, mention_bot=True))
    await stage.quiet()
    stage.fault("im.chat.get", "error", code=99991672, times=None)
    await _begin(stage, "topic_start", user="u_alice", chat=GROUP, text="steps 40", key="k")
    await stage.until(lambda: _cards(stage, GROUP))
    (card,) = _cards(stage, GROUP)[:1]
    await stage.until(lambda: _has_ended(stage, card))
    if await stage.press_on(card, "continue"):
        await stage.until(lambda: _has_ended(stage, card))


async def wake(stage: Stage) -> None:
    """Twice in a topic, at once; then a message, which comes after both."""
    first = stage.say("hello")
    await stage.answered(first)
    await stage.quiet()
    topic = stage.world.message(first).thread_id
    turn = await _begin(stage, "topic_wake", thread=topic, text="steps 8", key="one")
    await _begin(stage, "topic_wake", session=turn["session"], text="steps 2", key="two", nobody=True)
    again = await _begin(stage, "topic_wake", thread=topic, text="steps 8", key="one")
    assert again["turn"] == turn["turn"]
    last = stage.say("and this", thread_id=topic)
    await stage.answered(last)
    await stage.quiet()
    cards = [each for each in stage.world.timeline.in_chat(_chat(stage)) if _is_card(stage, each)]
    assert len(cards) == 4
    woken = await _begin(stage, "topic_wake", thread=topic, text="once more", key="three")
    await stage.quiet()
    gone = next(
        each for each in stage.world.timeline.in_chat(_chat(stage)) if _is_card(stage, each) and each not in cards
    )
    stage.world.mark_recalled(gone)  # an admin has taken it away: the next one answers another message of the topic
    await _begin(stage, "topic_wake", session=woken["session"], text="and again", key="four")
    await stage.quiet()


async def wake_in_an_expired_topic(stage: Stage) -> None:
    """Nobody is woken where a month of silence has closed the topic, nor in a session that was left."""
    first = stage.say("hello")
    await stage.answered(first)
    await stage.quiet()
    topic = stage.world.message(first).thread_id
    woken = await _begin(stage, "topic_wake", thread=topic, text="still there", key="before")
    await stage.quiet()
    await stage.down()
    await stage.advance(40 * DAYS)
    await stage.up()
    await stage.until(lambda: is_tombstoned(stage))
    refused = await _begin(stage, "topic_wake", thread=topic, text="x", key="after")
    assert refused == {"refused": "topic_expired"}, refused
    left = await _begin(stage, "topic_wake", session=woken["session"], text="x", key="after")
    assert left == {"refused": "session_archived"}, left
    await stage.answered(stage.say("hello?", thread_id=topic, expect=Expect.NOTICE))


async def _begin(stage: Stage, operation: str, **arguments: Any) -> dict[str, Any]:
    """Ask the running service until it has answered."""
    while True:
        await stage.ready()
        answer = await stage.line.ask(do="operate", operation=operation, arguments=arguments)
        if answer is not None:
            return dict(answer)
        await stage.moved()


def _cards(stage: Stage, chat_id: str) -> list[Message]:
    """Main cards that answer nobody's message, oldest first."""
    said = stage.world.timeline.in_chat(chat_id)
    return [each for each in said if _is_card(stage, each) and not each.reply_to]


def _is_card(stage: Stage, message: Message) -> bool:
    states = stage.ledger.card_states(message.message_id)
    return message.by_bot and bool(states) and cards_seen.phase(states[-1].card) is not None


def _has_ended(stage: Stage, message: Message) -> bool:
    states = stage.ledger.card_states(message.message_id)
    return bool(states) and not cards_seen.is_running(states[-1].card)


def _chat(stage: Stage) -> str:
    return stage.world.private_chat("Alice")
