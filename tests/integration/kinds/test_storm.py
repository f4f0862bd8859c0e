"""Many pieces from several people at once: each is in exactly one question, in its person's order, and none is lost."""

import random
from collections import defaultdict

import pytest

from tests.integration.conftest import OpenHouse
from tests.integration.kinds.desk import PNG, kept, send

PEOPLE = ("Alice", "Bob", "张三")
SAID = """
SELECT turns.sender_user_id, json_extract(said.body, '$.text') FROM session_events AS said
JOIN turns ON turns.turn_id = said.turn_id WHERE said.kind = 'user/message' ORDER BY turns.seq
"""
LOOSE = "SELECT count(*) FROM inbox WHERE state <> 'done' OR turn IS NULL"


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_piece_is_in_exactly_one_question(open_house: OpenHouse, seed: int) -> None:
    house = await open_house(topics={"private": "chat"})
    chance = random.Random(seed)
    words: dict[str, list[str]] = defaultdict(list)
    pictures: dict[str, bytes] = {}
    for number in range(45):
        user = chance.choice(PEOPLE)
        if chance.random() < 0.6:
            pictures[f"{number:02}.png"] = PNG + bytes([number])
            send(house, f"{number:02}.png", PNG + bytes([number]), "file", user)
        else:
            words[house.world.person(user).user_id].append(f"<{number:02}>")
            house.say(f"<{number:02}>", user)
        if chance.random() < 0.3:
            house.advance(chance.random() * 2)
        await house.held("SELECT count(*) FROM inbox", number + 1)
    house.advance(20)
    await house.quiet()
    assert await house.one(LOOSE) == 0
    said: dict[str, str] = defaultdict(str)
    for user_id, text in await house.rows(SAID):
        said[user_id] += text
    for user_id, own in words.items():
        places = [said[user_id].index(word) for word in own]
        assert places == sorted(places)
    assert all("".join(said.values()).count(word) == 1 for own in words.values() for word in own)
    assert kept(house) == pictures
    for (message_id,) in await house.rows("SELECT cause_id FROM turns"):
        house.assert_answered_once(message_id)
