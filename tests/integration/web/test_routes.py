"""Every route that the page has, taken from its own table: new ones are guarded too, or one of these fails."""

from aiohttp import web

from channels.web.admin.application import add_admin_page
from channels.web.admin.guard import PUBLIC
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE, Visitor

HEADERS = ("Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Cache-Control")


def routes(house: House) -> list[tuple[str, str]]:
    """Method and path of everything that is not for everybody; places in paths are filled in."""
    assert house.service is not None
    app = web.Application()
    add_admin_page(app, house.service._desk, {"127.0.0.1"}, secure=False)
    found = set()
    for route in app.router.routes():
        assert route.resource is not None
        path = route.resource.canonical.replace("{session_id}", "any")
        assert "{" not in path, "say here what stands in this place"
        if path not in PUBLIC and path != "/admin" and route.method != "HEAD":
            found.add((route.method, path))
    assert len(found) >= 10
    return sorted(found)


async def send(visitor: Visitor, method: str, path: str, **headers: str) -> int:
    if method == "GET":
        return (await visitor.get(path, **headers))[0]
    return (await visitor.post(path, headers, base_dir="/tmp", person="id:x", chat="on"))[0]


async def test_a_stranger_gets_nowhere(house: House, stranger: Visitor) -> None:
    before = await house.one("SELECT commits FROM meta")
    stranger.token = "0" * 64
    for method, path in routes(house):
        assert await send(stranger, method, path) == (303 if method == "GET" else 401), (method, path)
        assert all(name in stranger.headers for name in HEADERS), path
    assert await house.one("SELECT commits FROM meta") - before <= 2, "but for the heartbeat"


async def test_who_is_no_admin_any_more_gets_nowhere(open_house: OpenHouse) -> None:
    house = await open_house(**PAGE, access={"admins": ["boss"]})
    async with Visitor(house) as boss:
        await boss.log_in("boss")
        token, cookie = boss.token, {"Cookie": f"channels_admin={boss.cookie}"}
    house.sections["access"] = {"admins": ["somebody_else"]}
    await house.restart()
    async with Visitor(house) as removed:
        removed.token = token
        for method, path in routes(house):
            assert await send(removed, method, path, **cookie) == 403, (method, path)


async def test_no_change_without_the_token(house: House, admin: Visitor) -> None:
    before = await house.rows("SELECT count(*) FROM audit")
    for method, path in routes(house):
        if method == "POST":
            for token in ("", "0" * 64):
                found, _ = await admin.post(path, token=token, base_dir="/tmp", person="id:x", chat="on")
                assert found == 403, path
            assert (await admin.post(path, {"Origin": "https://evil.example"}, base_dir="/tmp"))[0] == 403, path
    assert await house.rows("SELECT count(*) FROM audit") == before


async def test_no_get_changes_anything(house: House, admin: Visitor) -> None:
    """Not even with everything that a change would carry."""
    await house.ask("hello")
    audit = await house.rows("SELECT * FROM audit")
    for method, path in routes(house):
        query = f"?token={admin.token}&base_dir=/tmp&person=id:x&chat=on&verdict=approve&move=delete&sure=yes"
        found = (await admin.get(path + query))[0]
        assert found in ((200, 404) if method == "GET" else (200, 404, 405)), path
    assert await house.rows("SELECT * FROM audit") == audit
    assert await house.one("SELECT count(*) FROM sessions") == 1
    assert (await admin.get("/admin/"))[0] == 200
