"""Quotas and settlement on the page: shown and changed, asked about first, by people with a session only."""

import re

import pytest
import pytest_asyncio

from channels.ids import SessionId
from channels.rules.settlement import session_hash
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.settling.test_served import HELD, PENDING, SETTLED, Counting, busy_file
from tests.integration.web.visitor import PAGE, Visitor

AUDIT = "SELECT actor, via, action, subject FROM audit WHERE action LIKE 'settlement%' OR action LIKE 'quota%'"


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    house = await open_house(start=False, **PAGE, access={"admins": ["boss"]})
    house.agents = {"demo": Counting()}
    await house.start()
    return house


def handle_of(text: str) -> dict[str, str]:
    """The key and payload hash of the first settlement that waits, and the generation that the page shows."""
    names = ("key", "payload_hash", "generation")
    return {name: re.findall(rf'name="{name}" value="(\w+)"', text)[0] for name in names}


class TestQuotas:
    async def test_limits_are_set_and_shown_with_bars(self, house: House, admin: Visitor) -> None:
        await house.ask("hello")
        await house.held(SETTLED, 1)
        fields = {"turns_per_day": "4", "tokens_per_month": "0", "tokens_per_day": "", "turns_per_month": ""}
        status, _ = await admin.post("/admin/quotas", None, person="id:u_alice", **fields)
        assert (status, admin.headers["Location"]) == (303, "/admin/quotas?said=saved")
        text = (await admin.get("/admin/quotas?said=saved"))[1]
        assert '<progress aria-labelledby="bar-1-u_alice" max="4" value="1">' in text and "1 of 4" in text
        assert 'name="turns_per_day" value="4"' in text and 'name="tokens_per_month" value="0"' in text
        assert await house.rows(AUDIT) == [("console", "page", "quota.set", "u_alice")]
        await admin.post("/admin/quotas", None, person="id:u_alice", **dict.fromkeys(fields, ""))
        assert "<progress" not in (await admin.get("/admin/quotas"))[1]

    async def test_the_default_is_shown(self, open_house: OpenHouse) -> None:
        house = await open_house(**PAGE, quota={"turns_per_day": 12_345})
        async with Visitor(house) as admin:
            await admin.log_in()
            text = (await admin.get("/admin/quotas"))[1]
        assert "12,345" in text and text.count("no limit") == 4, "three limits and the hint"

    async def test_names_and_numbers_that_mean_nothing(self, house: House, admin: Visitor) -> None:
        status, text = await admin.post("/admin/quotas", person="<b>nobody</b>", turns_per_day="3")
        assert status == 409 and "&lt;b&gt;nobody" in text and 'value="3"' in text
        for number in ("-1", "1.5", "１", "9" * 16, "x"):
            assert (await admin.post("/admin/quotas", person="id:u_alice", turns_per_day=number))[0] == 400
        assert (await admin.post("/admin/quotas", person="", turns_per_day="1"))[0] == 400
        assert (await admin.post("/admin/quotas", person="id:u_alice"))[0] == 409
        assert await house.one("SELECT count(*) FROM quota_limits") == 0


