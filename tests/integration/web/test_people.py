"""Deciding about people on the page."""

import asyncio
import re

import pytest_asyncio

from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE, Visitor, ask_socket

SWITCHES = "SELECT chat, wiki_read, wiki_write, code_write, admin FROM access_users WHERE user_id = :user_id"
REQUEST_ID = re.compile(r'name="request_id" value="([^"]+)"')


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(**PAGE, access={"mode": "approval", "admins": ["u_zhang_san"]})


async def switches(house: House, user_id: str) -> tuple[int, ...]:
    rows = await house.rows(SWITCHES, user_id=user_id)
    return rows[0] if rows else ()


async def ask_to_come_in(house: House, admin: Visitor, user: str) -> tuple[str, str]:
    """A stranger writes: the message id and the request's id, read from the page."""
    message_id = house.say('may I? 1 < 2 & "so"', user)
    await house.held("SELECT count(*) FROM access_requests WHERE state = 'open'", 1)
    text = (await admin.get("/admin/people"))[1]
    assert "may I? 1 &lt; 2 &amp; &#34;so&#34;" in text
    found = REQUEST_ID.search(text)
    assert found is not None
    return message_id, found[1]


async def test_who_is_approved_is_answered(house: House, admin: Visitor) -> None:
    message_id, request_id = await ask_to_come_in(house, admin, "Bob")
    assert (await admin.post("/admin/requests", request_id=request_id, verdict="approve"))[0] == 303
    await house.held("SELECT state FROM inbox WHERE message_id = :message_id", "done", message_id=message_id)
    assert (await switches(house, "u_bob"))[0] == 1
    text = (await admin.get("/admin/people"))[1]
    assert "Nobody waits for a decision." in text
    assert await house.one("SELECT count(*) FROM audit WHERE via = 'page' AND actor = 'console'") >= 1


async def test_the_second_decision_is_told_that_it_is_late(house: House, admin: Visitor) -> None:
    _message_id, request_id = await ask_to_come_in(house, admin, "Bob")
    assert (await admin.post("/admin/requests", request_id=request_id, verdict="deny"))[0] == 303
    status, text = await admin.post("/admin/requests", request_id=request_id, verdict="approve")
    assert (status, 'role="alert"' in text) == (409, True)
    assert await switches(house, "u_bob") == ()
    assert (await admin.post("/admin/requests", request_id="none", verdict="approve"))[0] == 409
    assert (await admin.post("/admin/requests", request_id=request_id, verdict="maybe"))[0] == 400


async def test_ticked_boxes_are_the_switches(house: House, admin: Visitor) -> None:
    assert (await admin.post("/admin/people", person="id:u_bob", chat="on", code_write="on"))[0] == 303
    given = await switches(house, "u_bob")
    assert (given[0], given[3], given[4]) == (1, 1, 0)
    assert (await admin.post("/admin/people", person="u_bob", chat="on", admin="on"))[0] == 303
    given = await switches(house, "u_bob")
    assert (given[0], given[3], given[4]) == (1, 0, 1)
    assert (await admin.post("/admin/people", person="u_bob"))[0] == 303
    assert await switches(house, "u_bob") == (0, 0, 0, 0, 0)
    assert (await admin.post("/admin/people", person=""))[0] == 400
    status, _text = await admin.post("/admin/people", person="<b>nobody</b>", chat="on")
    assert status == 409


async def test_a_box_that_is_ticked_lengthens_no_grant(house: House, admin: Visitor) -> None:
    """Whoever was let in for a day stays in for that day; whose day is over is let in anew."""
    limits = "SELECT until_ms, messages_left FROM access_users WHERE user_id = 'u_bob'"
    await asyncio.to_thread(ask_socket, house, "access_grant", {"user": "id:u_bob", "hours": 24, "messages": 5})
    before = await house.rows(limits)
    assert (await admin.post("/admin/people", person="u_bob", chat="on", wiki_read="on"))[0] == 303
    assert await house.rows(limits) == before
    assert (await switches(house, "u_bob"))[:2] == (1, 1)
    assert await house.one("SELECT count(*) FROM audit WHERE action = 'switch.set' AND via = 'page'") == 1
    house.advance(25 * 3600)
    async with Visitor(house) as again:
        await again.log_in()
        assert (await again.post("/admin/people", person="u_bob", chat="on"))[0] == 303
    assert await house.rows(limits) == [(None, None)]


async def test_names_are_never_markup_and_ids_are_ids(house: House, admin: Visitor) -> None:
    hostile = house.world.add_person('</strong><script>alert(1)</script>"onx=')
    await ask_to_come_in(house, admin, hostile.name)
    await house.held("SELECT count(*) FROM access_requests WHERE name <> ''", 1)
    for person, status in ((hostile.name, 303), ("id:" + "x" * 200, 409), ("id:<b>", 409), ("x" * 5000, 409)):
        found, text = await admin.post("/admin/people", person=person, chat="on")
        assert (found, "<script>alert" in text) == (status, False), person
    text = (await admin.get("/admin/people"))[1]
    assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text and '"onx=' not in text


async def test_whom_the_settings_name_stays_an_admin(house: House, admin: Visitor) -> None:
    status, text = await admin.post("/admin/people", person="id:u_zhang_san", chat="on")
    assert (status, 'role="alert"' in text) in ((409, True), (303, False))
    assert "/admin/login#" in await admin.link("u_zhang_san")


async def test_an_admin_who_was_made_here_is_in_and_out_at_once(house: House, admin: Visitor) -> None:
    await admin.post("/admin/people", person="id:u_bob", chat="on", admin="on")
    async with Visitor(house) as bob:
        await bob.log_in("u_bob")
        assert (await bob.get("/admin/people"))[0] == 200
        await admin.post("/admin/people", person="u_bob", chat="on")
        assert (await bob.get("/admin/people"))[0] == 403
        assert (await bob.post("/admin/people", person="u_bob", chat="on", admin="on"))[0] == 403


async def test_the_mode_is_set_on_the_page_and_counts_at_once(house: House, admin: Visitor) -> None:
    await admin.post("/admin/people", person="id:u_alice", chat="on", admin="on")
    assert (await admin.post("/admin/settings", access_mode="open"))[0] == 303
    await house.ask("hello", user="Bob")
    async with Visitor(house) as alice:
        await alice.log_in("u_alice")
    assert await house.rows("SELECT action, subject, detail FROM audit WHERE action = 'settings.changed'") == [
        ("settings.changed", "access.mode", "open")
    ]
