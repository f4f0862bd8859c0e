"""Looking at Feishu from outside: whether it can be reached, and what time it has there."""

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

import aiohttp

from channels.feishu.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Reached:
    """`date_ms` is Feishu's clock (whole seconds), None where the answer has no date."""

    date_ms: int | None


@dataclass(frozen=True, slots=True)
class NotReached:
    """Nothing came back."""

    why: str


async def look_at_server(
    session: aiohttp.ClientSession, credentials: Credentials, *, timeout_s: float, proxy: str | None = None
) -> Reached | NotReached:
    """Ask for anything at all; whatever answers has a date. Never raises for what the network does."""
    try:
        async with session.get(
            credentials.base_url + "/open-apis/",
            proxy=proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
        ) as response:
            return Reached(_date_ms(response.headers.get("Date", "")))
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return NotReached(str(error) or type(error).__name__)


def _date_ms(text: str) -> int | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return int(found.replace(tzinfo=found.tzinfo or UTC).timestamp() * 1000)
