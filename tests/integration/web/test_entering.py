"""Getting in at the admin page, and being kept out."""

import asyncio
import hashlib
import stat

import pytest

from channels.cli.web_link import show_link
from channels.errors import Refused
from channels.store.transactions.web import FRESH_LINKS_AT_MOST, LINK_LIFE_MS, SESSION_LIFE_MS
from channels.web.admin.attempts import FAILURES_AT_MOST, WINDOW_MS
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE, TOKEN, Visitor, ask_socket

PRIVATE = (
    "/admin/",
    "/admin/health.json",
    "/admin/sessions",
    "/admin/sessions/any",
    "/admin/turns",
    "/admin/outbox",
    "/admin/people",
    "/admin/settings",
    "/admin/nowhere",
    "/admin/static/../page.html",
)
CHANGES = ("/admin/settings", "/admin/people", "/admin/requests", "/admin/logout", "/admin/sessions", "/admin/nowhere")


async def test_a_link_from_the_control_socket_opens_one_session_once(house: House, stranger: Visitor) -> None:
    answer = await asyncio.to_thread(ask_socket, house, "web_link", {})
    assert answer["url"].startswith(f"{stranger.url}/admin/login#")
    assert (answer["user"], answer["expires_in_s"]) == ("console", 600)
    code = answer["url"].partition("#")[2]
    assert (await stranger.get("/admin/login"))[0] == 200
    assert (await stranger.post("/admin/login", code=answer["url"]))[0] == 303
    assert stranger.headers["Location"] == "/admin/"
    cookie = stranger.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/admin", f"Max-Age={SESSION_LIFE_MS // 1000}"} <= set(
        cookie.split("; ")
    )
    assert (await stranger.get("/admin/"))[0] == 200
    async with Visitor(house) as thief:
        status, text = await thief.post("/admin/login", code=code)
        assert (status, "used before" in text) == (403, True)
        assert (await thief.get("/admin/"))[0] == 303
    await assert_nothing_kept(house, code, stranger.cookie)


async def assert_nothing_kept(house: House, *secrets: str) -> None:
    """The file holds hashes, and none of the secrets."""
    rows = str(await house.rows("SELECT * FROM web_logins"))
    for secret in secrets:
        assert secret not in rows
        assert hashlib.sha256(secret.encode()).hexdigest() in rows


async def test_opening_the_login_page_uses_no_link_up(house: House, stranger: Visitor) -> None:
    code = (await stranger.link()).partition("#")[2]
    assert (await stranger.get(f"/admin/login?code={code}"))[0] == 200
    assert (await stranger.send("HEAD", f"/admin/login?code={code}"))[0] == 200
    assert (await stranger.post("/admin/login", code=code))[0] == 303


async def test_a_link_that_is_too_old_opens_nothing(house: House, stranger: Visitor) -> None:
    code = (await stranger.link()).partition("#")[2]
    house.advance(LINK_LIFE_MS / 1000)
    assert (await stranger.post("/admin/login", code=code))[0] == 403
    assert await house.one("SELECT count(*) FROM web_logins WHERE session_hash IS NOT NULL") == 0


async def test_a_session_ends_by_itself(house: House, admin: Visitor) -> None:
    house.advance(SESSION_LIFE_MS / 1000 - 60)
    assert (await admin.get("/admin/"))[0] == 200
    house.advance(120)
    assert (await admin.get("/admin/"))[0] == 303


async def test_a_stolen_cookie_is_worth_nothing_after_logging_out(house: House, admin: Visitor) -> None:
    stolen = {"Cookie": f"channels_admin={admin.cookie}"}
    async with Visitor(house) as thief:
        assert (await thief.get("/admin/", **stolen))[0] == 200
        assert (await admin.post("/admin/logout"))[0] == 303
        assert (await thief.get("/admin/", **stolen))[0] == 303
        assert (await thief.post("/admin/settings", stolen, token=admin.token, base_dir="/tmp"))[0] == 401
    assert await house.one("SELECT count(*) FROM settings_overlay") == 0
    assert await house.rows("SELECT actor, via, action FROM audit ORDER BY seq") == [
        ("console", "cli", "page.link_made"),
        ("console", "page", "page.entered"),
        ("console", "page", "page.left"),
    ]


async def test_a_session_outlives_a_restart(house: House, admin: Visitor) -> None:
    cookie = {"Cookie": f"channels_admin={admin.cookie}"}
    await house.restart()
    async with Visitor(house) as again:
        assert (await again.get("/admin/", **cookie))[0] == 200


