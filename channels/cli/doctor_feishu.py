"""What `channels doctor` asks of Feishu: reach, clock, credentials, permissions. Nobody sees any of it.

It opens no long connection: Feishu would give events to it. It only asks where one would go.
"""

from collections.abc import Mapping
from typing import Any

import aiohttp

from channels.cli.doctor_words import CONSOLE, PUBLISH, Check, explain, explain_fatal, failed, ok, skipped, warning
from channels.clock import Clock
from channels.config import Settings, resolve_address, resolve_secret
from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.api import Credentials, FeishuApi, Limits, new_session
from channels.feishu.discovery import Endpoint, discover
from channels.feishu.probing import NotReached, look_at_server
from channels.feishu.reconnect import Fatal, TryAgain

CLOCK_WARNING_S, CLOCK_LIMIT_S = 30, 300
HISTORY_SCOPE = "im:message.group_msg"
USER_ID_SCOPE = "contact:user.employee_id:readonly"
# (what for, any one of these permissions, whether nothing works without it)
NEEDS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("messages", ("im:message", "im:message:send_as_bot"), True),
    ("cards that stream", ("cardkit:card:write",), False),
    ("pictures and files", ("im:resource", "im:message", "im:message:readonly"), False),
    ("history of groups", (HISTORY_SCOPE,), False),
    ("user ids", (USER_ID_SCOPE,), False),
)
WITHOUT = {
    "messages": "the bot can say nothing",
    "cards that stream": "answers come as cards that are drawn in larger steps",
    "pictures and files": "what people send besides text cannot be fetched",
    "history of groups": "what was written in groups while the service was away is not found",
    "user ids": "people are known by open_id only, and settings that name user ids do not find them",
}


async def check_feishu(
    settings: Settings, environ: Mapping[str, str], evidence: Mapping[str, Any], clock: Clock
) -> list[Check]:
    """All checks that need the network, in order; each failure skips what cannot work without it."""
    feishu = settings.feishu
    secret = resolve_secret(feishu.app_secret, "feishu.app_secret", environ).reveal()
    credentials = Credentials(feishu.app_id, secret, feishu.domain)
    proxy = resolve_address(feishu.proxy, "feishu.proxy", environ) or None
    async with new_session() as session:
        reach = await _check_reach(session, credentials, proxy, feishu.request_timeout_s, clock)
        if reach[0].state == "failed":
            return [*reach, skipped("credentials, permissions, long connection", "Feishu cannot be reached")]
        limits = Limits(clock, enabled=feishu.rate_limits)
        api = FeishuApi(session, credentials, clock, limits, proxy=proxy, timeout_s=feishu.request_timeout_s)
        try:
            checks = [*reach, *await _check_connection(session, credentials, proxy, feishu.request_timeout_s)]
            bot = await _check_bot(api)
            checks.append(bot)
            if bot.state == "failed":
                return [*checks, skipped("permissions", "the credentials come first")]
            return [*checks, *await _check_scopes(api), await _check_history(api, evidence.get("group"))]
        finally:
            await api.close()


async def _check_reach(
    session: aiohttp.ClientSession, credentials: Credentials, proxy: str | None, timeout_s: float, clock: Clock
) -> list[Check]:
    found = await look_at_server(session, credentials, timeout_s=timeout_s, proxy=proxy)
    if isinstance(found, NotReached):
        mend = "check the network, the name service, feishu.proxy and feishu.domain"
        return [failed("reach", f"{credentials.base_url} does not answer: {found.why}", mend)]
    reach = ok("reach", f"{credentials.base_url} answers")
    if found.date_ms is None:
        return [reach, skipped("clock", "the answer says no time")]
    behind_s = (found.date_ms - clock.wall_ms()) / 1000
    words = f"this machine is {abs(behind_s):.0f} s {'behind' if behind_s > 0 else 'ahead of'} Feishu"
    if abs(behind_s) > CLOCK_LIMIT_S:
        return [reach, failed("clock", words, "set the clock, and keep it right with NTP")]
    if abs(behind_s) > CLOCK_WARNING_S:
        return [reach, warning("clock", words, "set the clock, and keep it right with NTP")]
    return [reach, ok("clock", f"within {abs(behind_s):.0f} s of Feishu's")]


async def _check_connection(
    session: aiohttp.ClientSession, credentials: Credentials, proxy: str | None, timeout_s: float
) -> list[Check]:
    """Where a long connection would go; this is where a wrong domain shows."""
    found = await discover(session, credentials, timeout_s=timeout_s, proxy=proxy)
    match found:
        case Endpoint():
            return [ok("long connection", "Feishu names an address for it")]
        case Fatal(code, msg):
            return [failed("long connection", f"Feishu refuses it with {code}: {msg}", explain_fatal(found))]
        case TryAgain(why):
            return [
                warning("long connection", f"not now: {why}", "try again in a minute; the service does so by itself")
            ]


async def _check_bot(api: FeishuApi) -> Check:
    """Token and bot in one: the bot's own name."""
    try:
        bot = await api.bot_info()
    except (RetryLater, ApiRefused, OutcomeUnknown) as error:
        found, mend = explain(error)
        if isinstance(error, ApiRefused) and error.kind is not CodeKind.SCOPE:
            mend = f"in the console, page 应用能力 (Add Features), give the app a bot, {PUBLISH}"
        return failed("credentials", found, mend)
    return ok("credentials", f"the app's bot is {bot.name!r}, {bot.open_id}")


async def _check_scopes(api: FeishuApi) -> list[Check]:
    try:
        granted = await api.granted_scopes()
    except (RetryLater, ApiRefused, OutcomeUnknown) as error:
        return [skipped("permissions", f"Feishu does not list them: {explain(error)[0]}")]
    return [_check_need(what, names, needed, granted) for what, names, needed in NEEDS]


def _check_need(what: str, names: tuple[str, ...], needed: bool, granted: Mapping[str, bool]) -> Check:
    have = next((name for name in names if granted.get(name)), None)
    title = f"permission for {what}"
    if have is not None:
        return ok(title, have)
    state = "asked for, and not granted by the tenant yet" if any(name in granted for name in names) else "missing"
    found = f"{names[0]} is {state}: {WITHOUT[what]}"
    mend = f"add {names[0]} {CONSOLE}, {PUBLISH}"
    return failed(title, found, mend) if needed else warning(title, found, mend)


async def _check_history(api: FeishuApi, group: str | None) -> Check:
    """The right to read a group's history, tried."""
    if not group:
        return skipped("history", "no group is known yet in which it could be tried")
    try:
        await api.list_messages("chat", group, page_size=1)
    except ApiRefused as refusal:
        if refusal.kind is CodeKind.CHAT_GONE:
            return skipped("history", f"the bot is no longer in {group}")
        found, _ = explain(refusal)
        return warning("history", found, f"add {HISTORY_SCOPE} {CONSOLE}, {PUBLISH}: {WITHOUT['history of groups']}")
    except (RetryLater, OutcomeUnknown) as error:
        return warning("history", *explain(error))
    return ok("history", f"a group's history can be read ({group})")
