"""All calls to Feishu, as one object.

Only three errors leave a method (channels.errors): `RetryLater`, `ApiRefused`, `OutcomeUnknown`. Each method is one
request (listings: one per page), waits for its turn in the limits, renews the token by itself and passes the kill
harness's probe. Methods are named after what they do to Feishu; `counts` holds how often each was asked.
"""

from collections import Counter

import aiohttp

from channels.clock import Clock
from channels.feishu.cardkit import CardCalls
from channels.feishu.chats import ChatCalls
from channels.feishu.credentials import Credentials
from channels.feishu.limits import Limits
from channels.feishu.media import MediaCalls
from channels.feishu.messages import MessageCalls
from channels.feishu.reactions import ReactionCalls
from channels.feishu.transport import Probe, Transport, new_session

__all__ = ["Credentials", "FeishuApi", "Limits", "Probe", "new_session"]


class FeishuApi(MessageCalls, ReactionCalls, CardCalls, MediaCalls, ChatCalls):
    """One app at Feishu. The session stays the caller's; `close` only ends a token renewal under way."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        credentials: Credentials,
        clock: Clock,
        limits: Limits,
        *,
        proxy: str | None = None,
        timeout_s: float = 10.0,
        probe: Probe | None = None,
    ) -> None:
        self._transport = Transport(session, credentials, clock, limits, proxy=proxy, timeout_s=timeout_s, probe=probe)

    @property
    def counts(self) -> Counter[str]:
        """Requests made, by method name; fetch_token is among them."""
        return self._transport.counts

    async def close(self) -> None:
        """End what runs in the background."""
        await self._transport.close()
