"""Without the right code_write nothing is changed and nobody is asked; the person can ask for the right by a button."""

import pytest

from channels.cards.texts import texts
from channels.emulator.messages import Message
from tests.integration import cards_seen
from tests.integration.access import gate as requests
from tests.integration.conftest import OpenHouse
from tests.integration.gate.agent import AskingAgent
from tests.integration.gate.asking import (
    ADMIN,
    ADMINS,
    SECOND,
    WORDS,
    asked,
    buttons,
    click,
    finished,
    main_card,
    permit_cards,
    press,
    title,
    with_agent,
)
from tests.integration.house import House
from tests.integration.test_launches import ended, wake

SAID = texts("en")
ASK = "ask_right"


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """张三 is an admin; nobody has been given anything."""
    house = await open_house(start=False, **ADMINS)
    with_agent(house)
    await house.start()
    return house


def answers(house: House) -> list[tuple[bool, str]]:
    assert house.agents is not None
    agent = house.agents["demo"]
    assert isinstance(agent, AskingAgent)
    return [(one.allowed, one.why) for one in agent.answers]


async def ask_for_right(house: House, message_id: str, user: str = "Alice") -> str:
    """Press the button on the card of the turn; the toast."""
    card = house.replies(message_id)[0]
    value = next(one for one in buttons(house, card) if one["do"] == ASK)
    return await click(house, card, value, user)


def request_cards(house: House, heading: str) -> list[str]:
    """The titles of the bot's cards in the admin's private chat that begin with this heading."""
    said = house.world.timeline.in_chat(house.world.private_chat(ADMIN))
    return [each.message_id for each in said if house.states(each.message_id) and title(house, each) == heading]


async def own_card(house: House, message_id: str) -> Message:
    """What the person who asked is told, below the card of the turn."""
    card = house.replies(message_id)[0].message_id
    await house.seen(lambda: house.replies(card))
    (own,) = house.replies(card)
    return own


async def test_nothing_is_changed_and_the_card_offers_to_ask_once(house: House) -> None:
    message_id = house.say("edit execute read delete")
    main = await finished(house, message_id)
    assert answers(house) == [
        (False, "no_code_write"),
        (False, "no_code_write"),
        (True, "policy"),
        (False, "no_code_write"),
    ]
    assert permit_cards(house, message_id) == []
    words = cards_seen.words(main)
    assert words.count(SAID.lacks_right) == 1
    offers = [one for one in buttons(house, house.replies(message_id)[0]) if one["do"] == ASK]
    assert len(offers) == 1


async def test_an_approval_gives_the_right_and_the_next_try_works(house: House) -> None:
    message_id = house.say("edit")
    await finished(house, message_id)
    assert await ask_for_right(house, message_id, SECOND) == WORDS.toast_not_asker
    assert await ask_for_right(house, message_id) == WORDS.toast_asked
    assert await ask_for_right(house, message_id) == WORDS.toast_asked_already
    await house.seen(lambda: request_cards(house, WORDS.right_title))
    card = house.world.message(request_cards(house, WORDS.right_title)[0])
    words = cards_seen.words(house.card(card.message_id))
    assert 'person id="ou_alice"' in words and "edit" in words
    labels = [
        part["text"]["content"] for part in cards_seen.parts(house.card(card.message_id)) if part["tag"] == "button"
    ]
    assert SAID.access_allow_day not in labels
    own = await own_card(house, message_id)
    assert title(house, own) == WORDS.asked_title
    await house.held("SELECT name FROM access_requests WHERE state = 'open'", "Alice")  # it is learned meanwhile
    assert await press(house, card, SAID.access_allow, ADMIN) == WORDS.toast_right_given.format(who="Alice")
    await house.seen(lambda: title(house, own) == WORDS.asked_approved_title)
    await house.seen(lambda: title(house, card) == SAID.access_approved_title)
    assert await ask_for_right(house, message_id) == WORDS.toast_has_right
    again = house.say("edit")
    await press(house, await asked(house, again), WORDS.allow_once)
    await finished(house, again)
    assert answers(house)[-1] == (True, "allowed")


