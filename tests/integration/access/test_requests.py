"""A stranger's message is kept, the admins are asked, the first decision wins, and what was kept is answered."""

import asyncio

import pytest

from channels.emulator import GROUP
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.access.gate import (
    ADMIN,
    APPROVAL,
    DAY_S,
    KEPT,
    OPEN,
    SECOND,
    WORDS,
    answered,
    asked,
    became,
    button,
    cards_of,
    click,
    press,
    title,
    told,
)
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

LET_IN = WORDS.toast_access_allowed.format(who="Alice")


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """Only whom 张三 or Bob lets in may talk to the bot."""
    return await open_house(**APPROVAL)


async def test_a_stranger_is_kept_told_and_answered_after_the_approval(house: House) -> None:
    message_id = house.say("is anybody there?")
    card = await asked(house)
    await told(house, message_id, WORDS.kept_title)
    assert await house.one(KEPT) == 1
    assert await house.one("SELECT count(*) FROM turns") == 0
    said = cards_seen.words(house.card(card.message_id))
    assert "is anybody there?" in said and '<person id="ou_alice"' in said
    assert await press(house, card, "access_allow") == LET_IN
    await answered(house, message_id)
    for admin in (ADMIN, SECOND):
        await became(house, cards_of(house, admin)[0], WORDS.access_approved_title)
    await told(house, message_id, WORDS.kept_approved_title)
    again, _ = await house.ask("and now?")
    house.assert_answered_once(again)


async def test_an_admin_is_no_stranger(house: House) -> None:
    message_id, _ = await house.ask("hello", ADMIN)
    house.assert_answered_once(message_id)
    assert await house.one(OPEN) == 0


async def test_kept_messages_are_answered_in_their_order(house: House) -> None:
    written = [house.say(f"question {number}") for number in range(4)]
    card = await asked(house)
    await house.held(KEPT, 4)
    assert len(cards_of(house, ADMIN)) == 1
    await press(house, card, "access_allow")
    for number, message_id in enumerate(written):
        await answered(house, message_id, told_first=number == 0)
    rows = await house.rows("SELECT cause_id FROM turns ORDER BY seq")
    assert [row[0] for row in rows] == written


async def test_a_denial_is_told_and_cools_down(house: House) -> None:
    message_id = house.say("let me in")
    card = await asked(house)
    assert await press(house, card, "access_deny") == WORDS.toast_access_denied.format(who="Alice")
    await told(house, message_id, WORDS.kept_denied_title)
    await became(house, card, WORDS.access_denied_title)
    again = house.say("please")
    await told(house, again, WORDS.denied_title)
    assert len(cards_of(house, ADMIN)) == 1
    house.advance(DAY_S + 1)
    third = house.say("today?")
    await told(house, third, WORDS.kept_title)
    assert len(await _cards(house, 2)) == 2


async def _cards(house: House, count: int) -> list[Message]:
    await asked(house, ADMIN, count)
    return [*cards_of(house, ADMIN)]


async def test_a_click_before_the_send_call_has_returned(house: House) -> None:
    """Field report 27: the request is registered before its card is sent, so a fast click is known."""
    fault = house.fault("im.message.create", "delay", seconds=2.0, effect=True, times=2)
    message_id = house.say("hello")
    card = await asked(house)
    assert await press(house, card, "access_allow") == LET_IN
    assert fault.seen
    await answered(house, message_id)
    await became(house, card, WORDS.access_approved_title)


async def test_a_restart_between_request_and_click(house: House) -> None:
    """Field report 26: nothing of it waits in memory."""
    message_id = house.say("hello")
    card = await asked(house)
    await house.restart()
    assert await press(house, card, "access_allow") == LET_IN
    await answered(house, message_id)
    await became(house, card, WORDS.access_approved_title)
    assert len(cards_of(house, ADMIN)) == 1


