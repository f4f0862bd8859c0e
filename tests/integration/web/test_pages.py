"""What the pages show, and what setting something does."""

import asyncio
import json

import aiohttp

from channels.app.desk import AdminDesk
from channels.app.figures import Figures
from channels.web.server import WebServer
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.taps import Failing
from tests.integration.web.visitor import PAGE, Visitor, ask_socket


async def test_pages_show_what_happened(house: House, admin: Visitor) -> None:
    await house.ask("hello one")
    await house.ask("hello two", user="Bob")
    sessions = (await admin.get("/admin/sessions"))[1]
    assert sessions.index("hello two") < sessions.index("hello one"), "the newest first"
    turns = (await admin.get("/admin/turns"))[1]
    assert (turns.count('data-state="completed"'), "u_bob" in turns) == (2, True)
    outbox = (await admin.get("/admin/outbox?state=done"))[1]
    assert outbox.count('data-state="done"') == await house.one("SELECT count(*) FROM outbox WHERE state = 'done'")
    assert "Nothing yet." in (await admin.get("/admin/outbox?state=unknown"))[1]
    session_id = await house.one("SELECT session_id FROM sessions WHERE user_id = 'u_bob'")
    talk = (await admin.get(f"/admin/sessions/{session_id}"))[1]
    assert talk.count("This is what you sent") == 1
    assert (await admin.get("/admin/sessions/none"))[0] == 404


async def test_the_numbers_are_those_of_status(house: House, admin: Visitor) -> None:
    await house.ask("hello")
    status = await asyncio.to_thread(ask_socket, house, "status", {})
    figures = json.loads((await admin.get("/admin/health.json"))[1])["figures"]
    assert figures["epoch"]["value"] == str(status["owner_epoch"])
    assert figures["sessions"]["value"] == "1"
    assert figures["connection"] == {"value": "connected", "tone": "good"}


async def test_the_browser_chooses_the_language(house: House, admin: Visitor) -> None:
    chinese = (await admin.get("/admin/", **{"Accept-Language": "zh-CN,en;q=0.5"}))[1]
    assert 'lang="zh-CN"' in chinese
    assert "运行状况" in chinese
    assert "Health" in (await admin.get("/admin/", **{"Accept-Language": "en"}))[1]


async def test_lists_go_on_where_the_last_page_ended(house: House, admin: Visitor) -> None:
    from channels.web.admin.pages import ROWS

    for number in range(ROWS + 1):
        house.world.say("Alice", house.world.private_chat("Alice"), f"number-{number}-")
    await house.held("SELECT count(*) FROM turns WHERE state = 'ended'", ROWS + 1)
    for path, link in (("/admin/sessions", "?before="), ("/admin/turns", "?before="), ("/admin/outbox", "before=")):
        seen: list[str] = []
        pages, address = 0, path
        while address:
            text = (await admin.get(address))[1]
            seen += [row for row in text.split("<tr>")[2:] if row]
            pages += 1
            _, found, _rest = text.partition('rel="next"')
            address = ""
            if found:
                href = text[: text.index('rel="next"')].rpartition('href="')[2].partition('"')[0]
                assert link in href
                address = href.replace("&amp;", "&")
        assert pages >= 2, path
        table = path.rpartition("/")[2]
        assert len(seen) == await house.one(f"SELECT count(*) FROM {table}"), path


async def test_settings_are_stored_applied_and_on_record(house: House, admin: Visitor) -> None:
    folder = str(house.folder / "elsewhere")
    assert (await admin.post("/admin/settings", base_dir=folder, access_mode=""))[0] == 303
    assert admin.headers["Location"] == "/admin/settings?said=saved"
    text = (await admin.get("/admin/settings?said=saved"))[1]
    assert f"In force now: {folder}" in text
    assert "Saved." in text
    await house.ask("hello")
    assert (await house.one("SELECT cwd FROM sessions")).startswith(folder), "new sessions work there at once"
    assert (await admin.post("/admin/settings", base_dir=folder))[0] == 303
    assert admin.headers["Location"] == "/admin/settings?said=unchanged"
    rows = await house.rows("SELECT key, value, set_by FROM settings_overlay")
    assert rows == [("workspace.base_dir", folder, "console")]
    await house.restart()
    await house.ask("hello", user="Bob")
    cwd = await house.one("SELECT cwd FROM sessions WHERE user_id = 'u_bob'")
    assert cwd.startswith(folder), "and after a restart"


async def test_an_empty_field_gives_the_file_its_say_back(house: House, admin: Visitor) -> None:
    folder = str(house.folder / "elsewhere")
    await admin.post("/admin/settings", base_dir=folder)
    await admin.post("/admin/settings", base_dir="")
    assert f"In force now: {house.folder / 'workspace'}" in (await admin.get("/admin/settings"))[1]
    rows = await house.rows("SELECT value FROM settings_overlay ORDER BY change")
    assert rows == [(folder,), (None,)]


async def test_what_does_not_do_is_refused_and_leaves_everything(house: House, admin: Visitor) -> None:
    (house.folder / "a_file").touch()
    wrong = ("relative/path", "/proc/none/of/it", f"{house.folder}/../x", f"{house.folder}/a_file/x", "/" + "x" * 2000)
    for base_dir in wrong:
        status, text = await admin.post("/admin/settings", base_dir=base_dir)
        assert (status, "workspace.base_dir: " in text) == (422, True), base_dir
    status, text = await admin.post("/admin/settings", access_mode="anarchy", base_dir=str(house.folder / "fine"))
    assert (status, "access.mode: " in text) == (422, True)
    assert await house.one("SELECT count(*) FROM settings_overlay") == 0


async def test_a_setting_that_fits_no_more_does_not_keep_the_service_down(open_house: OpenHouse) -> None:
    house = await open_house(**PAGE)
    folder = house.folder / "elsewhere" / "deep"
    async with Visitor(house) as admin:
        await admin.log_in()
        assert (await admin.post("/admin/settings", base_dir=str(folder)))[0] == 303
    await house.stop()
    folder.rmdir()
    folder.write_text("a file now")
    await house.start()
    _, reply = await house.ask("hello")
    assert reply
    assert (await house.one("SELECT cwd FROM sessions")).startswith(str(house.folder / "workspace"))


async def test_while_the_service_starts_the_page_says_so(house: House) -> None:
    figures = Figures()
    server = WebServer(figures, "127.0.0.1", 0, AdminDesk(figures, house.settings).extend)
    await server.start()
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{server.url}/admin/", headers={"Cookie": "channels_admin=x"}) as response:
            assert (response.status, "still starting" in await response.text()) == (503, True)
        async with session.post(f"{server.url}/admin/login", data={"code": "x"}) as response:
            assert response.status == 503
    await server.stop()


async def test_a_defect_is_told_without_its_details_and_spreads_no_further(house: House, admin: Visitor) -> None:
    failing = Failing("SELECT seq, kind, op", lambda: RuntimeError("inner workings"), times=1)
    house.tap.listeners.append(failing)
    status, text = await admin.get("/admin/outbox")
    assert (status, "inner workings" in text, "its log has the details" in text) == (500, False, True)
    assert (failing.hits, (await admin.get("/admin/outbox"))[0]) == (1, 200)
