"""/usage, the page, `channels status --json`, `channels quota` and the ledger say the same, to the token."""

import re

import pytest_asyncio

from channels.store.transactions.books import read_used
from tests.integration.command_line import json_of, output_of, refusal_of
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import say
from tests.integration.house import House
from tests.integration.settling.test_served import SETTLED, Counting, busy_file
from tests.integration.web.visitor import PAGE, Visitor

CHAT = {"topics": {"private": "chat", "group": "chat"}, "access": {"admins": ["u_zhang_san"]}}
LEDGER = "SELECT sum(turns), sum(input_tokens), sum(output_tokens) FROM usage WHERE user_id = 'u_alice'"


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    house = await open_house(start=False, **(CHAT | PAGE))
    house.agents = {"demo": Counting()}
    await house.start()
    return house


def of_usage(text: str) -> list[tuple[int, int, int]]:
    """Answers and tokens of each line of /usage."""
    found = re.findall(r"answers: ([\d,]+), conversations: [\d,]+, ([\d,]+) tokens in, ([\d,]+) out", text)
    return [tuple(int(number.replace(",", "")) for number in each) for each in found]  # type: ignore[misc]


async def all_ways(house: House) -> dict[str, tuple[int, int, int]]:
    """Turns, input and output tokens of Alice, as everything says that shows them."""
    status = (await json_of(house, "status"))["usage"]["all"]
    accounts = (await json_of(house, "quota", "list"))["people"]
    (alice,) = (one for one in accounts if one["user_id"] == "u_alice")
    async with Visitor(house) as visitor:
        await visitor.log_in()
        page = (await visitor.get("/admin/quotas"))[1]
    shown = re.search(r'data-user="u_alice" data-turns="(\d+)" data-in="(\d+)" data-out="(\d+)"', page)
    assert shown is not None
    month, ways = alice["used_this_month"], of_usage(await say(house, "/usage"))
    assert len(set(ways)) == 1 and len(ways) == 3, "today, this month, altogether"
    return {
        "/usage": ways[0],
        "status": (status["turns"], status["input_tokens"], status["output_tokens"]),
        "quota": (month["turns"], month["input_tokens"], month["output_tokens"]),
        "page": (int(shown[1]), int(shown[2]), int(shown[3])),
    }


async def test_completed_failed_and_stopped_turns(open_house: OpenHouse) -> None:
    house = await open_house(start=False, **(CHAT | PAGE), agents={"demo": {"kind": "demo", "pace": 1.0}})
    await house.start()
    await house.ask("hello")
    await house.ask("fail: on purpose")
    running = house.say("work 60 seconds")
    await house.held("SELECT state FROM turns WHERE cause_id = :id", "entered", id=running)
    await house.shown(running)
    await house.shown(house.say("/stop"))
    await house.answered(running)
    await house.held(SETTLED, 3)
    outcomes = await house.rows("SELECT outcome FROM usage ORDER BY queued_at")
    assert outcomes == [("completed",), ("failed",), ("stopped",)]
    (ledger,) = await house.rows(LEDGER)
    assert ledger[0] == 3 and ledger[1] > 0
    assert set((await all_ways(house)).values()) == {ledger}


async def test_what_is_not_booked_yet_is_counted_all_the_same(house: House) -> None:
    """Settlement is stuck: everything shows the same before and after."""
    failing = await busy_file(house)
    await house.ask("hello")
    await house.ask("fail please")
    assert await house.one("SELECT count(*) FROM usage") == 0
    before = await all_ways(house)
    assert set(before.values()) == {(2, 140, 14)}
    assert (await json_of(house, "status"))["usage"]["all"]["not_booked_yet"]["input_tokens"] == 140
    failing.on = False
    house.advance(5)
    await house.held(SETTLED, 2)
    assert await all_ways(house) == before
    assert (await json_of(house, "status"))["usage"]["all"]["not_booked_yet"]["input_tokens"] == 0


async def test_a_deleted_conversation_stays_in_the_books(house: House) -> None:
    await house.ask("hello")
    await house.held(SETTLED, 1)
    session_id = str(await house.one("SELECT session_id FROM turns"))
    await output_of(house, "sessions", "delete", session_id, "--yes")
    assert set((await all_ways(house)).values()) == {(1, 70, 7)}


async def test_sessions_are_counted_once(house: House) -> None:
    """One turn of a session is booked, another is not yet."""
    await house.ask("hello")
    await house.held(SETTLED, 1)
    await busy_file(house)
    await house.ask("and again")
    await house.ask("/new")
    await house.ask("elsewhere")
    assert house.service is not None
    used = await house.service.parts.context.database.read(read_used, None, 0)
    assert (used.turns, used.sessions, used.tokens) == (3, 2, 3 * 77)


class TestLimits:
    async def test_set_shown_and_taken_back(self, house: House) -> None:
        await house.ask("hello")
        await house.held(SETTLED, 1)
        assert "turns_per_day 2" in await output_of(house, "quota", "set", "id:u_alice", "--turns-per-day", "2")
        said = await say(house, "/usage")
        assert "questions 1 of 2" in said and "tokens 77, no limit" in said
        await house.ask("the second")
        refused = await say(house, "the third")
        assert "Questions a day: your limit is 2" in refused
        account = await json_of(house, "quota", "show", "id:u_alice")
        assert account["own"]["turns_per_day"] == 2 and account["own"]["tokens_per_day"] is None
        assert account["windows"][0]["turns"] == {"limit": 2, "held": 0, "used": 2, "free": 0}
        assert "default" in await output_of(house, "quota", "clear", "id:u_alice")
        assert "said" in await say(house, "the fourth")
        audit = await house.rows("SELECT actor, action, subject, detail FROM audit WHERE action LIKE 'quota%'")
        assert audit == [
            ("console", "quota.set", "u_alice", "2 default default default"),
            ("console", "quota.set", "u_alice", "default default default default"),
        ]

    async def test_what_is_not_named_stays(self, house: House) -> None:
        await output_of(house, "quota", "set", "id:u_bob", "--turns-per-day", "5", "--tokens-per-month", "1000")
        await output_of(house, "quota", "set", "id:u_bob", "--turns-per-day", "0")
        own = (await json_of(house, "quota", "show", "id:u_bob"))["own"]
        assert own == {"turns_per_day": 0, "turns_per_month": None, "tokens_per_day": None, "tokens_per_month": 1000}

    async def test_while_no_service_runs(self, house: House) -> None:
        await house.ask("hello")
        await house.held(SETTLED, 1)
        await house.stop()
        await output_of(house, "quota", "set", "id:u_alice", "--turns-per-day", "1")
        assert "turns_per_day 1" in await output_of(house, "quota", "list")
        await house.start()
        assert "Questions a day: your limit is 1" in await say(house, "one too many")

    async def test_wrong_words(self, house: House) -> None:
        line, code = await refusal_of(house, "quota", "set", "id:u_bob")
        assert "invalid_input" in line and code == 3
        line, code = await refusal_of(house, "quota", "show", "nobody")
        assert "unknown_person" in line and code == 3
