"""Listings that misbehave, rights that are missing, and a service that dies while it reads."""

from typing import Any

import pytest

from channels.emulator import GROUP
from channels.emulator.faults import Fault
from channels.service.missed import SCOPE_WORDS
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.missed.absence import (
    HOUR_S,
    MINUTE_S,
    OPEN_GAPS,
    all_read,
    answered,
    asked_about,
    turns_of,
    write_while_away,
)
from tests.integration.taps import Failing

LIST = "im.message.list"


async def status(house: House) -> dict[str, Any]:
    assert house.service is not None
    missed: dict[str, Any] = (await house.service.figures.status())["missed"]
    return missed


def many(house: House, count: int) -> list[str]:
    """So many messages of Alice that only history has, a second apart."""
    written = []
    for number in range(count):
        house.advance(1.0)
        written.append(house.say(f"question {number}", push=False))
    return written


@pytest.mark.timeout(120)
async def test_more_than_a_page(open_house: OpenHouse) -> None:
    house = await open_house(turns={"max_running": 64})
    await house.ask("hello")
    await house.stop()
    written = many(house, 120)
    await house.start()
    await house.seen(lambda: all(house.has_ended(message_id) for message_id in written), 60)
    await house.quiet(60)
    for message_id in written:
        house.assert_answered_once(message_id)
    assert await turns_of(house, written) == written
    assert len(house.calls(LIST)) >= 3


async def test_a_death_in_the_middle_of_paging(open_house: OpenHouse) -> None:
    """The first page is in, the second was never asked for: the next boot goes on there."""
    house = await open_house(turns={"max_running": 64})
    await house.ask("hello")
    await house.stop()
    written = many(house, 60)
    house.advance(2 * HOUR_S)
    late = many(house, 3)
    fault = house.fault(LIST, "status", status=500, after=1, times=None)
    await house.start()
    await house.held("SELECT max(read_to_ms) > min(read_to_ms) OR count(*) = 1 FROM missed_containers", 1)
    await house.held("SELECT count(*) >= 40 FROM inbox WHERE origin = 'history'", 1)
    await house.seen(lambda: fault.seen >= 2)
    read_to = await house.one("SELECT max(read_to_ms) FROM missed_containers WHERE state = 'open'")
    await kill(house)
    house.emulator.faults.clear()
    calls = len(house.calls(LIST))
    await house.start()
    await house.held(OPEN_GAPS, 0)
    assert await house.one("SELECT count(*) FROM inbox WHERE origin = 'history'") == 63
    assert read_to > 0
    assert len(house.calls(LIST)) > calls
    for message_id in late:
        await answered(house, message_id)
    await asked_about(house, house.world.private_chat("Alice"), len(written))


async def kill(house: House) -> None:
    """End the service so that nothing of a clean stop is written."""
    failing = Failing("UPDATE meta SET last_alive_at", lambda: RuntimeError("dead"))
    house.tap.listeners.append(failing)
    assert house.service is not None
    before = await house.one("SELECT last_alive_at FROM meta")
    with pytest.raises(RuntimeError, match="dead"):
        await house.stop()
    house.tap.listeners.remove(failing)
    assert before


