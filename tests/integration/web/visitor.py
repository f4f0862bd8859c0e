"""Somebody with a browser's manners at the admin page of a house."""

import re
from collections.abc import Mapping
from typing import Any, Self

import aiohttp
from yarl import URL

from channels.cli.control_client import call_service
from tests.integration.house import House

PAGE: dict[str, dict[str, Any]] = {"web": {"enabled": True, "admin": True, "port": 0}}
TOKEN = re.compile(r'name="token" value="([0-9a-f]{64})"')


class Visitor:
    """Keeps cookies, follows no redirect, and says what it was told: status, text, headers."""

    def __init__(self, house: House) -> None:
        assert house.service is not None
        self.house, self.url, self._desk = house, house.service.web_url, house.service._desk
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.headers: Mapping[str, str] = {}
        self.token = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.session.close()

    async def link(self, user: str | None = None) -> str:
        """A new one-time link, as the control socket gives it."""
        answer = await self._desk.link({"user": user} if user else {})
        return str(answer["url"])

    async def log_in(self, user: str | None = None) -> None:
        """All the way in, with this session's token at hand."""
        code = (await self.link(user)).partition("#")[2]
        assert (await self.post("/admin/login", code=code))[0] == 303
        status, text = await self.get("/admin/settings")
        assert status == 200
        found = TOKEN.search(text)
        assert found is not None
        self.token = found[1]

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        return await self.send("GET", path, headers={"Accept": "text/html"} | headers)

    async def post(self, path: str, headers: Mapping[str, str] | None = None, **fields: str) -> tuple[int, str]:
        """As this page's own form would, with the session's token unless `fields` have another."""
        own = {"Origin": self.url, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
        data = ({"token": self.token} if self.token else {}) | fields
        return await self.send("POST", path, headers=own | dict(headers or {}), data=data)

    async def send(self, method: str, path: str, **more: Any) -> tuple[int, str]:
        address = URL(self.url + path, encoded=True)
        async with self.session.request(method, address, allow_redirects=False, **more) as response:
            self.headers = response.headers.copy()
            return response.status, await response.text()

    @property
    def cookie(self) -> str:
        """The session's secret."""
        found = [cookie.value for cookie in self.session.cookie_jar if cookie.key == "channels_admin"]
        return found[0] if found else ""


def ask_socket(house: House, operation: str, arguments: dict[str, Any]) -> Any:
    """Over the control socket, as the command line does; blocks."""
    return call_service(house.settings.control_socket, operation, arguments)
