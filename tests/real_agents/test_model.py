"""The fake model behind `make agents`, over HTTP in each dialect: it remembers, edits in two steps, and counts."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from tests.conformance.agents.fake_openai import FakeOpenAi
from tests.real_agents.mind import WRITTEN
from tests.real_agents.model import Model

Json = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a client of that dialect writes its requests and reads the stream."""

    path: str
    user: Callable[[str], Json]
    results: Callable[[list[str]], list[Json]]
    request: Callable[[list[Json]], Json]
    text_of: Callable[[Json], str]
    tool_of: Callable[[Json], str | None]


def chat_request(messages: list[Json]) -> Json:
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("read", "write")]
    return {"model": "fake", "stream": True, "messages": messages, "tools": tools}


def chat_delta(event: Json) -> Json:
    return dict(event["choices"][0]["delta"]) if event.get("choices") else {}


CHAT = Dialect(
    "/v1/chat/completions",
    lambda text: {"role": "user", "content": text},
    lambda texts: [{"role": "tool", "tool_call_id": "x", "content": text} for text in texts],
    chat_request,
    lambda event: chat_delta(event).get("content") or "",
    lambda event: next((one["function"]["name"] for one in chat_delta(event).get("tool_calls", ())), None),
)
RESPONSES = Dialect(
    "/v1/responses",
    lambda text: {"role": "user", "content": [{"type": "input_text", "text": text}]},
    lambda texts: [{"type": "function_call_output", "call_id": "x", "output": text} for text in texts],
    lambda items: {"input": items, "tools": [{"name": name, "parameters": SCHEMA} for name in ("read", "write")]},
    lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
    lambda event: event.get("item", {}).get("name") if event["type"].endswith("item.done") else None,
)
MESSAGES = Dialect(
    "/v1/messages",
    lambda text: {"role": "user", "content": [{"type": "text", "text": text}]},
    lambda texts: [{"role": "user", "content": [{"type": "tool_result", "content": text} for text in texts]}],
    lambda messages: {
        "model": "fake",
        "stream": True,
        "messages": messages,
        "tools": [{"name": name, "input_schema": SCHEMA} for name in ("read", "write")],
    },
    lambda event: event.get("delta", {}).get("text", ""),
    lambda event: event.get("content_block", {}).get("name"),
)


def gemini_part(event: Json) -> Json:
    return dict(event["candidates"][0]["content"]["parts"][0])


GEMINI = Dialect(
    "/v1beta/models/fake:streamGenerateContent?alt=sse",
    lambda text: {"role": "user", "parts": [{"text": text}]},
    lambda texts: [{"role": "user", "parts": [{"functionResponse": {"response": {"output": text}}} for text in texts]}],
    lambda contents: {
        "contents": contents,
        "tools": [
            {"functionDeclarations": [{"name": name, "parametersJsonSchema": SCHEMA} for name in ("read", "write")]}
        ],
    },
    lambda event: gemini_part(event).get("text", ""),
    lambda event: gemini_part(event).get("functionCall", {}).get("name"),
)


@dataclass(slots=True)
class Client:
    """One conversation in one dialect."""

    dialect: Dialect
    root: str
    written: list[Json] = field(default_factory=list)

    async def ask(self, *texts: str) -> tuple[str, list[str]]:
        self.written += [self.dialect.user(text) for text in texts]
        return await self._send()

    async def tell(self, *results: str) -> tuple[str, list[str]]:
        self.written += self.dialect.results(list(results))
        return await self._send()

    async def _send(self) -> tuple[str, list[str]]:
        """The text, and the tools that the model calls."""
        body = self.dialect.request(self.written)
        async with aiohttp.ClientSession() as session, session.post(self.root + self.dialect.path, json=body) as answer:
            assert answer.status == 200
            lines = (await answer.text()).splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        tools = [tool for event in events if (tool := self.dialect.tool_of(event))]
        return "".join(map(self.dialect.text_of, events)), tools


@pytest.mark.parametrize(
    "dialect", [CHAT, RESPONSES, MESSAGES, GEMINI], ids=["chat", "responses", "messages", "gemini"]
)
async def test_it_remembers_edits_in_two_steps_and_counts(dialect: Dialect) -> None:
    model = Model()
    async with FakeOpenAi(answer=model) as server:
        client = Client(dialect, server.base_url.removesuffix("/v1"))
        assert await client.ask("Please remember: plum") == ("I shall remember plum.", [])
        assert await client.ask("edit: /tmp/note.txt") == ("", ["read"])
        assert await client.tell("before") == ("", ["write"])
        text, tools = await client.tell("written")
        assert (text, tools) == ("The tool says: written", [])
        assert await client.ask("edit: /tmp/note.txt", "<reminder>") == ("", ["read"])
        assert await client.ask("count: 3") == ("1 2 3 ", [])
        assert await client.ask("recall: all") == ("I remember: plum.", [])
        assert model.heard[-1].orders[0] == ("remember", "plum")


async def test_a_request_without_tools_gets_a_title() -> None:
    model = Model()
    async with FakeOpenAi(answer=model) as server, aiohttp.ClientSession() as session:
        body = {"model": "fake", "messages": [{"role": "user", "content": "remember: plum"}]}
        async with session.post(server.base_url + "/chat/completions", json=body) as answer:
            assert (await answer.json())["choices"][0]["message"]["content"] == "Fruit"
        assert model.heard == []


async def test_a_shell_writes_where_there_is_no_tool_for_it() -> None:
    async with FakeOpenAi(answer=Model()) as server, aiohttp.ClientSession() as session:
        shell = {"name": "exec_command", "parameters": {"properties": {"cmd": {}}}}
        body = {"input": [{"role": "user", "content": "edit: /tmp/note.txt"}], "tools": [shell]}
        async with session.post(server.base_url + "/responses", json=body) as answer:
            assert f"echo {WRITTEN} > /tmp/note.txt" in await answer.text()
