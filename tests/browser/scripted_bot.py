"""A bot made of raw calls to the emulator: it connects, collects what people do, and answers as a test tells it to."""

import asyncio
import base64
import itertools
import json
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import aiohttp

from channels.emulator import Emulator
from channels.emulator.frames import DATA, decode_frame, encode_frame

Json = dict[str, Any]


class ScriptedBot:
    """`messages` and `clicks` hold event bodies in order of arrival; every click is answered with `click_answer`."""

    def __init__(self, emulator: Emulator) -> None:
        self.messages: asyncio.Queue[Json] = asyncio.Queue()
        self.clicks: asyncio.Queue[Json] = asyncio.Queue()
        self.click_answer: Json = {"toast": {"type": "success", "content": "收到"}}
        self._emulator = emulator
        self._numbers = itertools.count(1)
        self._session = aiohttp.ClientSession(emulator.url)
        self._token = ""
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        settings = self._emulator.settings
        path = "/open-apis/auth/v3/tenant_access_token/internal"
        async with self._session.post(path, json={"app_id": settings.app_id, "app_secret": settings.app_secret}) as got:
            self._token = (await got.json())["tenant_access_token"]
        body = {"AppID": settings.app_id, "AppSecret": settings.app_secret}
        async with self._session.post("/callback/ws/endpoint", json=body) as got:
            address = (await got.json())["data"]["URL"]
        socket = await self._session.ws_connect(address)
        self._reading = asyncio.create_task(self._read(socket))
        await self._emulator.connected()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading
        await self._session.close()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for packet in socket:
            frame = decode_frame(packet.data)
            if frame.method != DATA:
                continue
            event = json.loads(frame.payload)
            answer: Json = {"code": 200}
            if event["header"]["event_type"] == "card.action.trigger":
                answer["data"] = base64.b64encode(json.dumps(self.click_answer).encode()).decode()
            headers = tuple(frame.headers.items())
            payload = json.dumps(answer).encode()
            await socket.send_bytes(encode_frame(DATA, headers, payload, service=frame.service, seq_id=frame.seq_id))
            self._sort(event)

    def _sort(self, event: Json) -> None:
        match event["header"]["event_type"]:
            case "card.action.trigger":
                self.clicks.put_nowait(event["event"])
            case "im.message.receive_v1":
                self.messages.put_nowait(event["event"]["message"])

    async def call(self, method: str, path: str, body: Json) -> Json:
        """One API call under /open-apis; the `data` of its answer, AssertionError when it was refused."""
        headers = {"Authorization": f"Bearer {self._token}"}
        async with self._session.request(method, f"/open-apis/{path}", json=body, headers=headers) as got:
            answer = await got.json()
        assert answer["code"] == 0, answer
        return dict(answer.get("data") or {})

    async def create_card(self, card: Json) -> str:
        made = await self.call("POST", "cardkit/v1/cards", {"type": "card_json", "data": json.dumps(card)})
        return str(made["card_id"])

    async def reply_card(self, message_id: str, card: Json, *, in_thread: bool = False) -> str:
        """Reply with a new card entity; returns its card_id."""
        card_id = await self.create_card(card)
        content = json.dumps({"type": "card", "data": {"card_id": card_id}})
        body = {"msg_type": "interactive", "content": content, "reply_in_thread": in_thread}
        await self.call("POST", f"im/v1/messages/{message_id}/reply", body)
        return card_id

    async def stream(self, card_id: str, text: str, element_id: str = "answer") -> None:
        body = {"content": text} | self._stamp()
        await self.call("PUT", f"cardkit/v1/cards/{card_id}/elements/{element_id}/content", body)

    async def update_card(self, card_id: str, card: Json) -> None:
        body = {"card": {"type": "card_json", "data": json.dumps(card)}} | self._stamp()
        await self.call("PUT", f"cardkit/v1/cards/{card_id}", body)

    async def react(self, message_id: str, emoji_type: str) -> str:
        body = {"reaction_type": {"emoji_type": emoji_type}}
        return str((await self.call("POST", f"im/v1/messages/{message_id}/reactions", body))["reaction_id"])

    async def unreact(self, message_id: str, reaction_id: str) -> None:
        await self.call("DELETE", f"im/v1/messages/{message_id}/reactions/{reaction_id}", {})

    def _stamp(self) -> Json:
        number = next(self._numbers)
        return {"sequence": number, "uuid": f"scripted-{number}"}


def reply_card(text: str, *, running: bool, title: str = "", summary: str = "") -> Json:
    """A card like the product's: state in the header, folded reasoning, the answer, a footer and a Stop button."""
    footer = {
        "tag": "plain_text",
        "content": "输入 1,204 · 输出 356 · 3.2 秒",
        "text_size": "notation",
        "text_color": "grey",
    }
    stop = {
        "tag": "button",
        "type": "danger",
        "size": "small",
        "text": {"tag": "plain_text", "content": "停止", "i18n_content": {"en_us": "Stop"}},
        "behaviors": [{"type": "callback", "value": {"do": "stop", "turn": "t1"}}],
    }
    reasoning = {
        "tag": "collapsible_panel",
        "element_id": "reasoning",
        "expanded": False,
        "border": {"color": "grey", "corner_radius": "6px"},
        "header": {"title": {"tag": "markdown", "content": "**思考过程**"}},
        "elements": [{"tag": "markdown", "content": "先读问题，再查资料。", "text_size": "notation"}],
    }
    return {
        "schema": "2.0",
        "config": {
            "streaming_mode": running,
            "update_multi": True,
            "summary": {"content": summary},
            "streaming_config": {"print_frequency_ms": {"default": 20}, "print_step": {"default": 4}},
        },
        "header": {
            "title": {"tag": "plain_text", "content": title or ("正在回答" if running else "已完成")},
            "template": "blue" if running else "green",
            "icon": {"tag": "standard_icon", "token": "robot_outlined"},
        },
        "body": {
            "elements": [
                reasoning,
                {"tag": "markdown", "element_id": "answer", "content": text},
                {"tag": "hr"},
                {"tag": "div", "text": footer},
                *([stop] if running else []),
            ]
        },
    }
