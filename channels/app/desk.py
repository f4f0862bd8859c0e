"""The admin page's desk over one boot, and the operations of `channels web …`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

from aiohttp import web

from channels.app.building import Parts, policy_from, preferences_from
from channels.app.figures import Figures
from channels.config import Settings
from channels.errors import CodeKind, Refused, RetryLater
from channels.ids import OpenId, UserId
from channels.rules.access import Actor
from channels.service.access_desk import AccessDesk, PageLink
from channels.service.overlay import overlaid, values_in_force
from channels.service.quota_desk import QuotaDesk
from channels.service.session_desk import SessionDesk
from channels.service.settlement_desk import SettlementDesk
from channels.store.transactions.access import admins_of
from channels.store.transactions.web import LINK_LIFE_MS, change_settings, make_link, read_overlay
from channels.store.tx import Tx
from channels.web.admin.desk import CONSOLE
from channels.web.admin.session_secrets import hash_secret

P = ParamSpec("P")
T = TypeVar("T")

TRY_AGAIN_MS = 1000


class AdminDesk:
    """A `web.admin.desk.Desk`. `settings`: those of the file; what admins have set stands in the domain file."""

    def __init__(self, figures: Figures, settings: Settings) -> None:
        self._figures, self._file = figures, settings
        self.in_force = settings
        self.web_url = ""  # where the health web listens

    @property
    def language(self) -> str:
        return self._file.ui.language

    def now(self) -> int:
        return self._parts.context.now()

    def secret(self) -> str:
        return self._parts.context.ids.secret()

    async def status(self) -> dict[str, Any]:
        return await self._figures.status()

    async def is_admin(self, user_id: UserId) -> bool:
        context = self._parts.context
        return user_id in await self.read(admins_of, context.policy.access, context.now())

    @property
    def access(self) -> AccessDesk:
        return self._parts.desk

    @property
    def sessions(self) -> SessionDesk:
        return self._parts.sessions

    @property
    def settlement(self) -> SettlementDesk:
        return self._parts.ledger.desk

    @property
    def quotas(self) -> QuotaDesk:
        return self._parts.ledger.quotas

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._parts.context.database.read(fn, *args, **kwargs)

    async def run(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._parts.context.database.run(fn, *args, **kwargs)

    def settings(self) -> Mapping[str, str]:
        return values_in_force(self.in_force)

    async def change_settings(self, wanted: Mapping[str, str | None], by: UserId) -> list[str]:
        context = self._parts.context
        overlay = await self.read(read_overlay)
        merged = {key: value for key, value in (overlay | dict(wanted)).items() if value is not None}
        overlaid(self._file, merged)
        actor = Actor(by, OpenId(""), "page")
        changed = await self.run(change_settings, dict(wanted), actor, context.now())
        # from the file again, not from `merged`: two admins may have changed different settings at the same moment
        self.in_force = overlaid(self._file, await self.read(read_overlay))
        admins = context.preferences.admins  # also those that no settings name
        context.preferences = replace(preferences_from(self.in_force), admins=admins)
        context.policy = replace(policy_from(self.in_force), bot_open_id=context.policy.bot_open_id)
        await self.access.settle()
        return changed

    async def link(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """{"user": user_id of an admin, or none for whoever opens the link} → {"url", "user", "expires_in_s"}.

        The secret behind the address's # works once.
        """
        user_id = UserId(str(arguments.get("user") or CONSOLE))
        link = await self._make_link(Actor(UserId(CONSOLE), OpenId(""), "cli"), frozenset({user_id}))
        return {"url": link.url, "user": user_id, "expires_in_s": link.life_ms // 1000}

    async def link_for(self, admin: Actor) -> PageLink:
        """The same for an admin who asks the bot for it. Nobody is the console in a chat, whatever their user_id."""
        return await self._make_link(admin, admin.ids - {CONSOLE})

    async def _make_link(self, actor: Actor, ids: frozenset[UserId]) -> PageLink:
        """A link for the admin whom one of these ids means."""
        if not self._file.web.admin or not self._file.web.enabled:
            raise Refused("page_off", "the admin page is off: set web.admin = true and restart the service")
        context = self._parts.context
        known = ids & (await self.read(admins_of, context.policy.access, context.now()) | {CONSOLE})
        if not known:
            raise Refused("not_admin", f"{', '.join(sorted(ids))} is no admin of this bot")
        code, user_id = self.secret(), min(known, key=lambda one: one.startswith("open:"))
        if await self.run(make_link, hash_secret(code), user_id, actor, self.now()) is None:
            raise Refused("too_many_links", "too many links wait to be used; they expire after ten minutes")
        address = self._file.web.public_url or self.web_url
        return PageLink(f"{address}/admin/login#{code}", LINK_LIFE_MS, local=not self._file.web.public_url)

    def extend(self, app: web.Application) -> None:
        """Put the page on the health web's application. Imported where it is switched on: templates cost a twentieth of
        the start."""
        from channels.web.admin.application import add_admin_page

        url = self._file.web.public_url
        names = {name for name in (self._file.web.host, urlsplit(url).hostname) if name}
        add_admin_page(app, self, names, secure=url.startswith("https:"))

    @property
    def _parts(self) -> Parts:
        if self._figures.parts is None:
            raise RetryLater(TRY_AGAIN_MS, CodeKind.OTHER, why="the service is still starting; ask again in a moment")
        return self._figures.parts