async def test_two_admins_press_different_buttons_at_the_same_moment(house: House) -> None:
    message_id = house.say("hello")
    mine, other = await asked(house, ADMIN), await asked(house, SECOND)
    allow, deny = button(house, mine, "access_allow"), button(house, other, "access_deny")
    first, second = await asyncio.gather(click(house, mine, allow, ADMIN), click(house, other, deny, SECOND))
    decided = await house.one("SELECT state FROM access_requests")
    if decided == "approved":
        assert (first, second) == (LET_IN, WORDS.toast_access_approved)
        await answered(house, message_id)
    else:
        told_off = WORDS.toast_access_denied.format(who="Alice")
        assert (first, second) == (WORDS.toast_access_was_denied, told_off)
        await told(house, message_id, WORDS.kept_denied_title)
    wanted = WORDS.access_approved_title if decided == "approved" else WORDS.access_denied_title
    await became(house, mine, wanted)
    await became(house, other, wanted)
    actions = await house.rows("SELECT action FROM audit WHERE action LIKE 'request.%'")
    assert actions == [(f"request.{decided}",)]


async def test_a_double_click_decides_once(house: House) -> None:
    """Field report 29."""
    message_id = house.say("hello")
    card = await asked(house)
    value = button(house, card, "access_allow")
    toasts = await asyncio.gather(click(house, card, value), click(house, card, value))
    assert sorted(toasts) == sorted([LET_IN, WORDS.toast_access_approved])
    await answered(house, message_id)
    assert await house.one("SELECT count(*) FROM turns") == 1
    assert await house.one("SELECT count(*) FROM audit WHERE action = 'request.approved'") == 1


async def test_thirty_strangers_at_once(house: House) -> None:
    people = [house.world.add_person(f"Guest {number}") for number in range(30)]
    written = [house.say("hello", person.name) for person in people]
    await asked(house, ADMIN, 30)
    await asked(house, SECOND, 30)
    assert await house.one(OPEN) == 30
    await asyncio.gather(
        *(press(house, card, "access_allow", (ADMIN, SECOND)[number % 2]) for number, card in enumerate(_mixed(house)))
    )
    for message_id in written:
        await answered(house, message_id)
    assert await house.one("SELECT count(*) FROM turns") == 30
    for admin in (ADMIN, SECOND):
        for card in cards_of(house, admin):
            await became(house, card, WORDS.access_approved_title)


def _mixed(house: House) -> list[Message]:
    """Each request once: the even ones on the first admin's cards, the odd ones on the second's."""
    by_request = {button(house, card, "access_allow")["request"]: card for card in cards_of(house, SECOND)}
    mine = cards_of(house, ADMIN)
    return [
        card if number % 2 == 0 else by_request[button(house, card, "access_allow")["request"]]
        for number, card in enumerate(mine)
    ]


async def test_the_applicant_leaves(house: House) -> None:
    """The answer reaches nobody; the decision stands, and nothing hangs."""
    message_id = house.say("hello")
    card = await asked(house)
    await told(house, message_id, WORDS.kept_title)
    house.world.person("Alice").available = False
    assert await press(house, card, "access_allow") == LET_IN
    await became(house, card, WORDS.access_approved_title)
    await house.held("SELECT count(*) FROM turns WHERE state = 'ended'", 1)
    await house.quiet()
    assert len(house.replies(message_id)) == 1


async def test_the_applicant_takes_the_message_back(house: House) -> None:
    message_id = house.say("hello")
    card = await asked(house)
    value = button(house, card, "access_allow")
    house.world.recall("Alice", message_id)
    await became(house, card, WORDS.access_withdrawn_title)
    assert await click(house, card, value) == WORDS.toast_access_withdrawn
    assert await house.one("SELECT count(*) FROM turns") == 0


async def test_an_undecided_request_expires_and_says_so(house: House) -> None:
    message_id = house.say("hello")
    card = await asked(house)
    value = button(house, card, "access_allow")
    house.advance(7 * DAY_S + 1)
    await became(house, card, WORDS.access_expired_title)
    await told(house, message_id, WORDS.kept_expired_title)
    assert await click(house, card, value) == WORDS.toast_access_expired
    assert await house.one("SELECT state || verdict FROM inbox") == "refusedaccess_expired"
    again = house.say("hello again")
    await asked(house, ADMIN, 2)
    await told(house, again, WORDS.kept_title)


