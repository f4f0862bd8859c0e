"""One HTTP call to Feishu, from the wait for its turn to a value or one of three errors.

Order of a call: token → room in the limits → probe "before" → request → status has come: probe "after_effect" → body
read and judged → probe "after_answer" → value. The probe is a hook for the kill harness; in service it does nothing.
What an exception means depends on whether the request can have left: aiohttp gives `connect` its own limit, which
covers the wait for a pooled connection and the handshake, so that whatever ends later ended after the request.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from channels.clock import Clock
from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.answers import HttpAnswer, data_of, read_answer
from channels.feishu.credentials import Credentials
from channels.feishu.limits import Limits
from channels.feishu.tokens import Token, Tokens
from channels.feishu.windows import Key

Probe = Callable[[str, str], None]
Params = Sequence[tuple[str, str]]

_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
_LARGEST_JSON = 16 * 2**20
_TOKEN_PATH = "/open-apis/auth/v3/tenant_access_token/internal"
_TOKEN_PAUSE_MS = 5000


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `name` is the `FeishuApi` method.

    `effect` says whether it can change something that a person sees, so that silence after sending means "unknown";
    a read, an upload or a new card entity that nobody was sent can simply be made again.
    """

    name: str
    method: str
    path: str
    effect: bool = False
    keys: tuple[Key, ...] = ()
    params: Params = ()
    json: Mapping[str, Any] | None = None
    form: Callable[[], aiohttp.FormData] | None = None
    largest_bytes: int = _LARGEST_JSON
    timeout_s: float | None = None


def new_session() -> aiohttp.ClientSession:
    """A session as this floor wants it: no environment proxy, no cookies, and bodies in plain UTF-8, as the budgets of
    cards count them. The caller closes it."""
    return aiohttp.ClientSession(trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), json_serialize=dump_body)