@pytest.mark.parametrize("cookie", ["", "x", "y" * 5000, "é", '"', "'; DROP TABLE web_logins; --"])
async def test_a_stranger_sees_and_changes_nothing(house: House, stranger: Visitor, cookie: str) -> None:
    stranger.token = "0" * 64
    headers = {"Cookie": f"channels_admin={cookie}"} if cookie else {}
    for path in PRIVATE:
        status, text = await stranger.get(path, **headers)
        assert (status, text) == (303, ""), path
        assert stranger.headers["Location"] == "/admin/login"
        assert (await stranger.send("GET", path, headers=headers))[0] == 401
    for path in CHANGES:
        assert (await stranger.post(path, headers, base_dir="/tmp"))[0] == 401, path
    assert (await stranger.send("DELETE", "/admin/settings", headers=headers))[0] == 415
    assert await house.one("SELECT count(*) FROM settings_overlay") == 0


async def test_who_is_no_admin_any_more_is_out_on_every_route(open_house: OpenHouse) -> None:
    house = await open_house(**PAGE, access={"admins": ["boss"]})
    async with Visitor(house) as boss:
        await boss.log_in("boss")
        cookie = {"Cookie": f"channels_admin={boss.cookie}"}
        house.sections["access"] = {"admins": ["somebody_else"]}
        await house.restart()
        async with Visitor(house) as removed:
            removed.token = boss.token
            for path in PRIVATE:
                assert (await removed.get(path, **cookie))[0] == 403, path
            for path in CHANGES:
                assert (await removed.post(path, cookie, base_dir="/tmp"))[0] == 403, path
    assert await house.one("SELECT count(*) FROM settings_overlay") == 0


async def test_links_are_for_admins_only_and_few(house: House, stranger: Visitor) -> None:
    with pytest.raises(Refused, match="not_admin"):
        await stranger.link("mallory")
    assert "/admin/login#" in await stranger.link("boss")
    for _ in range(FRESH_LINKS_AT_MOST - 1):
        await stranger.link()
    with pytest.raises(Refused, match="too_many_links"):
        await stranger.link()
    house.advance(LINK_LIFE_MS / 1000 + 1)
    await stranger.link()


async def test_guessing_is_slowed_down(house: House, stranger: Visitor) -> None:
    code = (await stranger.link()).partition("#")[2]
    for number in range(FAILURES_AT_MOST):
        assert (await stranger.post("/admin/login", code=f"guess{number}"))[0] == 403
    assert (await stranger.post("/admin/login", code=code))[0] == 429
    assert 0 < int(stranger.headers["Retry-After"]) <= WINDOW_MS // 1000 + 1
    house.advance(WINDOW_MS / 1000 + 1)
    assert (await stranger.post("/admin/login", code=code))[0] == 303


async def test_the_page_is_off_unless_it_is_switched_on(open_house: OpenHouse) -> None:
    house = await open_house(web={"enabled": True, "port": 0})
    async with Visitor(house) as visitor:
        for path in ("/admin", "/admin/", "/admin/login"):
            assert (await visitor.get(path))[0] == 404
        with pytest.raises(Refused, match="page_off"):
            await visitor.link()


async def test_over_tls_the_cookie_goes_no_other_way(open_house: OpenHouse) -> None:
    house = await open_house(web=PAGE["web"] | {"public_url": "https://bot.example.com"})
    async with Visitor(house) as visitor:
        link = await visitor.link()
        assert link.startswith("https://bot.example.com/admin/login#")
        headers = {"Host": "bot.example.com", "Origin": "https://bot.example.com"}
        assert (await visitor.post("/admin/login", headers, code=link))[0] == 303
        assert "; Secure" in visitor.headers["Set-Cookie"]


async def test_nobody_else_may_open_the_socket(house: House, stranger: Visitor) -> None:
    mode = house.settings.control_socket.stat().st_mode
    assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)


async def test_the_token_belongs_to_the_session(house: House, admin: Visitor) -> None:
    async with Visitor(house) as other:
        await other.log_in()
        assert other.token != admin.token
    assert TOKEN.search((await admin.get("/admin/settings"))[1])


async def test_the_command_prints_a_link_that_works(
    house: House, stranger: Visitor, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {
        "CHANNELS_FEISHU__APP_ID": "cli_emulator",
        "CHANNELS_FEISHU__APP_SECRET": f"file:{house.folder / 'secret'}",
        "CHANNELS_STORE__PATH": str(house.file),
    }
    await asyncio.to_thread(show_link, None, "boss", environ, as_json=False)
    link, words = capsys.readouterr().out.splitlines()
    assert words == "It works once, within 10 minutes, and lets its opener in as boss."
    assert (await stranger.post("/admin/login", code=link))[0] == 303
    assert "boss" in (await stranger.get("/admin/"))[1]
    with pytest.raises(Refused, match="not_admin"):
        await asyncio.to_thread(show_link, None, "mallory", environ, as_json=True)
