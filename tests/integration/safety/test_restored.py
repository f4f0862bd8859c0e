"""A backup is put back: nothing is answered twice, and everything without an answer is asked about."""

import asyncio
from pathlib import Path

import pytest

from channels.cli.control_client import call_service
from channels.emulator.messages import Message
from channels.rules.turn import Phase
from channels.store.copies import mark_copy
from tests.integration import cards_seen
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.house import House, settings_of
from tests.integration.missed.absence import answered, asked_about, pending_cards, press
from tests.integration.safety.putting_back import (
    LEFT,
    OPEN,
    TURNS,
    WAYS,
    PutBack,
    compared,
    copy_over,
    keep_copy,
    redeliver,
)

HOUR_S = 3600.0
SLOW = {"demo": {"kind": "demo", "pace": 1.0}}


def ways() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("put_back", WAYS.values(), ids=WAYS.keys())


async def put_back_an_hour_later(house: House, put_back: PutBack, copy: Path) -> None:
    house.advance(HOUR_S)
    await house.stop()
    put_back(house, copy)


def assert_answers(house: House, *message_ids: str) -> None:
    """Each has exactly one reply."""
    counts = {message_id: len(house.replies(message_id)) for message_id in message_ids}
    assert counts == dict.fromkeys(message_ids, 1)


class TestAnHourOld:
    @ways()
    async def test_what_was_answered_stays_and_the_rest_is_asked_about(self, house: House, put_back: PutBack) -> None:
        before, _ = await house.ask("before the backup")
        copy = await keep_copy(house)
        after, _ = await house.ask("after the backup")
        other, _ = await house.ask("from somebody else", user="Bob")
        await house.stop()
        away = house.say("while nobody was there")
        house.advance(HOUR_S)
        put_back(house, copy)
        await house.start()
        card = await asked_about(house, house.world.private_chat("Alice"), 1)
        await compared(house)
        assert "while nobody was there" in cards_seen.words(house.card(card.message_id))
        assert pending_cards(house, house.world.private_chat("Bob")) == []
        assert_answers(house, before, after, other)
        assert house.replies(away) == []
        await press(house, card, "missed_handle")
        await answered(house, away)
        fresh, _ = await house.ask("afterwards")
        assert_answers(house, before, after, other, away, fresh)

    @ways()
    async def test_topics_of_a_group(self, house: House, put_back: PutBack) -> None:
        group = house.world.add_chat("Team", ["Alice", "Bob"]).chat_id
        first, reply = await house.ask("first", chat_id=group, mention_bot=True)
        copy = await keep_copy(house)
        thread = reply.thread_id
        second, _ = await house.ask("second", chat_id=group, thread_id=thread)
        third, _ = await house.ask("third", user="Bob", chat_id=group, thread_id=thread)
        new, new_reply = await house.ask("a topic that is new", chat_id=group, mention_bot=True)
        follow, _ = await house.ask("its second message", chat_id=group, thread_id=new_reply.thread_id)
        await house.stop()
        lost = house.say("in the old topic", chat_id=group, thread_id=thread)
        lost_new = house.say("in the new topic", chat_id=group, thread_id=new_reply.thread_id)
        house.say("not to the bot", chat_id=group)
        house.advance(HOUR_S)
        put_back(house, copy)
        await house.start()
        card = await asked_about(house, group, 2)
        await compared(house)
        assert_answers(house, first, second, third, new, follow)
        await press(house, card, "missed_handle")
        await answered(house, lost)
        await answered(house, lost_new)
        assert_answers(house, first, second, third, new, follow, lost, lost_new)

    async def test_it_is_said_in_status_and_only_while_it_lasts(self, house: House) -> None:
        await house.ask("before")
        copy = await keep_copy(house)
        await house.ask("after")
        await put_back_an_hour_later(house, copy_over, copy)
        listing = house.fault("im.message.list", "status", status=502, times=None)
        service = await house.start()
        await house.held(OPEN, 1)
        status = await service.figures.status()
        assert status["restored"]["in_quarantine"] is True
        assert "older than the one that ran here last" in status["restored"]["why"]
        listing.times = 0
        await compared(house)
        assert (await service.figures.status())["restored"]["in_quarantine"] is False

    async def test_the_owner_epoch_leaps_over_everything_that_came_after(self, house: House) -> None:
        copy = await keep_copy(house)
        for _ in range(3):
            await house.restart()
        await house.stop()
        copy_over(house, copy)
        await house.start()
        assert await house.one("SELECT max(epoch) FROM owners") > 1000
        await compared(house)
        await house.restart()
        assert await house.one(LEFT) == 1
        assert await house.one("SELECT count(*) FROM owners WHERE epoch > 1000") == 2


