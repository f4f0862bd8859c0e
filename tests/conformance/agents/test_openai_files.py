"""What the openai agent sends of a question's files, against a real server over loopback."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from channels.agents.openai_chat import OpenAiAgent
from channels.agents.presets import OpenAiPreset
from channels.agents.protocol import Attachment, TurnRequest
from channels.ids import SessionId, TurnId
from channels.rules.agent_event import Ended, Outcome
from tests.conformance.agents.fake_openai import FakeOpenAi, Reply, finish, words

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAi]:
    async with FakeOpenAi() as made:
        yield made


async def sent(server: FakeOpenAi, folder: Path, *, vision: bool) -> Any:
    """The content of the question as the server got it: a picture and a note came with it."""
    picture, note = folder / "a.png", folder / "note.txt"
    await asyncio.to_thread(picture.write_bytes, PNG)
    await asyncio.to_thread(note.write_text, "remember")
    attachments = (Attachment("image", "a.png", picture, len(PNG)), Attachment("file", "note.txt", note, 8))
    server.script(Reply.of(words("fine"), finish()))
    agent = OpenAiAgent(OpenAiPreset("model", server.base_url, "fake", "sk-key", vision=vision))
    try:
        request = TurnRequest(TurnId("t"), SessionId("s"), "what is it?", None, attachments=attachments)
        events = [event async for event in agent.run(request)]
    finally:
        await agent.close()
    assert events[-1] == Ended(Outcome.COMPLETED)
    return server.requests[0].body["messages"][-1]["content"]


async def test_a_model_that_sees_gets_the_picture(server: FakeOpenAi, tmp_path: Path) -> None:
    text, picture = await sent(server, tmp_path, vision=True)
    assert text == {"type": "text", "text": "what is it?\n\nnote.txt:\n```\nremember\n```"}
    assert picture["type"] == "image_url"
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


async def test_any_other_model_gets_plain_text(server: FakeOpenAi, tmp_path: Path) -> None:
    content = await sent(server, tmp_path, vision=False)
    assert content == "what is it?\n\nnote.txt:\n```\nremember\n```\n\n(Not shown to you: a.png)"
