"""Archiving and deleting conversations on the page."""

from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE, Visitor


async def a_session(house: House) -> str:
    await house.ask("apples are red")
    return str(await house.one("SELECT session_id FROM turns"))


async def test_put_away_and_taken_out(house: House, admin: Visitor) -> None:
    place = f"/admin/sessions/{await a_session(house)}"
    status, _ = await admin.post(place, move="archive")
    assert (status, admin.headers["Location"]) == (303, f"{place}?said=archived")
    _, text = await admin.get(f"{place}?said=archived")
    assert "takes no more questions" in text and "Take out of the archive" in text
    assert "archived</span>" in (await admin.get("/admin/sessions"))[1]
    assert (await admin.post(place, move="unarchive"))[0] == 303
    assert await house.one("SELECT archived_at FROM sessions") is None
    actions = await house.rows("SELECT actor, via, action FROM audit WHERE action LIKE 'session.%' ORDER BY seq")
    assert actions == [("console", "page", "session.archived"), ("console", "page", "session.unarchived")]


async def test_deleting_is_asked_about_first(house: House, admin: Visitor) -> None:
    place = f"/admin/sessions/{await a_session(house)}"
    status, text = await admin.post(place, move="delete")
    assert status == 200 and "Delete for good" in text and 'role="alert"' in text
    assert await house.one("SELECT deleted_at FROM sessions") is None
    status, _ = await admin.post(place, move="delete", sure="yes")
    assert (status, admin.headers["Location"]) == (303, "/admin/sessions?said=deleted")
    _, text = await admin.get("/admin/sessions?said=deleted")
    assert "Deleted." in text and "apples" not in text
    _, text = await admin.get(place)
    assert "apples" not in text and "Delete" not in text.split("<main", 1)[1].replace("Deleted", "")
    assert (await admin.post(place, move="archive"))[0] == 409


async def test_what_runs_is_left_alone(open_house: OpenHouse) -> None:
    house = await open_house(**PAGE, agents={"demo": {"kind": "demo", "pace": 1.0}})
    async with Visitor(house) as admin:
        await admin.log_in()
        running = house.say("work 30 seconds")
        session_id = await house.held("SELECT session_id FROM turns WHERE state = 'entered'")
        status, text = await admin.post(f"/admin/sessions/{session_id}", move="archive")
        assert status == 409 and "still running" in text
        assert await house.one("SELECT archived_at FROM sessions") is None
        await house.shown(house.say("/stop"))
        await house.answered(running)


async def test_nobody_without_a_token_or_a_session(house: House, admin: Visitor, stranger: Visitor) -> None:
    place = f"/admin/sessions/{await a_session(house)}"
    for token in ("0" * 64, ""):
        assert (await admin.post(place, move="delete", sure="yes", token=token))[0] == 403
    assert (await stranger.post(place, move="delete", sure="yes"))[0] == 401
    assert (await admin.post(place, headers={"Origin": "http://elsewhere"}, move="archive"))[0] == 403
    assert (await admin.post(place, move="everything"))[0] == 400
    assert (await admin.post("/admin/sessions/nowhere", move="archive"))[0] == 404
    assert await house.one("SELECT archived_at FROM sessions") is None
