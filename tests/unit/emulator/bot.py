"""A bare bot for the emulator's tests: HTTP calls and one long connection, without any SDK and without our product."""

import base64
import json
from dataclasses import dataclass
from typing import Any

import aiohttp

from channels.emulator import Emulator
from channels.emulator.frames import DATA, Frame, decode_frame, encode_frame

IM = "/open-apis/im/v1/messages"
CARDS = "/open-apis/cardkit/v1/cards"
GOOD = b'{"code":200}'


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def code(self) -> int:
        return int(self.body["code"])

    @property
    def data(self) -> dict[str, Any]:
        assert self.code == 0, self.body
        return dict(self.body["data"])


class Bot:
    """Calls with a valid token; `connect` opens the long connection."""

    def __init__(self, emulator: Emulator, session: aiohttp.ClientSession) -> None:
        self.emulator, self.session = emulator, session
        self.token = ""
        self.sockets: list[Socket] = []  # held, so that none is closed by being forgotten

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> Reply:
        if not self.token:
            await self.log_in()
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.session.request(method, path, json=body, params=query, headers=headers) as response:
            text = await response.text()
            return Reply(response.status, json.loads(text), dict(response.headers))

    async def log_in(self) -> None:
        identity = {"app_id": "cli_emulator", "app_secret": "secret"}
        async with self.session.post("/open-apis/auth/v3/tenant_access_token/internal", json=identity) as response:
            self.token = (await response.json())["tenant_access_token"]

    async def send(self, chat_id: str, text: str = "hi", uuid: str = "") -> Reply:
        body = {"receive_id": chat_id, "msg_type": "text", "content": json.dumps({"text": text}), "uuid": uuid}
        return await self.call("POST", IM, body, receive_id_type="chat_id")

    async def reply(self, message_id: str, text: str = "hi", uuid: str = "", in_thread: bool = False) -> Reply:
        body = {"msg_type": "text", "content": json.dumps({"text": text}), "uuid": uuid, "reply_in_thread": in_thread}
        return await self.call("POST", f"{IM}/{message_id}/reply", body)

    async def reply_card(self, message_id: str, card: Any) -> Reply:
        body = {"msg_type": "interactive", "content": json.dumps(card)}
        return await self.call("POST", f"{IM}/{message_id}/reply", body)

    async def create_card(self, card: Any) -> Reply:
        return await self.call("POST", CARDS, {"type": "card_json", "data": json.dumps(card)})

    async def stream(self, card_id: str, text: str, sequence: int, uuid: str = "") -> Reply:
        body = {"content": text, "sequence": sequence, "uuid": uuid}
        return await self.call("PUT", f"{CARDS}/{card_id}/elements/answer/content", body)

    async def connect(self) -> "Socket":
        identity = {"AppID": "cli_emulator", "AppSecret": "secret"}
        async with self.session.post("/callback/ws/endpoint", json=identity) as response:
            url = (await response.json())["data"]["URL"]
        count = len(self.emulator.sockets.connections)
        socket = Socket(await self.session.ws_connect(url))
        self.sockets.append(socket)
        await self.emulator.connected(count + 1)
        return socket


class Socket:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def frame(self) -> Frame:
        message = await self.socket.receive(timeout=10)
        assert message.type is aiohttp.WSMsgType.BINARY, message
        return decode_frame(message.data)

    async def answer(self, frame: Frame, payload: bytes = GOOD) -> None:
        headers = (*frame.headers.items(), ("biz_rt", "1"))
        await self.socket.send_bytes(encode_frame(DATA, headers, payload, service=frame.service, seq_id=frame.seq_id))

    async def event(self, payload: bytes = GOOD) -> dict[str, Any]:
        """The next event, answered with `payload`."""
        frame = await self.frame()
        await self.answer(frame, payload)
        return dict(json.loads(frame.payload))


def answer_of(body: Any) -> bytes:
    """The ack payload that carries a callback's answer."""
    return json.dumps({"code": 200, "data": base64.b64encode(json.dumps(body).encode()).decode()}).encode()


def card_of(*texts: str, streaming: bool = True, **element: Any) -> dict[str, Any]:
    """A schema 2.0 card with one Markdown element per text; the first is named "answer"."""
    elements = [{"tag": "markdown", "content": text} for text in texts]
    elements[0] |= {"element_id": "answer", **element}
    return {"schema": "2.0", "config": {"streaming_mode": streaming}, "body": {"elements": elements}}


def entity(card_id: str) -> dict[str, Any]:
    return {"type": "card", "data": {"card_id": card_id}}
