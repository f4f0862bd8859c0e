"""What the network and the platform do to single calls: in the end there is one answer, under one uuid."""

from typing import Any

import pytest

from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

REPLY, CREATE, UPDATE = "im.message.reply", "cardkit.card.create", "cardkit.card.update"
REACT, UNREACT = "im.reaction.create", "im.reaction.delete"


OPS = {REPLY: "reply", CREATE: "create", UPDATE: "close", REACT: "add", UNREACT: "remove"}


async def uuids_of(house: House, op: str) -> list[str]:
    """The uuids of all intents of this kind, in the order in which they were made: one for each effect."""
    return [row[0] for row in await house.rows("SELECT uuid FROM outbox WHERE op = :op ORDER BY seq", op=op)]


def uuids(house: House, kind: str) -> list[str]:
    return [call.uuid for call in house.calls(kind)]


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    """Without frames, so that every update of a card is a closing one."""
    return await open_house(cards={"streaming": False})


@pytest.mark.parametrize(
    ("kind", "after"), [(REPLY, 0), (CREATE, 0), (UPDATE, 0), (REACT, 0), (REACT, 1), (UNREACT, 0)]
)
@pytest.mark.parametrize("fault", ["drop_after", "cut"])
async def test_an_answer_that_never_came(house: House, kind: str, after: int, fault: str) -> None:
    """Field reports 4 and 5: the call took effect and nobody was told: it is made again under the same uuid and shows
    nothing twice."""
    house.fault(kind, fault, after=after)
    message_id, _ = await house.ask("hello")
    card = house.assert_answered_once(message_id)
    assert "hello" in cards_seen.answer(card)
    assert any(call.fault for call in house.calls(kind))
    if kind in (REPLY, UPDATE):
        assert len(house.calls(kind)) == 2
        assert set(uuids(house, kind)) == set(await uuids_of(house, OPS[kind]))


async def test_a_reply_that_is_answered_too_late(open_house: OpenHouse) -> None:
    """Our time-out is shorter than the platform's pause."""
    house = await open_house(feishu={"request_timeout_s": 0.3})
    house.fault(REPLY, "drop_after", seconds=2)
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    assert len(uuids(house, REPLY)) == 2
    assert len(set(uuids(house, REPLY))) == 1


async def test_a_token_that_is_rejected_is_fetched_again_once(house: House) -> None:
    """Field report 42."""
    await house.ask("first")
    house.fault(REPLY, "error", code=99991663)
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    assert len(house.calls("auth.token")) == 2
    refused, made = house.calls(REPLY)[-2:]
    assert (refused.code, made.code) == (99991663, 0)
    assert await uuids_of(house, "reply") == [call.uuid for call in house.calls(REPLY) if not call.fault]


async def test_the_reset_header_is_obeyed(house: House) -> None:
    """On every kind of call: not one comes again before the time that the platform has asked for."""
    kinds = (CREATE, REPLY, UPDATE, REACT, UNREACT)
    for kind in kinds:
        house.fault(kind, "error", code=99991400, status=429, headers={"x-ogw-ratelimit-reset": "1"})
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    for kind in kinds:
        refused, again = house.calls(kind)[:2]
        assert (refused.code, again.code) == (99991400, 0)
        assert again.at_ms - refused.at_ms >= 990
        if kind in (REPLY, UPDATE):
            assert [again.uuid] == await uuids_of(house, OPS[kind])


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "html", "status": 502, "times": 2},
        {"kind": "empty"},
        {"kind": "empty", "effect": True},
        {"kind": "status", "status": 500},
        {"kind": "drop"},
    ],
    ids=["502 html twice", "empty 200", "empty 200 after the effect", "500", "cut before"],
)
async def test_answers_that_no_feishu_wrote(house: House, fault: dict[str, Any]) -> None:
    """Field report 14: on every kind of call, each at its first."""
    kinds = (CREATE, REPLY, UPDATE, REACT, UNREACT)
    for kind in kinds:
        house.fault(kind, **fault)
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    for kind in kinds:
        assert any(call.fault for call in house.calls(kind))
    for kind in (REPLY, UPDATE):
        assert {call.uuid for call in house.calls(kind) if not call.fault} == set(await uuids_of(house, OPS[kind]))


async def test_a_platform_that_is_away_for_a_while(open_house: OpenHouse) -> None:
    """Field report 15: nobody listens while the turn ends; what is left is said when the platform is back on its
    port."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    message_id = house.say("work 1 second")
    await house.seen(lambda: house.replies(message_id) and house.ledger.reactions(message_id) == ["Typing"])
    port = int(house.emulator.url.rpartition(":")[2])
    await house.emulator.stop()
    await house.held("SELECT count(*) FROM turns WHERE state = 'ended'")
    await house.held("SELECT max(attempts) >= 1 FROM outbox WHERE op = 'close'")
    assert cards_seen.is_running(house.card(house.replies(message_id)[0].message_id))
    await house.emulator.start(port=port)
    await house.answered(message_id)
    house.assert_answered_once(message_id)
    again, _ = await house.ask("hello")
    house.assert_answered_once(again)
