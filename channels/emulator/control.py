"""Control of a running emulator by another process, over HTTP, as JSON.

| call | body → answer |
|---|---|
| POST /_emulator/world/NAME | the arguments of that method of `World` by name → `{"result": …}` |
| | NAME: say send_file forward click recall edit react unreact read enter_private_chat add_bot remove_bot disband |
| | `send_file` takes `data` in base64; `click` answers when the bot has answered |
| POST /_emulator/burst | `{user, chat_id, count, text}`: `count` messages at once → `{"message_ids"}` |
| POST /_emulator/faults | the fields of `Fault`; DELETE removes all |
| POST /_emulator/settings, /_emulator/behaviour | fields of `EmulatorSettings`, `SocketBehaviour` to change |
| POST /_emulator/connections | `{"do": "cut" or "mute" or "unmute" or "mute_present"}` → `{"connections"}` |
| POST /_emulator/advance | `{"seconds"}` |
| POST /_emulator/tokens/revoke | makes every tenant access token invalid |
| POST /_emulator/registration | `{"decision", "brand" …}`: what the person decides in the device flow |
| POST /_emulator/wait | what to wait for, with `timeout_s` (10): `{"connections": n}`, `{"pings": n}`, |
| | `{"replies_to": message_id}`, `{"acked": message_id}`, `{"calls": kind, "count": n}`; 408 when it does not come |
| GET /_emulator/ledger | calls, deliveries, toasts …; with `?message_id=` all about that message |
| GET /_emulator/snapshot?user=NAME | what this person sees |
| GET /_emulator/state | connections, people, chats, clock |

A mistake in the request answers 400 with `{"error"}`.
"""

import base64
import dataclasses
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from channels.emulator.deliveries import Deliveries
from channels.emulator.errors import ApiError
from channels.emulator.faults import Faults
from channels.emulator.limits import Tokens
from channels.emulator.snapshot import message_view
from channels.emulator.sockets import Sockets
from channels.emulator.views import Json
from channels.emulator.world import World

METHODS = frozenset(
    [
        *("say", "send_file", "forward", "recall", "edit", "react", "unreact", "read"),
        *("enter_private_chat", "add_bot", "remove_bot", "disband", "click"),
    ]
)


