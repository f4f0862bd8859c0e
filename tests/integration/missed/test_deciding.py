"""The pending card: who may decide, once, whatever happens in between."""

import asyncio

import pytest

from channels.emulator import GROUP
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.missed.absence import (
    ASKED,
    HOUR_S,
    UNDRAWN,
    WORDS,
    all_read,
    answered,
    asked_about,
    became,
    button,
    pending_cards,
    press,
    title,
    write_while_away,
)

ADMINS = {"access": {"admins": ["u_zhang_san"]}}


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """Alice and Bob have talked in the group before; 张三 looks after the bot."""
    house = await open_house(**ADMINS)
    await house.ask("hello", "Alice", GROUP, mention_bot=True)
    return house


async def two_questions(house: House) -> list[str]:
    """Bob asks twice in the group while the service is away for three hours."""
    return await write_while_away(
        house,
        3 * HOUR_S,
        [
            lambda: house.say("first", "Bob", GROUP, mention_bot=True, push=False),
            lambda: house.say("second", "Bob", GROUP, mention_bot=True, push=False),
        ],
    )


async def test_the_card_names_what_it_asks_about(house: House) -> None:
    await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    words = cards_seen.words(house.card(card.message_id))
    assert words.index("\nfirst") < words.index("\nsecond")
    assert words.count('<person id="ou_bob"') == 2
    assert "<local_datetime millisecond=" in words


async def test_ignored_messages_stay_unanswered(house: House) -> None:
    written = await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    assert await press(house, card, "missed_ignore", "Bob") == WORDS.toast_missed_ignoring
    await became(house, card, WORDS.missed_ignored_title)
    await house.quiet()
    assert [house.replies(message_id) for message_id in written] == [[], []]
    verdicts = await house.rows("SELECT DISTINCT state, verdict FROM inbox WHERE origin = 'history'")
    assert verdicts == [("dropped", "ignored")]


async def test_a_stranger_decides_nothing_and_an_admin_may(house: House) -> None:
    written = await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    assert await press(house, card, "missed_handle", "Alice") == WORDS.toast_not_yours
    assert await press(house, card, "missed_ignore", "Alice") == WORDS.toast_not_yours
    assert await house.one(ASKED) == 2
    assert title(house, card) == WORDS.missed_title
    assert await press(house, card, "missed_handle", "张三") == WORDS.toast_missed_handling.format(count=2)
    for message_id in written:
        await answered(house, message_id)


async def test_two_presses_decide_once(house: House) -> None:
    written = await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    handle, ignore = button(house, card, "missed_handle"), button(house, card, "missed_ignore")
    click = house.world.click
    first, again, other = await asyncio.gather(
        click("Bob", card.message_id, handle),
        click("Bob", card.message_id, handle),
        click("张三", card.message_id, ignore),
    )
    toasts = [one["toast"]["content"] for one in (first, again, other)]
    assert toasts == [WORDS.toast_missed_handling.format(count=2)] + [WORDS.toast_missed_handled] * 2
    for message_id in written:
        await answered(house, message_id)
    await became(house, card, WORDS.missed_handled_title)
    await house.quiet()
    assert await house.one("SELECT count(*) FROM turns") == 3
    for message_id in written:
        house.assert_answered_once(message_id)


async def test_a_press_after_a_restart(house: House) -> None:
    written = await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    await house.restart()
    assert await press(house, card, "missed_handle", "Bob") == WORDS.toast_missed_handling.format(count=2)
    for message_id in written:
        await answered(house, message_id)
    await became(house, card, WORDS.missed_handled_title)
    assert len(pending_cards(house, GROUP)) == 1


async def test_a_decision_survives_and_is_shown_after_a_restart(house: House) -> None:
    """The platform takes no rewrite while the person presses; the next boot shows it."""
    await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    fault = house.fault("im.message.patch", "status", status=502, times=None)
    await press(house, card, "missed_ignore", "Bob")
    await house.seen(lambda: fault.seen)
    await house.stop()
    assert title(house, card) == WORDS.missed_title
    house.emulator.faults.clear()
    house.advance(HOUR_S)
    await house.start()
    await became(house, card, WORDS.missed_ignored_title)


async def test_more_join_the_open_card(house: House) -> None:
    await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    await write_while_away(
        house, 3 * HOUR_S, [lambda: house.say("third", "Alice", GROUP, mention_bot=True, push=False)]
    )
    again = await asked_about(house, GROUP, 3)
    assert again.message_id == card.message_id
    assert await press(house, again, "missed_handle", "Alice") == WORDS.toast_missed_handling.format(count=3)


async def test_after_the_decision_there_is_a_new_card(house: House) -> None:
    await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    await press(house, card, "missed_ignore", "Bob")
    await became(house, card, WORDS.missed_ignored_title)
    (late,) = await write_while_away(
        house, 3 * HOUR_S, [lambda: house.say("third", "Bob", GROUP, mention_bot=True, push=False)]
    )
    await house.seen(lambda: len(pending_cards(house, GROUP)) == 2)
    fresh = next(each for each in pending_cards(house, GROUP) if each.message_id != card.message_id)
    assert button(house, fresh, "missed_handle") != {"do": "missed_handle", "batch": ""}
    assert await press(house, fresh, "missed_handle", "Bob") == WORDS.toast_missed_handling.format(count=1)
    await answered(house, late)
    assert title(house, card) == WORDS.missed_ignored_title


async def test_a_late_live_delivery_is_only_acked(open_house: OpenHouse) -> None:
    """The platform tries again after six hours: by then the message stands on the card."""
    house = await open_house(platform={"redelivery_s": (5 * HOUR_S,)}, **ADMINS)
    await house.ask("hello")
    (late,) = await write_while_away(house, 3 * HOUR_S, [lambda: house.say("old")])
    card = await asked_about(house, house.world.private_chat("Alice"), 1)
    house.advance(5 * HOUR_S)
    await house.seen(lambda: 200 in house.acks(late))
    await all_read(house)
    assert house.replies(late) == []
    assert await press(house, card, "missed_handle") == WORDS.toast_missed_handling.format(count=1)
    await answered(house, late)


async def test_a_card_is_renewed_before_it_can_no_longer_be_changed(house: House) -> None:
    written = await two_questions(house)
    old = await asked_about(house, GROUP, 2)
    house.advance(13.5 * 24 * HOUR_S)
    await house.seen(lambda: len(pending_cards(house, GROUP)) == 2)
    await house.held(UNDRAWN, 0)
    fresh = next(each for each in pending_cards(house, GROUP) if each.message_id != old.message_id)
    assert button(house, fresh, "missed_handle") == button(house, old, "missed_handle")
    await press(house, fresh, "missed_handle", "Bob")
    for message_id in written:
        await answered(house, message_id)
    await became(house, fresh, WORDS.missed_handled_title)
    assert await press(house, old, "missed_handle", "Bob") == WORDS.toast_missed_handled
    await became(house, old, WORDS.missed_handled_title)


async def test_an_unknown_batch_is_said_to_be_out_of_date(house: House) -> None:
    await two_questions(house)
    card = await asked_about(house, GROUP, 2)
    shown = await house.world.click("Bob", card.message_id, {"do": "missed_handle", "batch": "batch_of_another_file"})
    assert shown["toast"]["content"] == WORDS.toast_unknown
    assert await house.one(ASKED) == 2
