"""An agent asks, a person decides on a card, the agent hears it: and whatever comes between."""

import asyncio

import pytest

from channels.cards.texts import texts
from channels.emulator import GROUP
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.child import KillPoint
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.gate.agent import AskingAgent
from tests.integration.gate.asking import (
    ADMIN,
    ADMINS,
    PENDING,
    SECOND,
    WORDS,
    asked,
    became,
    buttons,
    click,
    finished,
    labels,
    main_card,
    permit_cards,
    press,
    said,
    title,
    with_agent,
)
from tests.integration.house import House, settings_of

UNSETTLED = "SELECT count(*) FROM outbox WHERE state = 'pending'"
GRANT = "/grant id:u_alice code_write"


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """张三 is an admin, Alice may have code changed, Bob may not."""
    house = await open_house(start=False, **ADMINS)
    with_agent(house)
    await house.start()
    await house.ask(GRANT, ADMIN)
    return house


def agent_of(house: House) -> AskingAgent:
    assert house.agents is not None
    agent = house.agents["demo"]
    assert isinstance(agent, AskingAgent)
    return agent


async def test_a_press_answers_the_agent(house: House) -> None:
    message_id = house.say("edit")
    card = await asked(house, message_id)
    assert title(house, card) == WORDS.title_pending.format(agent="demo")
    words = said(house, card)
    assert "edit notes.md" in words and "```diff" in words and "+new" in words
    assert labels(house, card) == [WORDS.allow_once, WORDS.allow_always, WORDS.reject_once]
    assert all(set(value) == {"do", "token", "option"} for value in buttons(house, card))
    await house.seen(lambda: cards_seen.phase(main_card(house, message_id)) is Phase.ASKING)
    assert await press(house, card, WORDS.allow_once) == WORDS.toast_allowed
    main = await finished(house, message_id)
    assert cards_seen.phase(main) is Phase.DONE
    assert "edit: allowed" in cards_seen.answer(main)
    assert agent_of(house).answers[0].option_id == "yes-1"
    await became(house, card, WORDS.title_allowed)
    assert labels(house, card) == []
    assert 'person id="ou_alice"' in said(house, card)


async def test_no_is_heard_and_shown_on_both_cards(house: House) -> None:
    message_id = house.say("execute")
    card = await asked(house, message_id)
    assert await press(house, card, WORDS.reject_once) == WORDS.toast_denied
    main = await finished(house, message_id)
    assert agent_of(house).answers[0].allowed is False
    assert agent_of(house).answers[0].option_id == "no-1"
    assert "⊘ make test" in cards_seen.words(main)
    await became(house, card, WORDS.title_denied)


async def test_always_is_the_agents_own_option(house: House) -> None:
    message_id = house.say("edit")
    card = await asked(house, message_id)
    await press(house, card, WORDS.allow_always)
    await finished(house, message_id)
    assert agent_of(house).answers[0].option_id == "yes-2"
    await became(house, card, WORDS.title_allowed)
    assert WORDS.did_allow_always in said(house, card)


async def test_an_agent_without_options_gets_yes_or_no(house: House) -> None:
    message_id = house.say("bare bare")
    first = await asked(house, message_id)
    assert labels(house, first) == [WORDS.allow_once, WORDS.reject_once]
    await press(house, first, WORDS.allow_once)
    second = await asked(house, message_id, 2)
    await press(house, second, WORDS.reject_once)
    await finished(house, message_id)
    assert [(one.allowed, one.option_id) for one in agent_of(house).answers] == [(True, ""), (False, "")]


async def test_what_is_allowed_by_the_policy_asks_nobody(house: House) -> None:
    message_id = house.say("read fetch")
    await finished(house, message_id)
    assert [one.why for one in agent_of(house).answers] == ["policy", "policy"]
    assert permit_cards(house, message_id) == []


async def test_two_people_press_at_once_and_one_of_them_decides(house: House) -> None:
    message_id = house.say("edit", chat_id=GROUP, mention_bot=True)
    card = await asked(house, message_id)
    yes, no = buttons(house, card)
    toasts = await asyncio.gather(click(house, card, yes), click(house, card, no, ADMIN), click(house, card, yes))
    await finished(house, message_id)
    assert len(agent_of(house).answers) == 1
    allowed = agent_of(house).answers[0].allowed
    first, after = (
        (WORDS.toast_allowed, WORDS.toast_was_allowed) if allowed else (WORDS.toast_denied, WORDS.toast_was_denied)
    )
    assert sorted(toasts) == sorted([first, after, after])


async def test_in_a_group_always_is_not_offered_for_what_changes_something(house: House) -> None:
    message_id = house.say("edit other", chat_id=GROUP, mention_bot=True)
    card = await asked(house, message_id)
    assert labels(house, card) == [WORDS.allow_once, WORDS.reject_once]
    await press(house, card, WORDS.allow_once)
    card = await asked(house, message_id, 2)
    assert labels(house, card) == [WORDS.allow_once, WORDS.allow_always, WORDS.reject_once]
    await press(house, card, WORDS.reject_once)
    await finished(house, message_id)


async def test_a_stranger_decides_nothing_and_an_admin_may(house: House) -> None:
    message_id = house.say("edit", chat_id=GROUP, mention_bot=True)
    card = await asked(house, message_id)
    assert await press(house, card, WORDS.allow_once, SECOND) == WORDS.toast_not_yours
    assert await house.one(PENDING) == 1
    assert agent_of(house).answers == []
    assert await press(house, card, WORDS.allow_once, ADMIN) == WORDS.toast_allowed
    await finished(house, message_id)
    assert agent_of(house).answers[0].allowed


