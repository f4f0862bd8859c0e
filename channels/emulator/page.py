"""The chat page: static files, one snapshot call, what a person does, and a stream of changes (Server-Sent Events).

All of it lives under `/`, `/gallery`, `/static/…` and `/_page/…`, takes JSON, and answers JSON; a refusal is HTTP 400
with {"error": why}. A page first opens `/_page/events`, then reads `/_page/snapshot`, which carries the number of
the last change that is already in it, so that no change is lost or shown twice across a reconnect.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from channels.emulator.errors import ApiError
from channels.emulator.page_changes import Changes
from channels.emulator.snapshot import chat_view, message_view

if TYPE_CHECKING:
    from channels.emulator import Emulator
    from channels.emulator.messages import Message
    from channels.emulator.world import World

Json = dict[str, Any]

STATIC = Path(__file__).parent / "static"
# No inline script or style, nothing from elsewhere: what a message or card contains can never run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
CONTENT_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
MAX_UPLOAD_BYTES = 110 * 1024 * 1024
SHOWN_INLINE = ("image/png", "image/jpeg", "audio/ogg", "video/mp4")


class Page:
    """The handlers of one emulator's page."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.changes = Changes(world)

    async def index(self, request: web.Request) -> web.StreamResponse:
        return _static("gallery.html" if request.path == "/gallery" else "index.html")

    async def gallery(self, request: web.Request) -> web.Response:
        """The card files of `EmulatorSettings.gallery_folder`, by name: {cards: [{name, text}]}."""
        folder = self._world.settings.gallery_folder
        files = sorted(folder.glob("*.json")) if folder is not None else []
        return _answer({"cards": [{"name": file.name, "text": file.read_text(encoding="utf-8")} for file in files]})

    async def static(self, request: web.Request) -> web.StreamResponse:
        return _static(request.match_info["name"])

    async def snapshot(self, request: web.Request) -> web.Response:
        people = self._world.directory.people
        user = request.query.get("user", "")
        shown = self._world.snapshot(user if user in people else next(iter(people)))
        for chat in shown["chats"]:
            chat["messages"] = [self._view(view["message_id"]) for view in chat["messages"]]
        return _answer(shown | {"number": self.changes.number})

    async def events(self, request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers=HEADERS | {"Content-Type": "text/event-stream"})
        feed = self.changes.open()
        try:
            await stream.prepare(request)
            await stream.write(b": open\n\n")
            async for batch in feed.batches():
                lines = [f"data: {_dump(self._change(*key, number))}\n\n" for key, number in batch.items()]
                await stream.write("".join(lines or [": still here\n\n"]).encode())
        except ConnectionError:
            pass  # the page went away; it reads a snapshot when it comes back
        finally:
            self.changes.close(feed)
        return stream

    def _change(self, kind: str, subject: str, number: int) -> Json:
        if kind == "chat":
            chat = chat_view(self._world, self._world.chat(subject))
            return {"type": "chat", "number": number, "chat": chat | {"messages": []}}
        return {"type": "message", "number": number, "message": self._view(subject)}

    def _view(self, message_id: str) -> Json:
        message = self._world.message(message_id)
        children = [message_view(self._world, self._world.message(each)) for each in message.children]
        return message_view(self._world, message) | {"order": message.number, "children": children}

    async def say(self, request: web.Request) -> web.Response:
        """{user, chat_id, text, mentions: [open_id], thread_id?, parent_id?, in_topic?} → {message_id}."""
        body = await request.json()
        world, bot = self._world, self._world.bot
        wanted = body.get("mentions", [])
        people = [who for who in wanted if who in world.directory.people]
        text = body["text"]
        for number, name in enumerate(self._names(bot.open_id in wanted, people), 1):
            text = text.replace(f"@{name}", f"@_user_{number}", 1)
        message_id = world.say(
            body["user"],
            body["chat_id"],
            content={"text": text},
            mention_bot=bot.open_id in wanted,
            mentions=people,
            **self._place(body),
        )
        return _answer({"message_id": message_id})

    def _names(self, bot: bool, people: list[str]) -> list[str]:
        named = [self._world.bot.name] if bot else []
        return named + [self._world.person(who).name for who in people]

    def _place(self, body: Json) -> Json:
        """Where a message goes: into a topic, under a quoted message, or into a topic that it opens itself."""
        parent = self._world.message(body["parent_id"]) if body.get("parent_id") else None
        thread_id = body.get("thread_id") or None
        if parent is not None and body.get("in_topic") and not thread_id:
            thread_id = parent.thread_id or self._open_topic(parent)
        return {"thread_id": thread_id, "parent_id": parent.message_id if parent is not None else None}

    def _open_topic(self, root: Message) -> str:
        if not self._world.chat(root.chat_id).threads_allowed:
            raise ApiError(230071)
        self._world.timeline.open_thread(root, self._world.identifiers.new("omt_"))
        self._world.emit({"type": "message", "chat_id": root.chat_id, "message_id": root.message_id})
        return root.thread_id

    async def file(self, request: web.Request) -> web.Response:
        """Multipart: user, chat_id, thread_id?, parent_id?, in_topic?, file → {message_id}."""
        form = await request.clone(client_max_size=MAX_UPLOAD_BYTES).post()
        upload = form["file"]
        if not isinstance(upload, web.FileField):
            raise KeyError("file")
        with upload.file as file:
            data = await asyncio.to_thread(file.read)
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        kind = _kind_of(upload.content_type or "")
        place = self._place(fields)
        message_id = self._world.send_file(fields["user"], fields["chat_id"], upload.filename, data, kind, **place)
        return _answer({"message_id": message_id})

    async def click(self, request: web.Request) -> web.Response:
        """{user, message_id, tag, value, form?, name?, option?, …} → World.click's answer."""
        body = await request.json()
        action = {key: value for key, value in body.items() if key not in ("user", "message_id", "value", "tag")}
        answer = await self._world.click(
            body["user"], body["message_id"], body.get("value"), tag=body.get("tag", "button"), **action
        )
        return _answer(answer)

    async def recall(self, request: web.Request) -> web.Response:
        body = await request.json()
        self._world.recall(body["user"], body["message_id"])
        return _answer({})

    async def react(self, request: web.Request) -> web.Response:
        """{user, message_id, emoji_type, reaction_id?}: with a reaction_id it is taken away."""
        body = await request.json()
        if body.get("reaction_id"):
            self._world.unreact(body["user"], body["message_id"], body["reaction_id"])
        else:
            self._world.react(body["user"], body["message_id"], body["emoji_type"])
        return _answer({})

    async def enter(self, request: web.Request) -> web.Response:
        """The person opened their private chat with the bot."""
        body = await request.json()
        self._world.enter_private_chat(body["user"])
        return _answer({})

    async def media(self, request: web.Request) -> web.Response:
        medium = self._world.media.find(request.match_info["key"])
        if medium is None:
            raise web.HTTPNotFound
        inline = medium.content_type in SHOWN_INLINE
        headers = HEADERS | {"Content-Type": medium.content_type if inline else "application/octet-stream"}
        if not inline:
            headers["Content-Disposition"] = "attachment"
        return web.Response(body=medium.data, headers=headers)


