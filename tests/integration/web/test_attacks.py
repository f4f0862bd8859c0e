"""What a hostile page, peer or chat member may try at the admin page of somebody who is logged in."""

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.integration.house import House
from tests.integration.web.visitor import Visitor

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture
def folder(house: House) -> str:
    """What the attacker wants to be set."""
    return str(house.folder / "elsewhere")


async def test_a_change_needs_the_token_of_its_session(house: House, admin: Visitor, folder: str) -> None:
    async with Visitor(house) as other:
        await other.log_in()
        for token in ("", "0" * 64, other.token, admin.token.upper(), admin.token[:-1], "é" * 64):
            assert (await admin.post("/admin/settings", token=token, base_dir=folder))[0] == 403, token
            assert (await admin.post("/admin/logout", token=token))[0] == 403, token
    assert await house.one("SELECT count(*) FROM settings_overlay") == 0
    assert (await admin.post("/admin/settings", base_dir=folder))[0] == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_change_from_a_foreign_page_is_refused(
    house: House, admin: Visitor, folder: str, headers: dict[str, str]
) -> None:
    assert (await admin.post("/admin/settings", headers, base_dir=folder))[0] == 403
    code = (await admin.link()).partition("#")[2]
    async with Visitor(house) as victim:  # being logged in as somebody else is an attack too
        assert (await victim.post("/admin/login", headers, code=code))[0] == 403
    assert await house.one("SELECT count(*) FROM settings_overlay") == 0


async def test_nothing_changes_on_get(house: House, admin: Visitor, folder: str) -> None:
    before = await house.one("SELECT commits FROM meta")
    paths = ["/admin/", "/admin/health.json", "/admin/sessions", "/admin/turns", "/admin/outbox", "/admin/logout"]
    paths += [f"/admin/settings?token={admin.token}&base_dir={folder}"]
    for path in paths:
        for method in ("GET", "HEAD"):
            assert (await admin.send(method, path, headers={"Accept": "text/html"}))[0] in (200, 405), path
    assert (await admin.get("/admin/"))[0] == 200, "still logged in"
    assert await house.rows("SELECT * FROM settings_overlay") == []
    assert await house.one("SELECT count(*) FROM web_logins WHERE ended_at IS NOT NULL") == 0
    assert await house.one("SELECT commits FROM meta") - before <= 2, "but for the heartbeat"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1", "", "a b"])
async def test_a_name_that_is_not_ours_gets_nothing(house: House, admin: Visitor, host: str) -> None:
    status, _text = await admin.get("/admin/", Host=host)
    assert status in (400, 421), "a foreign name may have been made to point here (DNS rebinding)"


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8787", "192.168.7.7:8787"])
async def test_names_of_this_machine_are_ours(house: House, admin: Visitor, host: str) -> None:
    assert (await admin.get("/admin/", Host=host, Cookie=f"channels_admin={admin.cookie}"))[0] == 200


async def test_what_people_write_is_never_markup(house: House, admin: Visitor) -> None:
    await house.ask(EVIL)
    session_id = await house.one("SELECT session_id FROM sessions")
    for path in ("/admin/sessions", f"/admin/sessions/{session_id}"):
        status, text = await admin.get(path)
        assert status == 200
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text
        assert "<img" not in text
    status, text = await admin.post("/admin/settings", base_dir=EVIL)
    assert status == 422
    assert "<script>alert" not in text
    assert 'value="&lt;script&gt;' in text


async def test_every_answer_carries_the_headers(house: House, admin: Visitor) -> None:
    paths = ["/admin/", "/admin/health.json", "/admin/login", "/admin/static/admin.css", "/admin/nowhere"]
    for path in (*paths, "/admin/sessions/none", "/admin/turns?before=x"):
        await admin.get(path)
        policy = admin.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert admin.headers["X-Content-Type-Options"] == "nosniff"
        assert admin.headers["Cache-Control"] == "no-store"
        assert admin.headers["Referrer-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in admin.headers


async def test_pages_hold_nothing_inline(house: House, admin: Visitor) -> None:
    await house.ask("hello")
    session_id = await house.one("SELECT session_id FROM sessions")
    for path in ("/admin/", f"/admin/sessions/{session_id}", "/admin/turns", "/admin/outbox", "/admin/settings"):
        text = (await admin.get(path))[1]
        assert " style=" not in text
        assert "<style" not in text
        assert " onclick" not in text
        assert text.count("<script") == 1


@pytest.mark.parametrize(
    "path",
    [
        "/admin/static/../../__init__.py",
        "/admin/static/%2e%2e/%2e%2e/__init__.py",
        "/admin/static/..%2fserver.py",
        "/admin/static//etc/passwd",
        "/admin/static/page.html",
        "/admin/sessions/%00",
        "/admin/sessions/a%0d%0aSet-Cookie:%20x=1",
        "/admin/sessions/%3Cscript%3E",
        "/admin/sessions/' OR 1=1 --".replace(" ", "%20"),
        "/admin/outbox?state=pending'%20OR%201=1",
        "/admin/turns?before=-1",
        "/admin/turns?before=1e99",
        "/admin/turns?before=%D9%A1",
        "/admin/turns?before=99999999999999999999999",
        "/admin/sessions?before=x_y",
        "/admin/sessions/none?before=%0d%0a",
    ],
)
async def test_odd_addresses_lead_nowhere(house: House, admin: Visitor, path: str) -> None:
    status, text = await admin.get(path)
    assert status in (400, 404), path
    assert "passwd" not in text
    assert "Set-Cookie" not in admin.headers


async def test_a_settings_value_cannot_split_a_header(house: House, admin: Visitor) -> None:
    status, _text = await admin.post("/admin/settings", base_dir="/tmp/a\r\nSet-Cookie: x=1")
    assert status == 422
    assert "Set-Cookie" not in admin.headers


async def test_a_large_body_is_refused_unread(house: House, admin: Visitor) -> None:
    status, _text = await admin.post("/admin/settings", base_dir="x" * 70_000)
    assert status == 413
    async with Visitor(house) as stranger:
        assert (await stranger.post("/admin/login", code="x" * 70_000))[0] == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "multipart/form-data; boundary=x", ""])
async def test_only_forms_of_the_page_are_taken(house: House, admin: Visitor, kind: str, folder: str) -> None:
    body = f"token={admin.token}&base_dir={folder}".encode()
    headers = {"Content-Type": kind} if kind else {}
    assert (await admin.send("POST", "/admin/settings", headers=headers, data=body))[0] == 415


async def test_a_body_that_is_no_text_is_refused(house: House, admin: Visitor) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-7x"}
    assert (await admin.send("POST", "/admin/login", headers=headers, data=b"code=%ff\xff"))[0] == 400


async def test_slow_peers_hold_up_nobody(house: House, admin: Visitor) -> None:
    place = urlsplit(admin.url)
    head = (
        f"POST /admin/login HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 500\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\ncode="
    )
    slow = [await asyncio.open_connection(place.hostname, place.port) for _ in range(50)]
    for _reader, writer in slow[:25]:
        writer.write(head.encode())  # and never the rest
    for _reader, writer in slow[25:]:
        writer.write(b"GET /admin/ HTTP/1.1\r\nX-Slow: ")
    assert (await admin.get("/admin/"))[0] == 200
    answer = await asyncio.wait_for(slow[0][0].readline(), 20)
    assert b" 408 " in answer, "a body that does not come is given up"
    for _reader, writer in slow:
        writer.close()
        await writer.wait_closed()
