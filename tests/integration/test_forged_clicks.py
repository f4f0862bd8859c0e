"""Clicks as a client might forge them: other people's turns, values that no button of ours carries."""

from typing import Any

import pytest

from tests.integration.conftest import OpenHouse

ENTERED = "SELECT count(*) FROM turns WHERE state = 'entered'"
OUT_OF_DATE, NOT_YOURS = "This button is out of date.", "Only the person who asked, or an admin, can do that."
ENDED = "This one has already ended."
JUNK: tuple[Any, ...] = (None, 5, "junk", ["stop"], {}, {"do": None}, {"do": ["stop"]}, {"do": {"a": 1}})


@pytest.mark.timeout(60)
async def test_nobody_stops_what_is_not_theirs_and_junk_is_out_of_date(open_house: OpenHouse) -> None:
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id = house.say("work 60 seconds")
    reply = await house.shown(message_id)
    await house.held(ENTERED, 1)
    turn_id = await house.one("SELECT turn_id FROM turns")

    async def press(value: Any, user: str = "Bob") -> str:
        answer = await house.world.click(user, reply.message_id, value)
        assert answer["code"] == 0
        return str(answer["toast"]["content"])

    assert await press({"do": "stop", "turn": turn_id}) == NOT_YOURS
    assert await press({"do": "continue", "turn": turn_id}) == NOT_YOURS
    junk = [*JUNK, {"do": "stop", "turn": [turn_id]}, {"do": "missed_handle", "batch": None}]
    assert {await press(value) for value in junk} == {OUT_OF_DATE}
    strange = [turn_id + "\x00", "' OR 1=1 --", "x" * 20_000]
    assert {await press({"do": "stop", "turn": one}) for one in strange} == {ENDED}
    assert await house.one(ENTERED) == 1
    assert await press({"do": "stop", "turn": turn_id}, "Alice") == "Stopping…"
    await house.answered(message_id)