async def test_a_denial_is_told_and_is_not_asked_again_at_once(house: House) -> None:
    message_id = house.say("edit")
    await finished(house, message_id)
    await ask_for_right(house, message_id)
    await house.seen(lambda: request_cards(house, WORDS.right_title))
    card = house.world.message(request_cards(house, WORDS.right_title)[0])
    await press(house, card, SAID.access_deny, ADMIN)
    own = await own_card(house, message_id)
    await house.seen(lambda: title(house, own) == WORDS.asked_denied_title)
    assert await ask_for_right(house, message_id) == WORDS.toast_right_cooling
    chatting, _ = await house.ask("hello")
    house.assert_answered_once(chatting)


async def test_a_request_that_nobody_decides_expires(house: House) -> None:
    message_id = house.say("edit")
    await finished(house, message_id)
    await ask_for_right(house, message_id)
    await house.seen(lambda: request_cards(house, WORDS.right_title))
    house.advance(8 * requests.DAY_S)
    own = await own_card(house, message_id)
    await house.seen(lambda: title(house, own) == WORDS.asked_expired_title)


async def test_a_right_that_was_taken_away_meanwhile_counts_at_the_press(house: House) -> None:
    await house.ask("/grant id:u_alice code_write", ADMIN)
    message_id = house.say("edit")
    card = await asked(house, message_id)
    await house.shown(house.say("/revoke id:u_alice code_write", ADMIN))
    assert await press(house, card, WORDS.allow_once) == WORDS.toast_no_code_write
    await finished(house, message_id)
    assert answers(house) == [(False, "no_code_write")]
    await house.seen(lambda: title(house, card) == WORDS.title_denied)
    assert SAID.lacks_right in cards_seen.words(main_card(house, message_id))


async def test_a_yes_of_somebody_who_was_put_out_meanwhile_does_not_count(open_house: OpenHouse) -> None:
    """Also where the tool needs no right to change code: an unnamed one may do anything."""
    house = await open_house(start=False, access={"mode": "approval", **ADMINS["access"]})
    with_agent(house)
    await house.start()
    await house.ask("/grant id:u_alice chat code_write", ADMIN)
    message_id = house.say("other")
    card = await asked(house, message_id)
    await house.shown(house.say("/revoke id:u_alice", ADMIN))
    assert await press(house, card, WORDS.allow_once) == WORDS.toast_no_code_write
    await finished(house, message_id)
    assert answers(house) == [(False, "no_code_write")]


async def test_a_turn_for_nobody_changes_nothing_and_offers_nobody_a_right(house: House) -> None:
    await house.ask("/grant id:u_alice code_write", ADMIN)
    _, reply = await house.ask("hello")
    woken = await wake(house, "edit", thread=reply.thread_id, nobody=True)
    await ended(house, woken)
    assert answers(house) == [(False, "no_code_write")]
    card = house.card(
        str((await wake(house, "edit", thread=reply.thread_id, nobody=True, key=woken["key"]))["message"])
    )
    words = cards_seen.words(card)
    assert SAID.lacks_person in words
    assert SAID.lacks_right not in words
    assert SAID.ask_right not in words


async def test_a_policy_counts_before_and_besides_the_right(open_house: OpenHouse) -> None:
    tools = {"edit": "allow", "execute": "deny", "read": "ask"}
    house = await open_house(start=False, agents={"demo": {"kind": "demo", "tools": tools}}, **ADMINS)
    with_agent(house)
    await house.start()
    message_id = house.say("edit execute")
    await finished(house, message_id)
    assert answers(house) == [(False, "no_code_write"), (False, "policy")]
    await house.ask("/grant id:u_alice code_write", ADMIN)
    message_id = house.say("edit execute read")
    card = await asked(house, message_id)
    await press(house, card, WORDS.reject_once)
    await finished(house, message_id)
    assert answers(house)[2:] == [(True, "policy"), (False, "policy"), (False, "denied")]


async def test_the_last_message_of_a_grant_still_has_its_right(open_house: OpenHouse) -> None:
    house = await open_house(start=False, access={"mode": "approval", **ADMINS["access"]})
    with_agent(house)
    await house.start()
    await house.ask("/grant id:u_alice chat code_write 1x", ADMIN)
    message_id = house.say("edit")
    await press(house, await asked(house, message_id), WORDS.allow_once)
    await finished(house, message_id)
    assert answers(house) == [(True, "allowed")]
