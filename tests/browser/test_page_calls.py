"""The page's own calls without a browser: what they refuse, and what keeps content from running."""

from collections.abc import AsyncIterator

import aiohttp
import pytest_asyncio

from channels.emulator import PLAIN, Emulator


@pytest_asyncio.fixture(loop_scope="session")
async def session(emulator: Emulator) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(emulator.url) as opened:
        yield opened


async def test_pages_run_only_their_own_files(session: aiohttp.ClientSession) -> None:
    for path in ("/", "/gallery", "/static/app.js"):
        async with session.get(path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert answer.status == 200
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy


async def test_only_static_files_are_served(session: aiohttp.ClientSession) -> None:
    for path in ("/static/..%2Fpage.py", "/static/page.py", "/static/%2Fetc%2Fpasswd", "/static/"):
        async with session.get(path) as answer:
            assert answer.status == 404, path


async def test_other_sites_cannot_act_for_a_person(session: aiohttp.ClientSession, emulator: Emulator) -> None:
    body = {"user": "ou_alice", "chat_id": PLAIN, "text": "hi"}
    async with session.post("/_page/say", json=body, headers={"Origin": "https://evil.example"}) as answer:
        assert answer.status == 403
    assert emulator.world.timeline.in_chat(PLAIN) == []
    async with session.post("/_page/say", json=body, headers={"Origin": emulator.url}) as answer:
        assert answer.status == 200
    assert len(emulator.world.timeline.in_chat(PLAIN)) == 1


async def test_what_the_tenant_refuses_is_told(session: aiohttp.ClientSession, emulator: Emulator) -> None:
    message_id = emulator.world.say("Alice", PLAIN, "通知", push=False)
    topic = {"user": "ou_bob", "chat_id": PLAIN, "text": "?", "parent_id": message_id, "in_topic": True}
    async with session.post("/_page/say", json=topic) as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, 230071)
    async with session.post("/_page/recall", json={"user": "ou_bob", "message_id": message_id}) as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, 230026)
    async with session.post("/_page/say", json={"user": "ou_bob"}) as answer:
        assert answer.status == 400


async def test_a_file_that_could_run_is_only_downloaded(session: aiohttp.ClientSession, emulator: Emulator) -> None:
    medium = emulator.world.media.keep_file("x.html", b"<script>alert(1)</script>", "stream")
    async with session.get(f"/_page/media/{medium.key}") as answer:
        assert answer.content_type == "application/octet-stream"
        assert answer.headers["Content-Disposition"] == "attachment"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    async with session.get("/_page/media/none") as answer:
        assert answer.status == 404