class TestTokens:
    """What other platforms' gateways have done with page tokens, played by an emulator whose pages are spoilt."""

    @pytest.mark.parametrize("how", ["same_for_ever", "two_in_turn", "never_ending_blanks"])
    @pytest.mark.timeout(90)
    async def test_loops_end_and_lose_nothing(self, house: House, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
        spoil_pages(monkeypatch, how)
        await house.ask("hello")
        await house.stop()
        written = many(house, 5)
        await house.start()
        for message_id in written:
            await answered(house, message_id)
        await all_read(house)
        assert len(house.calls(LIST)) < 200

    async def test_duplicates_over_pages(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        spoil_pages(monkeypatch, "overlapping")
        await house.ask("hello")
        await house.stop()
        written = many(house, 8)
        await house.start()
        for message_id in written:
            await answered(house, message_id)
        await all_read(house)
        assert await house.one("SELECT count(*) FROM inbox WHERE origin = 'history'") == 8


def spoil_pages(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Make the emulator's listing misbehave: the platform is the world, not one of our modules."""
    from channels.emulator import api_messages
    from channels.emulator.messages import Message

    blanks = iter(range(10_000))

    def page_of(
        messages: list[Message], *, descending: bool, page_size: int, page_token: str
    ) -> tuple[list[Message], str | None]:
        ordered = messages[::-1] if descending else messages
        match how:
            case "same_for_ever":
                return ordered[:3], "again"
            case "two_in_turn":
                start = 2 if page_token == "one" else 0
                return ordered[start : start + 2], "two" if page_token == "one" else "one"
            case "never_ending_blanks":
                return ([] if page_token else ordered), f"blank-{next(blanks)}"
            case _:
                start = int(page_token or 0)
                page = ordered[start : start + 3]
                return page, str(start + 2) if start + 3 < len(ordered) else None

    monkeypatch.setattr(api_messages, "page_of", page_of)


async def test_a_missing_scope_is_named_in_status(open_house: OpenHouse) -> None:
    house = await open_house(platform={"scopes": {"im:message", "cardkit:card:write"}})
    await house.ask("hello", "Alice", GROUP, mention_bot=True)
    await house.ask("hello", "Alice")
    (private,) = await write_while_away(house, 10 * MINUTE_S, [lambda: house.say("private", push=False)])
    await answered(house, private)
    await all_read(house)
    told = await status(house)
    assert told["gaps"] == []
    (unreadable,) = [one for one in told["unreadable"] if one["place"] == GROUP]
    assert unreadable["for_good"]
    assert unreadable["why"] == SCOPE_WORDS


async def test_a_group_that_we_are_no_longer_in(house: House) -> None:
    await house.ask("hello", "Alice", GROUP, mention_bot=True)
    await house.stop()
    house.world.remove_bot(GROUP)
    house.advance(HOUR_S)
    await house.start()
    await all_read(house)
    told = await status(house)
    assert {one["chat_id"] for one in told["unreadable"]} == {GROUP}


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "html", "status": 502, "times": 3},
        {"kind": "error", "code": 99991400, "status": 429, "headers": {"x-ogw-ratelimit-reset": "1"}},
        {"kind": "drop"},
        {"kind": "error", "code": 99991663},
    ],
    ids=["502", "rate", "dropped", "token"],
)
@pytest.mark.parametrize("call", [LIST, "im.message.mget"])
async def test_a_listing_that_fails_for_a_while(house: House, call: str, fault: dict[str, Any]) -> None:
    await house.ask("hello")
    set_fault: list[Fault] = [house.fault(call, **fault)]
    written = await write_while_away(
        house, 10 * MINUTE_S, [lambda: house.say("one", push=False), lambda: house.say("two", push=False)]
    )
    for message_id in written:
        await answered(house, message_id)
    await all_read(house)
    assert set_fault[0].seen


async def test_status_tells_what_is_open(house: House) -> None:
    await house.ask("hello")
    house.fault(LIST, "status", status=500, times=None)
    await write_while_away(house, 3 * HOUR_S, [lambda: house.say("old", push=False)])
    await house.held("SELECT count(*) FROM missed_containers WHERE error IS NOT NULL AND state = 'open'")
    told = await status(house)
    assert told["gaps"][0]["reason"] == "boot"
    assert told["gaps"][0]["since_s_ago"] >= 3 * HOUR_S
    assert told["gaps"][0]["places"]["open"] >= 1
    assert not told["unreadable"][0]["for_good"]
    house.emulator.faults.clear()
    house.advance(MINUTE_S)
    assert house.service is not None
    house.service.parts.context.missed.ring()
    await asked_about(house, house.world.private_chat("Alice"), 1)
    told = await status(house)
    assert [one["messages"] for one in told["undecided"]] == [1]


async def test_places_are_learned_from_what_the_bot_is_told(house: House) -> None:
    """A group that it was only added to, a private chat that was only opened: both are read when they speak."""
    quiet_group = house.world.add_chat("quiet", ["Alice", "Bob"]).chat_id
    house.world.add_bot(quiet_group)
    house.world.enter_private_chat("Bob")
    await house.held("SELECT count(*) FROM known_groups")
    await house.held("SELECT count(*) FROM guided_chats")
    await house.held("SELECT last_alive_at FROM meta")
    written = await write_while_away(
        house,
        10 * MINUTE_S,
        [
            lambda: house.say("in the group", "Bob", quiet_group, mention_bot=True, push=False),
            lambda: house.say("in private", "Bob", push=False),
        ],
    )
    for message_id in written:
        await answered(house, message_id)
    house.world.remove_bot(quiet_group)
    await house.held("SELECT count(*) FROM known_groups", 0)
    assert await house.one("SELECT count(*) FROM cursors WHERE chat_id = :id", id=quiet_group) == 0