def add_routes(app: web.Application, emulator: Emulator) -> None:
    """Serve the chat page of `emulator` from `app`."""
    page = Page(emulator.world)
    app.add_routes(
        [
            web.get("/", page.index),
            web.get("/gallery", page.index),
            web.get("/static/{name}", page.static),
            web.get("/_page/gallery", _guarded(page.gallery)),
            web.get("/_page/snapshot", _guarded(page.snapshot)),
            web.get("/_page/events", page.events),
            web.get("/_page/media/{key}", page.media),
            *(
                web.post(f"/_page/{name}", _guarded(getattr(page, name)))
                for name in ("say", "file", "click", "recall", "react", "enter")
            ),
        ]
    )

    async def close(_: web.Application) -> None:
        page.changes.close_all()

    app.on_shutdown.append(close)


def _guarded(
    handler: Callable[[web.Request], Awaitable[web.Response]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Turn what the world refuses into {"error": …}; other sites may not act here (JSON and same origin only)."""

    async def answer(request: web.Request) -> web.Response:
        origin = request.headers.get("Origin")
        if origin is not None and origin.split("://", 1)[-1] != request.host:
            return _answer({"error": "foreign origin"}, 403)
        try:
            return await handler(request)
        except ApiError as error:
            return _answer({"error": f"{error.msg} ({error.code})", "code": error.code}, 400)
        except (KeyError, ValueError, TypeError) as error:
            return _answer({"error": f"bad request: {error!r}"}, 400)

    return answer


def _kind_of(content_type: str) -> str:
    return {"image": "image", "audio": "audio", "video": "media"}.get(content_type.split("/")[0], "file")


def _static(name: str) -> web.Response:
    path = STATIC / name
    if path.suffix not in CONTENT_TYPES or path.parent != STATIC or not path.is_file():
        raise web.HTTPNotFound
    headers = HEADERS | {"Content-Type": f"{CONTENT_TYPES[path.suffix]}; charset=utf-8"}
    return web.Response(body=path.read_bytes(), headers=headers)


def _answer(value: Json, status: int = 200) -> web.Response:
    return web.Response(text=_dump(value), status=status, headers=HEADERS | {"Content-Type": "application/json"})


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
