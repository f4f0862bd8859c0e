"""Names of people, for quotes and forwards. A courtesy: where Feishu gives none, there are none."""

from collections.abc import Iterable

from channels.errors import ApiRefused, OutcomeUnknown, RetryLater
from channels.service.context import Context

KEPT_AT_MOST = 2_000


class People:
    """Remembers names of this boot; after a refusal (the app may not see people) it does not ask again."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._names: dict[str, str] = {}
        self._refused = False

    async def names(self, open_ids: Iterable[str]) -> dict[str, str]:
        """open_id → name, of those that have one. Our own app id is the bot's name."""
        wanted = dict.fromkeys(open_ids)
        unknown = [one for one in wanted if one.startswith("ou_") and one not in self._names]
        if unknown and not self._refused:
            await self._ask(unknown)
        names = {one: self._names[one] for one in wanted if self._names.get(one)}
        app_id = self._context.policy.app_id
        return names | ({app_id: self._context.bot_name} if app_id in wanted and self._context.bot_name else {})

    async def _ask(self, unknown: list[str]) -> None:
        try:
            users = await self._context.feishu.get_users(unknown)
        except ApiRefused:
            self._refused = True
            return
        except (RetryLater, OutcomeUnknown):
            return
        if len(self._names) + len(unknown) > KEPT_AT_MOST:
            self._names.clear()
        self._names |= dict.fromkeys(unknown, "") | {str(user.open_id): user.name for user in users}
