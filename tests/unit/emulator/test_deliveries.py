"""Events: acks, the schedule of redelivery, duplicates, half-open sockets, callbacks."""

import asyncio
import json

from channels.emulator import GROUP, Emulator
from tests.unit.emulator.bot import Bot, answer_of, card_of, entity


async def _answered(emulator: Emulator, message_id: str, attempt: int) -> None:
    await emulator.until(lambda: emulator.ledger.deliveries(message_id)[attempt - 1].ack_code is not None)


async def test_good_ack_ends_the_delivery(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    message_id = emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    event = await socket.event()
    assert event["event"]["message"]["message_id"] == message_id
    await emulator.until(lambda: emulator.ledger.deliveries(message_id)[0].ack_code == 200)
    emulator.advance(7 * 3600)
    assert len(emulator.ledger.deliveries(message_id)) == 1


async def test_bad_ack_is_redelivered_on_the_schedule(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    message_id = emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    first = await socket.event(b'{"code":500}')
    for number, wait_s in enumerate((15, 300, 3600, 21600), 1):
        await _answered(emulator, message_id, number)
        emulator.advance(wait_s - 1)
        assert len(emulator.ledger.deliveries(message_id)) == number
        emulator.advance(1)
        assert (await socket.event(b'{"code":500}'))["header"]["event_id"] == first["header"]["event_id"]
    await _answered(emulator, message_id, 5)
    emulator.advance(86400)
    assert len(emulator.ledger.deliveries(message_id)) == 5


async def test_silence_for_three_seconds_is_a_failed_attempt(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    emulator.sockets.behaviour.new_event_ids = True
    message_id = emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    first = await socket.frame()
    emulator.advance(3.1)
    await socket.answer(first)
    await emulator.until(lambda: emulator.ledger.deliveries(message_id)[0].late)
    emulator.advance(15)
    second = await socket.event()
    assert second["header"]["event_id"] != json.loads(first.payload)["header"]["event_id"]
    await emulator.until(lambda: emulator.ledger.deliveries(message_id)[1].ack_code == 200)


async def test_duplicates_after_a_good_ack(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    emulator.sockets.behaviour.duplicates = 2
    emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    events = [await socket.event() for _ in range(3)]
    assert len({each["event"]["message"]["message_id"] for each in events}) == 1


async def test_event_of_an_offline_app_waits_for_the_schedule(emulator: Emulator, bot: Bot) -> None:
    message_id = emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    socket = await bot.connect()
    emulator.advance(15)
    assert (await socket.event())["event"]["message"]["message_id"] == message_id
    assert emulator.ledger.deliveries(message_id)[0].connection == ""


async def test_offline_events_can_be_lost(emulator: Emulator, bot: Bot) -> None:
    emulator.settings.redeliver_when_offline = False
    message_id = emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    await bot.connect()
    emulator.advance(86400)
    assert len(emulator.ledger.deliveries(message_id)) == 1


async def test_half_open_socket_answers_pings_and_loses_events(emulator: Emulator, bot: Bot) -> None:
    from channels.emulator.frames import CONTROL, encode_frame

    socket = await bot.connect()
    emulator.sockets.mute_present()
    message_id = emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    await socket.socket.send_bytes(encode_frame(CONTROL, (("type", "ping"),), b""))
    assert (await socket.frame()).headers["type"] == "pong"
    assert emulator.ledger.deliveries(message_id)[0].connection
    fresh = await bot.connect()
    await socket.socket.close()
    await emulator.until(lambda: len(emulator.sockets.connections) == 1)
    emulator.advance(3.1)
    emulator.advance(15)
    assert (await fresh.event())["event"]["message"]["message_id"] == message_id


async def test_every_connection_gets_its_share(emulator: Emulator, bot: Bot) -> None:
    sockets = [await bot.connect() for _ in range(3)]
    for number in range(60):
        emulator.world.say("Alice", GROUP, f"{number}", mention_bot=True)
    shares = [connection.events_sent for connection in emulator.sockets.connections.values()]
    assert sum(shares) == 60
    assert all(shares)
    assert len(sockets) == 3


async def test_connection_is_cut_after_its_nth_event(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    emulator.sockets.behaviour.cut_after_events = 1
    emulator.world.say("Alice", GROUP, "hi", mention_bot=True)
    await emulator.until(lambda: not emulator.sockets.connections)
    while not socket.socket.closed:
        await socket.socket.receive(timeout=10)


async def test_only_mentions_are_pushed_without_the_group_scope(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    emulator.settings.scopes.discard("im:message.group_msg")
    emulator.world.say("Alice", GROUP, "not for the bot")
    message_id = emulator.world.say("Alice", GROUP, "for the bot", mention_bot=True)
    assert (await socket.event())["event"]["message"]["message_id"] == message_id


async def test_click_shows_toast_and_replaces_the_card(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    message_id = emulator.world.say("Alice", GROUP, "hi", push=False)
    card_message = (await bot.reply_card(message_id, card_of("press", streaming=False))).data["message_id"]
    click = asyncio.create_task(emulator.world.click("Bob", card_message, {"id": 1}))
    answer = {"toast": {"type": "info", "content": "ok"}, "card": {"type": "raw", "data": card_of("pressed")}}
    event = await socket.event(answer_of(answer))
    assert event["event"]["operator"]["open_id"] == "ou_bob"
    assert (await click)["applied"]
    assert emulator.ledger.card_json(card_message) == card_of("pressed")
    assert [(each.open_id, each.content) for each in emulator.ledger.toasts] == [("ou_bob", "ok")]


async def test_click_on_a_streaming_card_shows_the_toast_only(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    message_id = emulator.world.say("Alice", GROUP, "hi", push=False)
    card_id = (await bot.create_card(card_of("…"))).data["card_id"]
    card_message = (await bot.reply_card(message_id, entity(card_id))).data["message_id"]
    click = asyncio.create_task(emulator.world.click("Bob", card_message, {}))
    frame = await socket.frame()
    assert (await bot.stream(card_id, "more", 1)).code == 200810
    await socket.answer(frame, answer_of({"card": {"type": "raw", "data": card_of("x")}}))
    assert not (await click)["applied"]
    assert (await bot.stream(card_id, "more", 1)).code == 0


async def test_unanswered_click_is_an_error_and_never_pushed_again(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    message_id = emulator.world.say("Alice", GROUP, "hi", push=False)
    card_message = (await bot.reply_card(message_id, card_of("press"))).data["message_id"]
    click = asyncio.create_task(emulator.world.click("Bob", card_message, {}))
    await socket.frame()
    emulator.advance(3.1)
    assert (await click)["code"] == 200341
    emulator.advance(86400)
    assert len(emulator.ledger.deliveries(card_message)) == 1


async def test_click_with_a_bad_answer(emulator: Emulator, bot: Bot) -> None:
    socket = await bot.connect()
    message_id = emulator.world.say("Alice", GROUP, "hi", push=False)
    card_message = (await bot.reply_card(message_id, card_of("press"))).data["message_id"]
    payloads = {
        b'{"code":500}': 200671,
        b'{"code":200,"data":"%%%"}': 200672,
        answer_of([1]): 200672,
        answer_of(
            {"card": {"type": "raw", "data": {"schema": "2.0", "body": {"elements": [{"tag": "note"}]}}}}
        ): 200673,
    }
    for payload, code in payloads.items():
        click = asyncio.create_task(emulator.world.click("Bob", card_message, {}))
        await socket.event(payload)
        assert (await click)["code"] == code
    emulator.settings.callback_configured = False
    assert (await emulator.world.click("Bob", card_message, {}))["code"] == 200340
