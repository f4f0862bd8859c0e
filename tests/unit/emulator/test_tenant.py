"""Chats, people, other bots, app registration, unknown paths, and what the control interface offers."""

from typing import Any

import pytest

from channels.emulator import GROUP, TOPICS, Emulator, Kind
from channels.emulator.errors import ApiError
from tests.unit.emulator.bot import IM, Bot

CHATS = "/open-apis/im/v1/chats"


async def test_chats_and_their_members(emulator: Emulator, bot: Bot) -> None:
    chats = (await bot.call("GET", CHATS)).data["items"]
    assert [each["chat_id"] for each in chats] == ["oc_group", "oc_topics", "oc_plain"]
    assert (await bot.call("GET", f"{CHATS}/{TOPICS}")).data["chat_mode"] == "topic"
    members = (await bot.call("GET", f"{CHATS}/{GROUP}/members", member_id_type="user_id")).data["items"]
    assert [each["member_id"] for each in members] == ["u_zhang_san", "u_alice", "u_bob"]
    emulator.world.remove_bot(GROUP)
    assert (await bot.call("GET", f"{CHATS}/{GROUP}")).code == 230002
    assert (await bot.call("GET", f"{CHATS}/oc_unknown")).code == 232006


async def test_people_by_id(bot: Bot) -> None:
    path = "/open-apis/contact/v3/users"
    items = (await bot.call("GET", f"{path}/batch", user_ids="u_bob", user_id_type="user_id")).data["items"]
    assert [(each["open_id"], each["name"]) for each in items] == [("ou_bob", "Bob")]
    body = {"emails": ["alice@example.com", "nobody@example.com"]}
    found = (await bot.call("POST", f"{path}/batch_get_id", body, user_id_type="open_id")).data["user_list"]
    assert [each.get("user_id") for each in found] == ["ou_alice", None]


async def test_new_people_and_groups(emulator: Emulator, bot: Bot) -> None:
    world = emulator.world
    carol = world.add_person("Carol", "carol")
    group = world.add_chat("New", ["Carol", "Bob"], kind=Kind.TOPIC)
    socket = await bot.connect()
    world.add_bot(group.chat_id, "Carol")
    assert (await socket.event())["header"]["event_type"] == "im.chat.member.bot.added_v1"
    world.enter_private_chat("Carol")
    assert (await socket.event())["event"]["chat_id"] == world.private_chat(carol)
    with pytest.raises(ApiError):
        world.say("Alice", group.chat_id, "I am not in it")
    assert [each["chat_id"] for each in world.snapshot("Carol")["chats"]] == ["oc_p2p_carol", group.chat_id]


async def test_another_bot_is_an_app(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    emulator.world.add_other_bot("Parrot", "parrot", [GROUP])
    message_id = emulator.world.say("Parrot", GROUP, "hi", mention_bot=True)
    assert (await socket.event())["event"]["sender"]["sender_type"] == "app"
    [item] = (await bot.call("GET", f"{IM}/{message_id}")).data["items"]
    assert (item["sender"]["id"], item["sender"]["id_type"]) == ("cli_parrot", "app_id")


async def test_unknown_path_is_recorded(emulator: Emulator, bot: Bot) -> None:
    await bot.log_in()
    async with bot.session.get("/open-apis/im/v9/nothing") as response:
        assert (response.status, await response.text()) == (404, "404 page not found")
    assert [each.path for each in emulator.ledger.calls("unknown")] == ["/open-apis/im/v9/nothing"]


async def test_a_person_decides_on_the_page_behind_the_code(emulator: Emulator, bot: Bot) -> None:
    async with bot.session.post("/oauth/v1/app/registration", data={"action": "begin"}) as response:
        link = (await response.json())["verification_uri_complete"]
    assert link.startswith(f"{emulator.url}/page/launcher?ticket=")
    for address, status in ((link, 200), (link + "x", 404), (link.partition("?")[0], 404)):
        async with bot.session.get(address) as response:
            assert response.status == status
    async with bot.session.post(link, data={"decision": "granted"}) as response:
        assert response.status == 404
    assert emulator.world.registration.decision == "pending"
    async with bot.session.post(link, data={"decision": "denied"}) as response:
        assert "Refused" in await response.text()
    assert emulator.world.registration.decision == "denied"


async def test_registration_follows_the_decision(emulator: Emulator, bot: Bot) -> None:
    async def post(**form: str) -> dict[str, Any]:
        async with bot.session.post("/oauth/v1/app/registration", data=form) as response:
            return dict(await response.json())

    assert (await post(action="init"))["supported_auth_methods"] == ["client_secret"]
    code = (await post(action="begin"))["device_code"]
    assert (await post(action="poll", device_code=code))["error"] == "authorization_pending"
    emulator.world.registration.decision = "approved"
    assert (await post(action="poll", device_code=code))["client_secret"] == "secret"
    assert (await post(action="poll", device_code="other"))["error"] == "invalid_grant"


async def test_control_over_http(emulator: Emulator, bot: Bot) -> None:
    async def post(path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        async with bot.session.post(f"/_emulator/{path}", json=body) as response:
            return response.status, dict(await response.json())

    _, said = await post("world/say", user="Alice", chat_id=GROUP, text="hi")
    assert emulator.world.message(said["result"]).chat_id == GROUP
    assert (await post("world/add_person", name="x"))[0] == 400
    assert (await post("faults", match="im.message.create", kind="error", code=230020))[0] == 200
    assert (await bot.send(GROUP)).code == 230020
    assert (await post("faults", match="*", kind="nonsense"))[0] == 400
    await post("settings", scopes=["im:message"])
    assert emulator.settings.scopes == {"im:message"}
    assert (await post("settings", nonsense=1))[0] == 400
    await post("behaviour", muted=True)
    assert emulator.sockets.behaviour.muted
    before_ms = emulator.clock.now_ms()
    await post("advance", seconds=3600)
    assert emulator.clock.now_ms() >= before_ms + 3_600_000
    assert (await post("wait", connections=1, timeout_s=0.01))[0] == 408
    _, burst = await post("burst", user="Bob", chat_id=GROUP, count=3, text="n")
    assert len(burst["message_ids"]) == 3
    async with bot.session.get("/_emulator/ledger", params={"kind": "im.message.create"}) as response:
        assert [each["code"] for each in (await response.json())["calls"]] == [230020]