class TestSettlement:
    async def test_paused_after_a_question_and_resumed(self, house: House, admin: Visitor) -> None:
        status, text = await admin.post("/admin/settlement", do="pause")
        assert status == 200 and 'role="alert"' in text and "Pause it" in text
        assert await house.one("SELECT count(*) FROM settlement_control") == 0, "asked about first"
        assert (await admin.post("/admin/settlement", do="pause", sure="yes"))[0] == 303
        assert admin.headers["Location"] == "/admin/settlement?said=paused"
        await house.ask("hello")
        text = (await admin.get("/admin/settlement?said=paused"))[1]
        assert "paused by an admin" in text and "Resume settlement" in text
        assert await house.one(HELD) == 1
        assert (await admin.post("/admin/settlement", do="pause", sure="yes"))[0] == 303
        assert admin.headers["Location"] == "/admin/settlement?said=unchanged"
        assert (await admin.post("/admin/settlement", do="resume"))[0] == 303
        await house.held(SETTLED, 1)
        text = (await admin.get("/admin/settlement"))[1]
        assert "in time" in text and "settled" in text
        assert await house.rows(AUDIT) == [
            ("console", "page", "settlement.paused", ""),
            ("console", "page", "settlement.resumed", ""),
        ]

    async def test_one_that_waits_is_tried_and_its_session_stopped(self, house: House, admin: Visitor) -> None:
        failing = await busy_file(house)
        await house.ask("hello")
        await house.held(PENDING, 1)
        handle = handle_of((await admin.get("/admin/settlement"))[1])
        status, text = await admin.post("/admin/settlement", None, do="apply", **handle)
        assert status == 409 and "(lock_busy)" in text
        status, text = await admin.post("/admin/settlement", None, do="apply", **(handle | {"generation": "9"}))
        assert status == 409 and "(settlement_stale_control)" in text
        status, text = await admin.post("/admin/settlement", None, do="stop", **handle)
        assert status == 200 and "Stop this session" in text and handle_of_question(text) == handle["key"]
        assert (await admin.post("/admin/settlement", None, do="stop", sure="yes", **handle))[0] == 303
        failing.on = False
        house.advance(61)
        await house.held("SELECT count(*) FROM releases WHERE way = 'late'", 1)
        text = (await admin.get("/admin/settlement"))[1]
        assert "page: console" in text and "late" in text

    async def test_a_session_is_stopped_by_its_id(self, house: House, admin: Visitor) -> None:
        await house.ask("hello")
        await house.held(SETTLED, 1)
        session_id = str(await house.one("SELECT session_id FROM turns"))
        status, text = await admin.post("/admin/settlement", do="stop", session_id=f" {session_id} ")
        assert status == 200 and f'name="session_id" value="{session_id}"' in text
        assert await house.one("SELECT count(*) FROM settlement_stops") == 0
        assert (await admin.post("/admin/settlement", do="stop", sure="yes", session_id=session_id))[0] == 303
        assert await house.one("SELECT session_hash FROM settlement_stops") == session_hash(SessionId(session_id))
        mixed = {"session_id": session_id, "key": "0" * 64, "payload_hash": "0" * 64}
        status, text = await admin.post("/admin/settlement", None, do="stop", sure="yes", **mixed)
        assert status == 409 and "(invalid_input)" in text

    async def test_rows_of_another_version_are_said_and_left(self, house: House, admin: Visitor) -> None:
        """A page, not a defect."""
        await busy_file(house)
        await house.ask("hello")
        await house.held(PENDING, 1)
        assert house.service is not None
        connection = house.service.parts.context.database._file.connection

        def spoil(tx: object) -> None:
            connection.execute("DROP TRIGGER settlement_pending_frozen")
            connection.execute("UPDATE settlement_pending SET format = 99")

        await house.service.parts.context.database.run(spoil)
        status, text = await admin.get("/admin/settlement")
        assert status == 409 and "cannot be read by this version" in text

    @pytest.mark.parametrize("path", ["/admin/settlement", "/admin/quotas"])
    async def test_nobody_without_a_token_or_a_session(
        self, house: House, admin: Visitor, stranger: Visitor, path: str
    ) -> None:
        fields = {"do": "pause", "sure": "yes", "person": "id:u_bob", "turns_per_day": "1"}
        assert (await admin.post(path, None, **(fields | {"token": "0" * 64})))[0] == 403
        assert (await admin.post(path, {"Origin": "http://elsewhere"}, **fields))[0] == 403
        assert (await stranger.post(path, None, **fields))[0] == 401
        assert (await stranger.get(path))[0] == 303
        assert await house.one("SELECT count(*) FROM settlement_control") == 0
        assert await house.one("SELECT count(*) FROM quota_limits") == 0

    async def test_anything_else_is_refused(self, house: House, admin: Visitor) -> None:
        assert (await admin.post("/admin/settlement", do="everything"))[0] == 400
        assert (await admin.post("/admin/settlement"))[0] == 400
        status, text = await admin.post("/admin/settlement", do="stop", sure="yes", key="x", payload_hash="y")
        assert status == 409 and "(invalid_input)" in text


def handle_of_question(text: str) -> str:
    return str(re.findall(r'name="key" value="(\w+)"', text)[0])