def dump_body(value: Any) -> str:
    """JSON text that can always be encoded: half of a surrogate pair, which no UTF-8 has, becomes "?"."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


class Transport:
    """Makes calls for one app. Only RetryLater, ApiRefused and OutcomeUnknown leave it."""

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
        self._session, self._credentials, self._limits = session, credentials, limits
        self._proxy, self._timeout_s = proxy, timeout_s
        self._probe = probe or _ignore
        self._tokens = Tokens(self._fetch_token, clock)
        self.counts: Counter[str] = Counter()

    async def call(self, call: Call) -> Mapping[str, Any]:
        """The whole JSON body of a good answer."""
        await self._wait_for_turn(call)
        return (await self._ask(call))[1]

    async def data(self, call: Call) -> Mapping[str, Any]:
        """The `data` object of a good answer."""
        return data_of(await self.call(call))

    async def try_data(self, call: Call) -> Mapping[str, Any] | None:
        """As `data`, but None, with nothing sent, when the limits have no room now."""
        await self._token()
        if not self._limits.try_acquire(self._keys(call)):
            return None
        return data_of((await self._ask(call))[1])

    async def download(self, call: Call) -> bytes:
        """The bytes of a file."""
        await self._wait_for_turn(call)
        return (await self._ask(call))[0].body

    async def close(self) -> None:
        """End what runs in the background. The session is the caller's."""
        await self._tokens.close()

    async def _wait_for_turn(self, call: Call) -> None:
        """Room in the limits, with a token at hand: time spent between the two would bunch the calls up again."""
        await self._token()
        await self._limits.acquire(self._keys(call))

    async def _ask(self, call: Call) -> tuple[HttpAnswer, Mapping[str, Any]]:
        """A good answer. A token that Feishu rejects is dropped, and the call repeated once with a new one."""
        token = await self._token()
        try:
            return await self._exchange(call, token)
        except ApiRefused as refusal:
            if refusal.kind is not CodeKind.TOKEN:
                raise
        self._tokens.drop(token)
        try:
            return await self._exchange(call, await self._token())
        except ApiRefused as refusal:
            if refusal.kind is not CodeKind.TOKEN:
                raise
            raise RetryLater(_TOKEN_PAUSE_MS, CodeKind.TOKEN, refusal.code, refusal.msg) from refusal

    async def _token(self) -> str:
        """A token, or RetryLater: a refused token says nothing about the call that wanted it."""
        try:
            return await self._tokens.get()
        except ApiRefused as refusal:
            raise RetryLater(_TOKEN_PAUSE_MS, CodeKind.TOKEN, refusal.code, refusal.msg) from refusal

    async def _fetch_token(self) -> Token:
        body = {"app_id": self._credentials.app_id, "app_secret": self._credentials.app_secret}
        call = Call("fetch_token", "POST", _TOKEN_PATH, json=body)
        await self._limits.acquire(self._keys(call))
        _, document = await self._exchange(call, "")
        value, lifetime = document.get("tenant_access_token"), document.get("expire")
        if not isinstance(value, str) or not value:
            raise RetryLater(0, CodeKind.SERVER, why="an answer without a token")
        seconds = float(lifetime) if isinstance(lifetime, int | float) and lifetime > 0 else 60.0
        return Token(value, seconds)

    async def _exchange(self, call: Call, token: str) -> tuple[HttpAnswer, Mapping[str, Any]]:
        """One request and what it came to; the only place where a probe is passed."""
        self.counts[call.name] += 1
        self._probe("before", call.name)
        try:
            answer = await self._request(call, token)
        except _NEVER_SENT as error:
            raise RetryLater(0, CodeKind.SERVER, why=f"not sent: {type(error).__name__}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if call.effect:
                raise OutcomeUnknown(f"{call.name}: {type(error).__name__} after sending") from error
            raise RetryLater(0, CodeKind.SERVER, why=type(error).__name__) from error
        document = self._judge(call, answer)
        self._probe("after_answer", call.name)
        return answer, document

    async def _request(self, call: Call, token: str) -> HttpAnswer:
        timeout_s = call.timeout_s or self._timeout_s
        options: dict[str, Any] = {"json": call.json} if call.json is not None else {}
        if call.form is not None:
            options["data"] = call.form()
        async with self._session.request(
            call.method,
            self._credentials.base_url + call.path,
            params=call.params or None,
            headers={"Authorization": f"Bearer {token}"} if token else None,
            proxy=self._proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s, connect=timeout_s / 2),
            **options,
        ) as response:
            self._probe("after_effect", call.name)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return HttpAnswer(response.status, await _read(response, call.largest_bytes), headers)

    def _judge(self, call: Call, answer: HttpAnswer) -> Mapping[str, Any]:
        """The JSON body of a good answer ({} for a file). A refusal over rates closes the key that was over."""
        if answer.status < 300 and _is_file(call, answer):
            return {}
        try:
            return read_answer(answer, call.name, effect=call.effect)
        except RetryLater as refusal:
            if refusal.kind is CodeKind.RATE:
                self._limits.close(self._rated_key(call, answer), refusal.after_ms)
            raise

    def _rated_key(self, call: Call, answer: HttpAnswer) -> Key:
        """Which key was over: a limit of 50 and more is the API's, else the chat's, message's or card's."""
        keys = self._keys(call)
        return keys[0] if answer.limit_per_window >= 50 else keys[-1]

    @staticmethod
    def _keys(call: Call) -> tuple[Key, ...]:
        return (("api", call.name), *call.keys)


async def _read(response: aiohttp.ClientResponse, largest_bytes: int) -> bytes:
    """The body, refused as too large as soon as that shows."""
    if (response.content_length or 0) > largest_bytes:
        raise ApiRefused(CodeKind.TOO_LARGE, response.status, f"{response.content_length} bytes")
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > largest_bytes:
            raise ApiRefused(CodeKind.TOO_LARGE, response.status, f"more than {largest_bytes} bytes")
        parts.append(part)
    return b"".join(parts)


def _is_file(call: Call, answer: HttpAnswer) -> bool:
    """Whether a 2xx answer to a download is the file (which may itself be JSON) and not an error in an envelope."""
    if call.name != "download":
        return False
    return "content-disposition" in answer.headers or "json" not in answer.headers.get("content-type", "")


def _ignore(point: str, name: str) -> None:
    pass