async def test_a_card_that_is_older_than_fourteen_days_explains_itself(house: House) -> None:
    """Feishu lets nobody change it any more: the toast says what became of the request."""
    house.say("hello")
    card = await asked(house)
    value = button(house, card, "access_allow")
    await house.stop()
    house.advance(15 * DAY_S)
    await house.start()
    await house.held(OPEN, 0)
    assert await click(house, card, value) == WORDS.toast_access_expired
    await house.quiet()
    assert await house.one("SELECT count(*) FROM turns") == 0
    assert title(house, card) == WORDS.access_title


async def test_who_is_no_admin_gets_a_toast_only(house: House) -> None:
    message_id = house.say("hello")
    card = await asked(house)
    house.world.add_person("Mallory")
    for user in ("Alice", "Mallory"):
        assert await press(house, card, "access_allow", user) == WORDS.toast_access_not_admin
        assert await press(house, card, "access_switch", user, switch="admin") == WORDS.toast_access_not_admin
    assert await house.one(OPEN) == 1
    assert await house.one("SELECT count(*) FROM access_users") == 0
    assert title(house, card) == WORDS.access_title
    assert len(house.replies(message_id)) == 1


async def test_an_admin_who_cannot_be_reached_does_not_block_the_others(house: House) -> None:
    house.world.person(SECOND).available = False
    message_id = house.say("hello")
    card = await asked(house)
    assert await press(house, card, "access_allow") == LET_IN
    await answered(house, message_id)
    await became(house, card, WORDS.access_approved_title)
    assert cards_of(house, SECOND) == []


async def test_switches_are_set_before_and_after_the_decision(house: House) -> None:
    message_id = house.say("hello")
    mine, other = await asked(house, ADMIN), await asked(house, SECOND)
    assert await press(house, mine, "access_switch", switch="code_write", to="on") == WORDS.toast_access_switched
    await house.seen(lambda: "✓ change code" in str(house.card(other.message_id)))
    await press(house, other, "access_allow", SECOND)
    await answered(house, message_id)
    assert await house.one("SELECT chat + code_write FROM access_users WHERE user_id = 'u_alice'") == 2
    await became(house, mine, WORDS.access_approved_title)
    await press(house, mine, "access_switch", switch="code_write", to="off")
    assert await house.one("SELECT chat - code_write FROM access_users WHERE user_id = 'u_alice'") == 1


async def test_a_day_is_over_after_a_day(house: House) -> None:
    house.say("hello")
    card = await asked(house)
    await press(house, card, "access_allow_day")
    await became(house, card, WORDS.access_approved_title)
    await house.quiet()
    house.advance(DAY_S + 1)
    late = house.say("still there?")
    await told(house, late, WORDS.kept_title)
    await asked(house, ADMIN, 2)


async def test_a_click_in_a_private_chat_counts_for_a_group_and_the_reverse(open_house: OpenHouse) -> None:
    """Field report 28: who presses is asked for, never the rule of the chat that the card stands in."""
    house = await open_house(access=APPROVAL["access"], chat={"dm": "off"})
    message_id = house.say("hello", "Alice", GROUP, mention_bot=True)
    card = await asked(house)
    assert card.chat_id == house.world.private_chat(ADMIN)
    assert await press(house, card, "access_allow", "Alice") == WORDS.toast_access_not_admin
    assert await press(house, card, "access_allow") == LET_IN
    await answered(house, message_id)


async def test_what_a_stranger_says_to_others_in_a_group_asks_nobody(house: House) -> None:
    message_id = house.say("lunch?", "Alice", GROUP)
    await house.done(message_id)
    assert await house.one("SELECT verdict FROM inbox") == "not_mentioned"
    assert await house.one(OPEN) == 0
