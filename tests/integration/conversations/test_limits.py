"""Too many at once: a clear answer for people, silence between bots, and nobody who waits for all of another's."""

from typing import Any

import pytest

from channels.emulator.accounts import GROUP
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import read, verdict
from tests.integration.house import House

PACED = {"demo": {"kind": "demo", "pace": 1.0}}
WAITING = "SELECT count(*) FROM turns WHERE state = 'queued'"


async def test_the_queue_of_a_conversation_has_an_end(open_house: OpenHouse) -> None:
    """The running one, three that wait, and a card for the one that is too many; then there is room again."""
    house = await open_house(agents=PACED, turns={"queue_limit": 3, "drain_s": 0.0})
    _, reply = await house.ask("hello")
    running = house.say("work 60 seconds", thread_id=reply.thread_id)
    await house.held("SELECT state FROM turns WHERE cause_id = :message_id", "entered", message_id=running)
    taken = [house.say(f"question {number}", thread_id=reply.thread_id) for number in range(3)]
    await house.held(WAITING, 3)
    refused = house.say("one too many", thread_id=reply.thread_id)
    await house.shown(refused)
    assert WORDS.queue_full.format(count=3) in read(house, refused)
    assert await verdict(house, refused) == "queue_full"
    other = house.say("elsewhere")
    await house.seen(lambda: house.has_ended(other))
    await house.shown(house.say("/stop", thread_id=reply.thread_id))
    for message_id in taken:
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    again, _ = await house.ask("now?", thread_id=reply.thread_id)
    house.assert_answered_once(again)
    assert len(house.replies(refused)) == 1


async def test_a_person_with_many_conversations_does_not_hold_up_another(open_house: OpenHouse) -> None:
    house = await open_house(agents=PACED, turns={"max_running": 1, "drain_s": 0.0})
    blocking = house.say("work 60 seconds")
    await house.held("SELECT state FROM turns", "entered")
    many = [house.say(f"question {number}") for number in range(8)]
    await house.held(WAITING, 8)
    one = house.say("only one", "Bob")
    await house.held(WAITING, 9)
    await house.ask("/stop")
    for message_id in (blocking, *many, one):
        await house.answered(message_id)
    order = [row[0] for row in await house.rows("SELECT cause_id FROM turns ORDER BY entered_at, seq")]
    assert order.index(one) == 1, "Bob comes next, not ninth"
    assert [each for each in order if each in many] == many


async def test_a_card_says_how_many_come_first(open_house: OpenHouse) -> None:
    """All places at the agent are taken: it does not think yet."""
    house = await open_house(agents=PACED, turns={"max_running": 1, "drain_s": 0.0})
    blocking = house.say("work 60 seconds")
    await house.held("SELECT state FROM turns", "entered")
    waiting = [house.say(f"question {number}", "Bob") for number in range(3)]
    for message_id in waiting:
        await house.shown(message_id)
    told = [card_of(house, message_id) for message_id in waiting]
    assert [cards_seen.phase(card) for card in told] == [Phase.WAITING] * 3
    assert WORDS.queued in cards_seen.words(told[0])
    for count in (1, 2):
        assert WORDS.queued_at_agent.format(count=count) in cards_seen.words(told[count])
    house.advance(5)
    await house.ask("/stop")
    await house.answered(blocking)
    for message_id in waiting:
        await house.answered(message_id)
        house.assert_answered_once(message_id)
    shown = [cards_seen.phase(state.card) for state in house.states(house.replies(waiting[0])[0].message_id)]
    assert shown[:2] == [Phase.WAITING, Phase.THINKING]


def card_of(house: House, message_id: str) -> dict[str, Any]:
    return house.card(house.replies(message_id)[0].message_id)


class TestBots:
    """Field report 36: two bots answered each other 1 941 times in 37 minutes."""

    @pytest.fixture
    async def house(self, open_house: OpenHouse) -> House:
        house = await open_house(chat={"allow_bots": True, "bot_answers": 3, "bot_window_s": 600.0})
        house.world.add_other_bot("Robot", "robot", [GROUP])
        return house

    async def test_field_report_36_the_loop_ends(self, house: House) -> None:
        said = [house.say("hello", "Robot", GROUP, mention_bot=True)]
        await house.answered(said[0])
        thread = house.replies(said[0])[0].thread_id
        for number in range(6):
            said.append(house.say(f"answer {number}", "Robot", GROUP, thread_id=thread))
            await house.done(said[-1])
        assert [len(house.replies(each)) for each in said] == [1, 1, 1, 0, 0, 0, 0]
        assert await verdict(house, said[-1]) == "bot_loop"
        person, _ = await house.ask("and me?", "Alice", GROUP, thread_id=thread)
        house.assert_answered_once(person)
        house.advance(601)
        later, _ = await house.ask("again", "Robot", GROUP, thread_id=thread)
        house.assert_answered_once(later)

    async def test_a_bots_command_is_text(self, house: House) -> None:
        message_id, _ = await house.ask("/help", "Robot", GROUP, mention_bot=True)
        assert await verdict(house, message_id) == "start"
        assert WORDS.help_commands not in read(house, message_id)
