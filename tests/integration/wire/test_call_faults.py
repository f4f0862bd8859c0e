"""What each way of failing is taken for, on a call with an effect and on a read."""

import asyncio
import json
import socket

import aiohttp
import pytest

from channels.clock import SystemClock
from channels.emulator import GROUP, Emulator, Fault
from channels.errors import ApiRefused, CodeKind, OutcomeUnknown, RetryLater
from channels.feishu.api import Credentials, FeishuApi, Limits
from channels.ids import ChatId, MessageId, SendUuid

SEND = "POST /open-apis/im/v1/messages"
GET = "GET /open-apis/im/v1/messages/*"
TOKEN = "POST /open-apis/auth/v3/tenant_access_token/internal"
TEXT = json.dumps({"text": "hello"})


async def send(api: FeishuApi, uuid: str = "u1") -> str:
    return (await api.send_message(ChatId(GROUP), "text", TEXT, SendUuid(uuid))).message_id


def sent_messages(emulator: Emulator) -> int:
    return len({call.result_id for call in emulator.ledger.calls("im.message.create") if call.result_id})


@pytest.mark.parametrize(
    "fault",
    [
        Fault(match=SEND, kind="drop_after"),
        Fault(match=SEND, kind="cut"),
        Fault(match=SEND, kind="empty", status=200, effect=True),
        Fault(match=SEND, kind="html", status=200, effect=True),
        Fault(match=SEND, kind="drop_after", seconds=30),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}-{fault.seconds}",
)
async def test_silence_after_the_effect_is_unknown_and_the_same_uuid_makes_one_message(
    session: aiohttp.ClientSession, credentials: Credentials, emulator: Emulator, fault: Fault
) -> None:
    api = FeishuApi(session, credentials, SystemClock(), Limits(SystemClock()), timeout_s=0.5)
    await api.bot_info()  # the token is there
    fault.seen = 0
    emulator.faults.add(fault)
    with pytest.raises(OutcomeUnknown):
        await send(api)
    assert sent_messages(emulator) == 1
    emulator.faults.clear()
    await send(api)
    assert sent_messages(emulator) == 1, "the repeat found the first message"
    await api.close()


@pytest.mark.parametrize("kind", ["drop", "cut", "empty", "mute"])
async def test_a_read_that_broke_may_be_made_again(
    session: aiohttp.ClientSession, credentials: Credentials, emulator: Emulator, kind: str
) -> None:
    api = FeishuApi(session, credentials, SystemClock(), Limits(SystemClock()), timeout_s=0.5)
    message_id = MessageId(emulator.world.say("Alice", GROUP, "?"))
    await api.bot_info()
    emulator.faults.add(Fault(match=GET, kind=kind, times=None, status=200))
    with pytest.raises(RetryLater) as caught:
        await api.get_message(message_id)
    assert caught.value.kind is CodeKind.SERVER
    await api.close()


@pytest.mark.parametrize(("kind", "status"), [("html", 502), ("empty", 500), ("status", 503)])
async def test_a_server_error_is_retried_with_the_same_uuid(
    api: FeishuApi, emulator: Emulator, kind: str, status: int
) -> None:
    emulator.faults.add(Fault(match=SEND, kind=kind, status=status))
    with pytest.raises(RetryLater) as caught:
        await send(api)
    assert caught.value.kind is CodeKind.SERVER
    await send(api)
    assert sent_messages(emulator) == 1


async def test_what_never_left_may_be_sent_again(session: aiohttp.ClientSession) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = Credentials("a", "b", f"http://127.0.0.1:{closed.getsockname()[1]}")
        api = FeishuApi(session, nobody, SystemClock(), Limits(SystemClock()), timeout_s=2.0)
        with pytest.raises(RetryLater) as caught:
            await send(api)
    assert caught.value.kind is CodeKind.SERVER
    assert api.counts == {"fetch_token": 1}


@pytest.mark.parametrize("domain", ["http://no-such-host.invalid", "not an address"])
async def test_an_address_that_leads_nowhere_is_certain(
    session: aiohttp.ClientSession, credentials: Credentials, emulator: Emulator, domain: str
) -> None:
    api = FeishuApi(session, credentials, SystemClock(), Limits(SystemClock()), timeout_s=2.0)
    await api.bot_info()
    api._transport._credentials = Credentials("a", "b", domain)
    with pytest.raises(RetryLater):
        await send(api)


async def test_a_full_pool_is_certain(credentials: Credentials, emulator: Emulator) -> None:
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(connector=connector) as session:
        api = FeishuApi(session, credentials, SystemClock(), Limits(SystemClock()), timeout_s=0.5)
        await api.bot_info()
        mute = emulator.faults.add(Fault(match=GET, kind="mute"))
        hanging = asyncio.create_task(api.get_message(MessageId("om_hanging")))
        async with asyncio.timeout(5):
            while not mute.seen:  # noqa: ASYNC110 (a fault has no signal)
                await asyncio.sleep(0)
        with pytest.raises(RetryLater) as caught:
            await send(api)
        assert "not sent" in caught.value.why
        with pytest.raises(RetryLater):
            await hanging
    assert sent_messages(emulator) == 0