async def test_nobodys_answer_is_a_no(house: House) -> None:
    message_id = house.say("edit")
    card = await asked(house, message_id)
    value = buttons(house, card)[0]
    house.advance(301)
    await finished(house, message_id)
    assert agent_of(house).answers[0].why == "timeout"
    await became(house, card, WORDS.title_expired)
    assert buttons(house, card) == []
    assert await click(house, card, value) == WORDS.toast_expired


async def test_a_late_press_comes_too_late_even_before_the_loop_has_looked(house: House) -> None:
    message_id = house.say("edit")
    card = await asked(house, message_id)
    value = buttons(house, card)[0]
    house.clock.advance(301)  # nobody is woken
    assert await click(house, card, value) == WORDS.toast_expired
    await finished(house, message_id)
    assert agent_of(house).answers[0].why == "timeout"


async def test_a_stop_ends_the_question(house: House) -> None:
    message_id = house.say("edit")
    card = await asked(house, message_id)
    value = buttons(house, card)[0]
    await house.seen(lambda: cards_seen.stop_value(main_card(house, message_id)))
    stop = cards_seen.stop_value(main_card(house, message_id))
    assert stop is not None
    main = next(one for one in house.replies(message_id) if one.message_id != card.message_id)
    await click(house, main, stop)
    await finished(house, message_id)
    assert cards_seen.phase(main_card(house, message_id)) is Phase.STOPPED
    await became(house, card, WORDS.title_ended)
    assert buttons(house, card) == []
    assert await click(house, card, value) == WORDS.toast_turn


async def test_an_agent_that_only_waits_for_its_answer_hears_of_the_stop(house: House) -> None:
    agent = agent_of(house)
    agent.ignores_stop = True
    message_id = house.say("edit")
    card = await asked(house, message_id)
    main = next(one for one in house.replies(message_id) if one.message_id != card.message_id)
    stop = cards_seen.stop_value(main_card(house, message_id))
    assert stop is not None
    await click(house, main, stop)
    await finished(house, message_id)
    assert [one.why for one in agent.answers] == ["ended"]
    assert cards_seen.phase(main_card(house, message_id)) is Phase.STOPPED


async def test_a_card_that_was_taken_back_is_a_no_in_time(house: House) -> None:
    """Feishu tells nobody of it: the agent waits as long as for somebody who does not answer."""
    message_id = house.say("edit")
    card = await asked(house, message_id)
    house.world.mark_recalled(house.world.message(card.message_id))
    house.advance(301)
    main = await finished(house, message_id)
    assert [one.why for one in agent_of(house).answers] == ["timeout"]
    assert "edit: timeout" in cards_seen.answer(main)
    assert await house.one(PENDING) == 0
    await house.held(UNSETTLED, 0)


@pytest.mark.parametrize("before", [True, False])
async def test_a_bot_that_is_put_out_of_the_group_ends_with_its_question(house: House, before: bool) -> None:
    """Before the card of the question is there, or while it waits for its press."""
    message_id = house.say("edit", chat_id=GROUP, mention_bot=True)
    if not before:
        await asked(house, message_id)
    house.world.remove_bot(GROUP)
    await house.held(PENDING, 1)
    house.advance(301)
    await house.held("SELECT state FROM turns WHERE cause_id = :m", "ended", m=message_id)
    assert [one.why for one in agent_of(house).answers] == ["timeout"]
    assert await house.one(PENDING) == 0
    await house.held(UNSETTLED, 0)
    await house.held("SELECT count(*) FROM inflight", 0)
    chatting, _ = await house.ask("hello")  # elsewhere all goes on
    house.assert_answered_once(chatting)


async def test_two_presses_of_one_person_at_once_count_once(house: House) -> None:
    message_id = house.say("edit")
    card = await asked(house, message_id)
    yes, _, no = buttons(house, card)
    toasts = await asyncio.gather(*(click(house, card, value) for value in (yes, no, yes)))
    await finished(house, message_id)
    assert len(agent_of(house).answers) == 1
    assert sorted(toasts) in (
        sorted([WORDS.toast_allowed, *[WORDS.toast_was_allowed] * 2]),
        sorted([WORDS.toast_denied, *[WORDS.toast_was_denied] * 2]),
    )


async def test_after_a_restart_the_card_says_why_it_is_void(house: House) -> None:
    await house.stop()
    child = await Child.start(
        house.folder, settings_of(house.emulator.url, house.folder, **house.sections), asking=True
    )
    message_id = house.say("edit")
    card = await asked(house, message_id)
    value = buttons(house, card)[0]
    await child.kill()
    await house.start()
    assert await click(house, card, value) == WORDS.toast_restart
    await became(house, card, WORDS.title_ended)
    assert WORDS.said_restart in said(house, card)
    assert buttons(house, card) == []
    main = await finished(house, message_id)
    assert cards_seen.phase(main) is Phase.INTERRUPTED
    assert "edit notes.md" in cards_seen.words(main)
    assert texts("en").interrupted_tools.split("{")[0] not in cards_seen.words(main), "nothing had been allowed"
    assert agent_of(house).answers == []


async def test_what_was_allowed_before_a_restart_may_have_been_done(house: House) -> None:
    await house.stop()
    decided = (KillPoint("UPDATE permission_requests SET state = :state"), KillPoint("COMMITTED"))
    child = await Child.start(
        house.folder, settings_of(house.emulator.url, house.folder, **house.sections), *decided, asking=True
    )
    message_id = house.say("edit")
    card = await asked(house, message_id)
    pressing = asyncio.create_task(press(house, card, WORDS.allow_once))
    await child.died()
    await house.start()
    main = await finished(house, message_id)
    assert texts("en").interrupted_tools.format(things="edit notes.md") in cards_seen.words(main)
    await pressing