class TestRedeliveries:
    @ways()
    async def test_from_before_the_backup_and_after_it(self, house: House, put_back: PutBack) -> None:
        before, _ = await house.ask("before the backup")
        copy = await keep_copy(house)
        after, _ = await house.ask("after the backup", user="Bob")
        await put_back_an_hour_later(house, put_back, copy)
        await house.start()
        await compared(house)
        for message_id in (before, after):
            redeliver(house, message_id)
        await house.seen(lambda: house.acks(after)[-1:] == [200] and house.acks(before)[-1:] == [200])
        await house.held("SELECT state FROM inbox WHERE message_id = :id", "done", id=after)
        assert_answers(house, before, after)
        assert await house.one(TURNS) == 1

    async def test_long_after_quarantine_was_left(self, open_house: OpenHouse) -> None:
        """Nobody reads gaps here, so only Feishu itself brings the old message, as late as it likes."""
        house = await open_house(missed={"enabled": False})
        copy = await keep_copy(house)
        answered_id, _ = await house.ask("answered after the backup", user="Bob")
        await house.stop()
        old = house.say("written before the file was put back", push=False)
        house.advance(HOUR_S)
        copy_over(house, copy)
        await house.start()
        await compared(house)
        house.advance(5 * HOUR_S)
        redeliver(house, old)
        redeliver(house, answered_id)
        await asked_about(house, house.world.private_chat("Alice"), 1)
        await house.held("SELECT state FROM inbox WHERE message_id = :id", "done", id=answered_id)
        assert house.replies(old) == []
        assert_answers(house, answered_id)


class TestTurnsUnderWay:
    async def test_one_that_came_to_its_end_after_the_backup(self, open_house: OpenHouse) -> None:
        house = await open_house(agents=SLOW)
        message_id = house.say("work 1 seconds")
        await house.held("SELECT count(*) FROM turns WHERE state = 'entered'", 1)
        copy = await keep_copy(house)
        await house.answered(message_id)
        shown = house.states(house.replies(message_id)[0].message_id)[-1].text
        await put_back_an_hour_later(house, copy_over, copy)
        await house.start()
        await compared(house)
        await house.quiet()
        assert house.states(house.replies(message_id)[0].message_id)[-1].text == shown
        house.assert_answered_once(message_id)
        assert await house.one("SELECT outcome FROM turns") == "completed"
        follow, _ = await house.ask("and then", thread_id=house.replies(message_id)[0].thread_id)
        assert await house.one("SELECT count(DISTINCT session_id) FROM turns") == 1
        house.assert_answered_once(follow)

    async def test_one_that_was_cut_off_keeps_its_card_and_offers_to_go_on(self, open_house: OpenHouse) -> None:
        """The backup is from before its card was made: the card is found in history and taken over."""
        house = await open_house(start=False, agents=SLOW)
        creating = house.fault("cardkit.card.create", "status", status=502, times=None)
        child = await Child.start(house.folder, settings_of(house.emulator.url, house.folder, **house.sections))
        try:
            message_id = house.say("work 600 seconds")
            await house.seen(lambda: house.calls("cardkit.card.create"))
            copy = house.folder / "kept.db"
            await asyncio.to_thread(call_service, house.settings.control_socket, "backup", {"target": str(copy)})
            mark_copy(copy, 0)  # as `channels backup` does: the anchor is older still, so it could not tell
            creating.times = 0
            reply = await house.shown(message_id)
            await house.seen(lambda: "Typing" in house.ledger.reactions(message_id))
        finally:
            await child.kill()
        house.advance(HOUR_S)
        copy_over(house, copy)
        await house.start()
        await house.seen(lambda: house.has_ended(message_id))
        await compared(house)
        assert [each.message_id for each in house.replies(message_id)] == [reply.message_id]
        assert cards_seen.phase(house.card(reply.message_id)) is Phase.INTERRUPTED
        await house.seen(lambda: house.ledger.reactions(message_id) == [])
        await house.quiet()
        await press_continue(house, reply)
        await house.seen(lambda: house.ledger.reactions(message_id) == ["Typing"])


async def press_continue(house: House, card: Message) -> None:
    (value,) = [
        behaviour["value"]
        for part in cards_seen.parts(house.card(card.message_id))
        for behaviour in part.get("behaviors", ())
        if behaviour.get("value", {}).get("do") == "continue"
    ]
    await house.world.click("Alice", card.message_id, value)
