"""The seam between the admin page and the running service."""

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from channels.ids import UserId
from channels.rules import access
from channels.service.access_desk import AccessDesk
from channels.service.quota_desk import QuotaDesk
from channels.service.session_desk import SessionDesk
from channels.service.settlement_desk import SettlementDesk
from channels.store.tx import Tx

P = ParamSpec("P")
T = TypeVar("T")

CONSOLE = UserId(access.CONSOLE)  # whoever may open the control socket owns the service


class Desk(Protocol):
    """What the page asks of one boot. While the service starts, everything but `language` raises RetryLater."""

    @property
    def language(self) -> str:
        """zh or en: for people whose browser asks for neither."""
        ...

    def now(self) -> int: ...

    def secret(self) -> str:
        """A new unguessable text."""
        ...

    async def status(self) -> dict[str, Any]:
        """As `channels status --json`."""
        ...

    @property
    def access(self) -> AccessDesk:
        """Who may do what, and who asks."""
        ...

    @property
    def sessions(self) -> SessionDesk:
        """Archiving and deleting."""
        ...

    @property
    def settlement(self) -> SettlementDesk:
        """What waits to be booked, and control over it."""
        ...

    @property
    def quotas(self) -> QuotaDesk:
        """What people may use, and have used."""
        ...

    async def is_admin(self, user_id: UserId) -> bool: ...

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn` in a read transaction."""
        ...

    async def run(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn` in a transaction and commit."""
        ...

    def settings(self) -> Mapping[str, str]:
        """What counts now, for every key that may be set on the page."""
        ...

    async def change_settings(self, wanted: Mapping[str, str | None], by: UserId) -> list[str]:
        """Check, put on record and apply; returns the keys that changed. Raises ConfigError with nothing changed."""
        ...
