"""Killed in mid-answer: what the next boot makes of the turn, seen from the chat."""

import sqlite3
from typing import Any

import pytest

from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.cards_seen import WORDS
from tests.integration.child import KillPoint
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.house import House, settings_of
from tests.integration.test_lanes import text_of
from tests.integration.test_restarts import SLOW, assert_interrupted

DAY_S = 24 * 3600.0
REPLY = "im.message.reply"
CHAT = {"private": "chat", "group": "topic"}
OUTCOMES = "SELECT group_concat(outcome, ' ') FROM (SELECT outcome FROM turns ORDER BY seq)"


def buttons(house: House, message_id: str) -> list[str]:
    """What the card of the one answer offers."""
    (reply,) = house.replies(message_id)
    return [
        behaviour["value"]["do"]
        for part in cards_seen.parts(house.card(reply.message_id))
        for behaviour in part.get("behaviors", ())
        if "do" in behaviour.get("value", {})
    ]


def cards(house: House, message_id: str) -> list[dict[str, Any]]:
    return [house.card(reply.message_id) for reply in house.replies(message_id)]


async def start_child(house: House, *kill: KillPoint) -> Child:
    return await Child.start(house.folder, settings_of(house.emulator.url, house.folder, **house.sections), *kill)


async def begun(house: House, message_id: str) -> None:
    """Wait until a person has read something of the answer."""
    await house.seen(lambda: any(len(cards_seen.answer(card)) > 20 for card in cards(house, message_id)))


async def test_a_button_is_offered_where_the_conversation_goes_on(open_house: OpenHouse) -> None:
    house = await open_house(start=False, agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
    child = await start_child(house)
    message_id = house.say("slow")
    await begun(house, message_id)
    await child.kill()
    await house.start()
    await house.done(message_id)
    assert_interrupted(house, message_id)
    assert buttons(house, message_id) == ["continue"]


async def test_route_gone_is_interrupted_without_a_button(open_house: OpenHouse) -> None:
    house = await open_house(start=False, agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
    child = await start_child(house)
    message_id = house.say("slow")
    await begun(house, message_id)
    await child.kill()
    with sqlite3.connect(house.file) as file:
        assert file.execute("DELETE FROM routes").rowcount == 1
    file.close()
    await house.start()
    await house.done(message_id)
    assert_interrupted(house, message_id)
    assert buttons(house, message_id) == []
    assert WORDS.interrupted_do in cards_seen.words(cards(house, message_id)[0])


async def test_session_changed_is_interrupted_without_a_button(open_house: OpenHouse) -> None:
    """While the answer ran, its person began a new session in the same chat."""
    house = await open_house(start=False, agents=SLOW, cards={"frame_gaps_ms": [0, 100]}, topics=CHAT)
    child = await start_child(house)
    message_id = house.say("slow")
    await begun(house, message_id)
    command = house.say("/new")
    await house.shown(command)
    await child.kill()
    assert [cards_seen.phase(card) for card in cards(house, message_id)] == [Phase.REPLYING]
    await house.start()
    await house.done(message_id)
    assert_interrupted(house, message_id)
    assert buttons(house, message_id) == []
    fresh, _ = await house.ask("hello")
    house.assert_answered_once(fresh)
    assert await house.one("SELECT count(*) FROM sessions") == 2


@pytest.mark.timeout(90)
async def test_a_snapshot_older_than_a_topic_and_a_card_goes_silently(open_house: OpenHouse) -> None:
    """After max(route_ttl, 14 days) nothing of it can be shown any more: no card and no reaction is touched."""
    house = await open_house(start=False, agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
    child = await start_child(house)
    message_id = house.say("slow")
    await begun(house, message_id)
    await child.kill()
    (reply,) = house.replies(message_id)
    shown = len(house.states(reply.message_id))
    house.advance(30.5 * DAY_S)
    calls = len(house.calls())
    await house.start()
    await house.held(OUTCOMES, "interrupted")
    await house.held("SELECT count(*) FROM inflight", 0)
    await house.ask("hello", "Bob")
    assert len(house.states(reply.message_id)) == shown
    assert house.ledger.reactions(message_id) == ["Typing"]
    about = [call for call in house.calls()[calls:] if message_id in call.path or reply.message_id in call.path]
    assert [call.kind for call in about if call.effect] == []
    assert await house.one("SELECT count(*) FROM outbox WHERE state = 'pending'") == 0


async def test_a_younger_snapshot_is_shown(open_house: OpenHouse) -> None:
    """13 days: Feishu still takes the last update."""
    house = await open_house(start=False, agents=SLOW, cards={"frame_gaps_ms": [0, 100]})
    child = await start_child(house)
    message_id = house.say("slow")
    await begun(house, message_id)
    await child.kill()
    house.advance(13 * DAY_S)
    await house.start()
    await house.done(message_id)
    assert_interrupted(house, message_id)


async def test_an_answer_that_became_text_is_said_once_as_text(open_house: OpenHouse) -> None:
    """Its card was refused, so nothing of it was to be seen; the kill came before its end."""
    house = await open_house(start=False, agents=SLOW)
    house.fault(REPLY, "error", code=230099)
    child = await start_child(
        house, KillPoint("UPDATE inflight_cards SET mode"), KillPoint("UPDATE inflight SET last", 2)
    )
    message_id = house.say("slow")
    await child.died()
    assert house.replies(message_id) == []
    await house.start()
    await house.done(message_id)
    (said,) = house.replies(message_id)
    assert WORDS.interrupted_note in text_of(said)
    saved = await house.one("SELECT json_extract(body, '$.text') FROM session_events WHERE kind = 'assistant/message'")
    assert saved
    assert text_of(said).startswith(saved[:20])
    assert house.ledger.reactions(message_id) == []