@dataclass(frozen=True, slots=True)
class Control:
    """The parts of an emulator that other processes may reach."""

    world: World
    faults: Faults
    tokens: Tokens
    sockets: Sockets
    deliveries: Deliveries

    def add_routes(self, app: web.Application) -> None:
        for method, path, run in (
            ("POST", "world/{name}", self._world_call),
            ("POST", "burst", self._burst),
            ("POST", "faults", self._add_fault),
            ("DELETE", "faults", self._clear_faults),
            ("POST", "settings", self._change_settings),
            ("POST", "behaviour", self._change_behaviour),
            ("POST", "connections", self._connections),
            ("POST", "advance", self._advance),
            ("POST", "tokens/revoke", self._revoke),
            ("POST", "registration", self._registration),
            ("POST", "wait", self._wait),
            ("GET", "ledger", self._ledger),
            ("GET", "snapshot", self._snapshot),
            ("GET", "state", self._state),
        ):
            app.router.add_route(method, f"/_emulator/{path}", _answering(run))

    async def _world_call(self, request: web.Request, body: Json) -> Json:
        name = request.match_info["name"]
        if name not in METHODS:
            raise ValueError(f"unknown method {name!r}")
        if name == "send_file":
            body["data"] = base64.b64decode(body["data"])
        result = getattr(self.world, name)(**body)
        return {"result": await result if isinstance(result, Awaitable) else result}

    async def _burst(self, request: web.Request, body: Json) -> Json:
        count, text = int(body.pop("count")), body.pop("text", "burst")
        return {"message_ids": [self.world.say(text=f"{text} {n}", **body) for n in range(count)]}

    async def _add_fault(self, request: web.Request, body: Json) -> Json:
        self.faults.add_json(body)
        return {}

    async def _clear_faults(self, request: web.Request, body: Json) -> Json:
        self.faults.clear()
        return {}

    async def _change_settings(self, request: web.Request, body: Json) -> Json:
        for key, value in body.items():
            current = getattr(self.world.settings, key)
            setattr(self.world.settings, key, type(current)(value) if isinstance(current, (set, tuple)) else value)
        return {}

    async def _change_behaviour(self, request: web.Request, body: Json) -> Json:
        for key, value in body.items():
            getattr(self.sockets.behaviour, key)
            setattr(self.sockets.behaviour, key, value)
        return {}

    async def _connections(self, request: web.Request, body: Json) -> Json:
        count = len(self.sockets.connections)
        match body.get("do"):
            case "cut":
                self.sockets.cut()
            case "mute" | "unmute":
                self.sockets.mute(body["do"] == "mute")
            case "mute_present":
                self.sockets.mute_present()
            case other:
                raise ValueError(f"unknown action {other!r}")
        return {"connections": count}

    async def _advance(self, request: web.Request, body: Json) -> Json:
        self.world.clock.advance(float(body["seconds"]))
        return {"now_ms": self.world.clock.now_ms()}

    async def _registration(self, request: web.Request, body: Json) -> Json:
        for key, value in body.items():
            setattr(self.world.registration, key, value)
        return {}

    async def _revoke(self, request: web.Request, body: Json) -> Json:
        self.tokens.revoke()
        return {}

    async def _wait(self, request: web.Request, body: Json) -> Json:
        await self.world.ledger.until(self._fact(body), float(body.get("timeout_s", 10)))
        return {}

    def _fact(self, body: Json) -> Callable[[], object]:
        ledger, connections = self.world.ledger, self.sockets.connections
        match body:
            case {"connections": int(count)}:
                return lambda: len(connections) >= count
            case {"pings": int(count)}:
                return lambda: sum(each.pings for each in connections.values()) >= count
            case {"replies_to": str(message_id)}:
                return lambda: ledger.visible_replies(message_id)
            case {"acked": str(message_id)}:
                return lambda: any(each.ack_code == 200 for each in ledger.deliveries(message_id))
            case {"calls": str(kind)}:
                return lambda: sum(call.done_ms > 0 for call in ledger.calls(kind)) >= int(body.get("count", 1))
        raise ValueError("nothing to wait for")

    async def _ledger(self, request: web.Request, body: Json) -> Json:
        ledger, message_id = self.world.ledger, request.query.get("message_id")
        if message_id is None:
            return {
                "calls": [dataclasses.asdict(each) for each in ledger.calls(request.query.get("kind"))],
                "deliveries": [dataclasses.asdict(each) for each in ledger.deliveries()],
                "reactions": [dataclasses.asdict(each) for each in ledger.reaction_changes],
                "toasts": [dataclasses.asdict(each) for each in ledger.toasts],
                "notifications": [dataclasses.asdict(each) for each in ledger.notifications],
            }
        replies = ledger.visible_replies(message_id)
        return {
            "visible_replies": [message_view(self.world, each) for each in replies],
            "card_states": [
                {"at_ms": each.at_ms, "call": each.call, "sequence": each.sequence, "card": each.card}
                for each in ledger.card_states(message_id)
            ],
            "reactions": ledger.reactions(message_id),
            "deliveries": [dataclasses.asdict(each) for each in ledger.deliveries(message_id)],
        }

    async def _snapshot(self, request: web.Request, body: Json) -> Json:
        return self.world.snapshot(request.query["user"])

    async def _state(self, request: web.Request, body: Json) -> Json:
        directory = self.world.directory
        return {
            "connections": [
                {"id": each.connection_id, "events": each.events_sent, "pings": each.pings, "muted": each.muted}
                for each in self.sockets.connections.values()
            ],
            "waiting_acks": self.deliveries.open_attempts,
            "people": [dataclasses.asdict(each) for each in directory.people.values()],
            "chats": [dataclasses.asdict(each) | {"kind": each.kind.value} for each in directory.chats.values()],
            "bot": dataclasses.asdict(self.world.bot),
            "now_ms": self.world.clock.now_ms(),
        }


def _answering(
    run: Callable[[web.Request, Json], Awaitable[Json]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            raw = await request.read()
            body = json.loads(raw) if raw else {}
            return web.json_response(await run(request, body))
        except TimeoutError:
            return web.json_response({"error": "timeout"}, status=408)
        except (ApiError, KeyError, ValueError, TypeError, AttributeError) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)

    return handle
