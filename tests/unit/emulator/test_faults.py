"""Failures on request, rate limits, tokens, the handshake: what goes wrong, and whether the effect happened."""

import asyncio
import json

import aiohttp
import pytest

from channels.emulator import GROUP, Emulator, Fault
from tests.unit.emulator.bot import CARDS, IM, Bot, card_of

REPLY = "POST /open-apis/im/v1/messages/*/reply"


@pytest.mark.parametrize(("kind", "visible"), [("drop_after", 1), ("cut", 1), ("drop", 0)])
async def test_answer_is_lost(emulator: Emulator, bot: Bot, kind: str, visible: int) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi")
    await bot.log_in()
    emulator.faults.add(Fault(match=REPLY, kind=kind))
    with pytest.raises(aiohttp.ClientError):
        await bot.reply(message_id, uuid="u")
    assert len(emulator.ledger.visible_replies(message_id)) == visible
    [call] = emulator.ledger.calls("im.message.reply")
    assert (call.status, call.effect, call.fault) == (0, bool(visible), kind)
    assert (await bot.reply(message_id, uuid="u")).code == 0
    assert len(emulator.ledger.visible_replies(message_id)) == 1


async def test_muted_call_has_no_effect_and_no_answer(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi")
    await bot.log_in()
    emulator.faults.add(Fault(match="im.message.reply", kind="mute"))
    waiting = asyncio.create_task(bot.reply(message_id))
    await emulator.until(lambda: emulator.ledger.calls("im.message.reply"))
    await emulator.stop()
    with pytest.raises(aiohttp.ClientError):
        await waiting
    assert emulator.ledger.visible_replies(message_id) == []


async def test_error_after_some_calls_and_for_some_times(emulator: Emulator, bot: Bot) -> None:
    fault = Fault(match="im.message.create", kind="error", code=230020, after=1, times=2, headers={"x-why": "test"})
    emulator.faults.add(fault)
    replies = [await bot.send(GROUP) for _ in range(4)]
    assert [each.code for each in replies] == [0, 230020, 230020, 0]
    assert (replies[1].status, replies[1].headers["x-why"]) == (400, "test")


async def test_foreign_answers(emulator: Emulator, bot: Bot) -> None:
    await bot.log_in()
    for kind, status in (("html", 502), ("empty", 200), ("status", 503)):
        emulator.faults.add(Fault(match="GET /open-apis/bot/v3/info", kind=kind, status=status))
        headers = {"Authorization": f"Bearer {bot.token}"}
        async with bot.session.get("/open-apis/bot/v3/info", headers=headers) as response:
            assert response.status == status
            assert ("<html>" in await response.text()) == (kind == "html")


async def test_delay_only_delays(emulator: Emulator, bot: Bot) -> None:
    emulator.faults.add(Fault(match="im.message.create", kind="delay", seconds=0.05))
    assert (await bot.send(GROUP)).code == 0


async def test_fault_by_text_of_the_body(emulator: Emulator, bot: Bot) -> None:
    emulator.faults.add(Fault(match="POST *", kind="error", code=230028, contains="poison"))
    assert [(await bot.send(GROUP, text)).code for text in ("fine", "poison", "poison")] == [0, 230028, 0]


def test_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        Fault(match="*", kind="explode")


async def test_tokens_are_checked_and_expire(emulator: Emulator, bot: Bot) -> None:
    assert (await bot.send(GROUP)).code == 0
    emulator.tokens.revoke()
    assert (await bot.send(GROUP)).code == 99991663
    await bot.log_in()
    emulator.advance(7201)
    assert (await bot.send(GROUP)).code == 99991663
    async with bot.session.get("/open-apis/bot/v3/info") as response:
        assert (await response.json())["code"] == 99991661


async def test_wrong_secret(bot: Bot) -> None:
    path, wrong = "/open-apis/auth/v3/tenant_access_token/internal", {"app_id": "cli_emulator", "app_secret": "x"}
    async with bot.session.post(path, json=wrong) as response:
        assert (response.status, (await response.json())["code"]) == (200, 10014)
    async with bot.session.post("/callback/ws/endpoint", json={"AppID": "cli_emulator", "AppSecret": "x"}) as response:
        assert (await response.json())["code"] == 514


async def test_five_messages_a_second_in_one_chat(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi")
    codes = [(await bot.send(GROUP)).code for _ in range(4)] + [(await bot.reply(message_id)).code]
    refused = await bot.send(GROUP)
    assert codes == [0] * 5
    assert (refused.status, refused.code, refused.headers["x-ogw-ratelimit-reset"]) == (429, 99991400, "1")
    assert (await bot.send(emulator.world.private_chat("Bob"))).code == 0
    emulator.advance(1)
    assert (await bot.send(GROUP)).code == 0


async def test_ten_operations_a_second_on_one_card(emulator: Emulator, bot: Bot) -> None:
    card_id = (await bot.create_card(card_of("…"))).data["card_id"]
    codes = [(await bot.stream(card_id, f"{n}", n)).code for n in range(1, 12)]
    assert codes == [0] * 10 + [99991400]
    emulator.settings.rate_limits = False
    assert (await bot.stream(card_id, "more", 11)).code == 0


async def test_monthly_quota(emulator: Emulator, bot: Bot) -> None:
    await bot.log_in()
    emulator.settings.monthly_quota = emulator.limits.counted + 1
    assert [(await bot.send(GROUP)).code for _ in range(2)] == [0, 99991403]


async def test_audit(emulator: Emulator, bot: Bot) -> None:
    emulator.settings.audit_pattern = r"\w+@\w+\.com"
    assert (await bot.send(GROUP, "write to a@b.com")).code == 230028


@pytest.mark.parametrize("code", [1, 403, 514, 1000040343, 1000040350, 1000040351])
async def test_discovery_codes(emulator: Emulator, bot: Bot, code: int) -> None:
    emulator.faults.add(Fault(match="POST /callback/ws/endpoint", kind="error", code=code))
    async with bot.session.post("/callback/ws/endpoint", json={}) as response:
        assert (response.status, (await response.json())["code"]) == (200, code)


async def test_handshake_can_be_refused(emulator: Emulator, bot: Bot) -> None:
    headers = {"Handshake-Status": "514", "Handshake-Msg": "no", "Handshake-Autherrcode": "1000040350"}
    emulator.faults.add(Fault(match="GET /callback/ws/connect", kind="status", status=403, headers=headers))
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await bot.connect()
    assert refusal.value.headers is not None
    assert refusal.value.headers["Handshake-Autherrcode"] == "1000040350"
    await bot.connect()


async def test_too_many_connections(emulator: Emulator, bot: Bot) -> None:
    emulator.settings.max_connections = 1
    first = await bot.connect()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await bot.connect()
    assert refusal.value.headers is not None
    assert refusal.value.headers["Handshake-Autherrcode"] == "1000040350"
    assert not first.socket.closed


async def test_media_limits(emulator: Emulator, bot: Bot) -> None:
    async def upload(kind: str, data: bytes, **fields: str) -> int:
        await bot.log_in()
        form = aiohttp.FormData()
        for key, value in fields.items():
            form.add_field(key, value)
        form.add_field(kind, data, filename="x")
        headers = {"Authorization": f"Bearer {bot.token}"}
        async with bot.session.post(f"/open-apis/im/v1/{kind}s", data=form, headers=headers) as response:
            return int((await response.json())["code"])

    emulator.settings.max_file_bytes, emulator.settings.max_image_bytes = 100, 50
    picture = b"\x89PNG" + b"x" * 40
    assert await upload("image", picture, image_type="message") == 0
    assert await upload("image", picture * 2, image_type="message") == 234006
    assert await upload("image", b"text", image_type="message") == 234011
    assert await upload("file", b"x" * 100, file_type="stream", file_name="a") == 0
    assert await upload("file", b"x" * 101, file_type="stream", file_name="a") == 234006
    assert await upload("file", b"", file_type="stream", file_name="a") == 234010
    assert await upload("file", b"x", file_type="exe", file_name="a") == 234001


async def test_resources_belong_to_their_message(emulator: Emulator, bot: Bot) -> None:
    world, chat_id = emulator.world, emulator.world.private_chat("Bob")
    message_id = world.send_file("Bob", chat_id, "名单.txt", b"content")
    key = json.loads(world.message(message_id).content)["file_key"]
    await bot.log_in()
    headers = {"Authorization": f"Bearer {bot.token}"}
    async with bot.session.get(f"{IM}/{message_id}/resources/{key}?type=file", headers=headers) as response:
        assert await response.read() == b"content"
    other = world.say("Bob", chat_id, "no file")
    assert (await bot.call("GET", f"{IM}/{other}/resources/{key}", type="file")).code == 234003
    emulator.settings.max_download_bytes = 3
    assert (await bot.call("GET", f"{IM}/{message_id}/resources/{key}", type="file")).code == 234037


async def test_body_that_is_not_json(bot: Bot) -> None:
    await bot.log_in()
    headers = {"Authorization": f"Bearer {bot.token}"}
    async with bot.session.post(CARDS, data=b"{", headers=headers) as response:
        assert (response.status, (await response.json())["code"]) == (400, 9499)