async def test_a_refused_token_is_dropped_once_and_the_call_repeated(api: FeishuApi, emulator: Emulator) -> None:
    await api.bot_info()
    emulator.faults.add(Fault(match=SEND, kind="error", code=99991663))
    await send(api)
    assert (api.counts["fetch_token"], api.counts["send_message"]) == (2, 2)
    assert sent_messages(emulator) == 1


async def test_a_token_that_is_refused_again_waits(api: FeishuApi, emulator: Emulator) -> None:
    emulator.faults.add(Fault(match=SEND, kind="error", code=99991663, times=None))
    with pytest.raises(RetryLater) as caught:
        await send(api)
    assert (caught.value.kind, caught.value.code) == (CodeKind.TOKEN, 99991663)
    assert api.counts["send_message"] == 2


async def test_fifty_calls_share_one_token(session: aiohttp.ClientSession, emulator: Emulator) -> None:
    credentials = Credentials("cli_emulator", "secret", emulator.url)
    api = FeishuApi(session, credentials, SystemClock(), Limits(SystemClock()))
    await asyncio.gather(*(api.bot_info() for _ in range(50)))
    assert api.counts == {"fetch_token": 1, "bot_info": 50}
    await api.close()


async def test_a_wrong_secret_refuses_no_message(session: aiohttp.ClientSession, emulator: Emulator) -> None:
    api = FeishuApi(session, Credentials("cli_emulator", "wrong", emulator.url), SystemClock(), Limits(SystemClock()))
    with pytest.raises(RetryLater) as caught:
        await send(api)
    assert caught.value.kind is CodeKind.TOKEN
    assert caught.value.code != 0
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 400])
async def test_a_rate_limit_closes_the_key_for_as_long_as_the_header_says(
    api: FeishuApi, emulator: Emulator, status: int
) -> None:
    headers = {"x-ogw-ratelimit-reset": "52", "x-ogw-ratelimit-limit": "5"}
    emulator.faults.add(Fault(match=SEND, kind="error", code=99991400, status=status, headers=headers))
    with pytest.raises(RetryLater) as caught:
        await send(api)
    assert (caught.value.kind, caught.value.after_ms) == (CodeKind.RATE, 52_000)
    with pytest.raises(RetryLater) as caught:
        await send(api)
    assert 50_000 < caught.value.after_ms <= 52_000, "told at once, without asking again"
    assert api.counts["send_message"] == 1
    other = emulator.world.private_chat("Alice")
    await api.send_message(ChatId(other), "text", TEXT, SendUuid("u2"))


async def test_an_api_wide_limit_closes_the_api(api: FeishuApi, emulator: Emulator) -> None:
    headers = {"x-ogw-ratelimit-reset": "40", "x-ogw-ratelimit-limit": "1000"}
    emulator.faults.add(Fault(match=SEND, kind="error", code=99991400, status=429, headers=headers))
    with pytest.raises(RetryLater):
        await send(api)
    other = emulator.world.private_chat("Alice")
    with pytest.raises(RetryLater):
        await api.send_message(ChatId(other), "text", TEXT, SendUuid("u2"))
    assert api.counts["send_message"] == 1
    await api.bot_info()


async def test_a_business_error_is_a_refusal_whatever_its_status(api: FeishuApi, emulator: Emulator) -> None:
    for status in (400, 200):
        emulator.faults.add(Fault(match=SEND, kind="error", code=230002, status=status))
        with pytest.raises(ApiRefused) as caught:
            await send(api)
        assert (caught.value.kind, caught.value.code) == (CodeKind.CHAT_GONE, 230002)
        assert caught.value.log_id


async def test_a_burst_to_one_chat_keeps_to_the_rate(api: FeishuApi, emulator: Emulator) -> None:
    await asyncio.gather(*(send(api, f"u{number}") for number in range(11)))
    assert {call.code for call in emulator.ledger.calls("im.message.create")} == {0}
    assert sent_messages(emulator) == 11


async def test_a_caller_that_gives_up_leaves_the_others_alone(api: FeishuApi, emulator: Emulator) -> None:
    emulator.faults.add(Fault(match=TOKEN, kind="delay", seconds=0.1))
    first, second = asyncio.create_task(send(api, "u1")), asyncio.create_task(send(api, "u2"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert api.counts["fetch_token"] == 1


async def test_secrets_are_in_no_error_and_no_repr(credentials: Credentials) -> None:
    assert "secret" not in repr(credentials).replace("app_secret", "")
