"""Card entities and inline cards: sequence, uuid, streaming, limits, history."""

import json
from typing import Any

import pytest

from channels.emulator import GROUP, Emulator
from tests.unit.emulator.bot import CARDS, IM, Bot, Reply, card_of, entity


async def _sent(emulator: Emulator, bot: Bot, card: Any) -> tuple[str, str]:
    """(card_id, message_id) of an entity that people see."""
    card_id = (await bot.create_card(card)).data["card_id"]
    target = emulator.world.say("Alice", GROUP, "hi")
    return card_id, (await bot.reply_card(target, entity(card_id))).data["message_id"]


async def _settings(bot: Bot, card_id: str, streaming: bool, sequence: int) -> Reply:
    body = {"settings": json.dumps({"config": {"streaming_mode": streaming}}), "sequence": sequence}
    return await bot.call("PATCH", f"{CARDS}/{card_id}/settings", body)


async def test_every_state_is_in_the_ledger(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("…"))
    for number, text in enumerate(("a", "ab"), 1):
        assert (await bot.stream(card_id, text, number)).code == 0
    states = emulator.ledger.card_states(message_id)
    assert [each.card["body"]["elements"][0]["content"] for each in states] == ["…", "a", "ab"]
    assert [each.call for each in states] == ["im.message.reply", *["cardkit.element.content"] * 2]


async def test_sequence_must_rise_and_uuid_must_be_new(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("…"))
    assert (await bot.stream(card_id, "a", 5, "u5")).code == 0
    assert (await bot.stream(card_id, "a", 5, "u5")).code == 200770
    assert (await bot.stream(card_id, "b", 5)).code == 300317
    assert (await bot.stream(card_id, "b", 4)).code == 300317
    assert (await bot.stream(card_id, "b", 2**31)).code == 10002
    assert len(emulator.ledger.card_states(message_id)) == 2
    assert (await bot.stream(card_id, "b", 6)).code == 0


async def test_streaming_closes_after_ten_minutes(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("…"))
    emulator.advance(599)
    assert (await bot.stream(card_id, "a", 1)).code == 0
    emulator.advance(2)
    assert [(await bot.stream(card_id, "b", 2)).code for _ in range(2)] == [200850, 300309]
    assert emulator.ledger.card_json(message_id)["config"]["streaming_mode"] is False
    assert (await _settings(bot, card_id, True, 2)).code == 0
    assert (await bot.stream(card_id, "b", 3)).code == 0


async def test_switching_on_what_is_on_does_not_prolong(emulator: Emulator, bot: Bot) -> None:
    card_id, _ = await _sent(emulator, bot, card_of("…"))
    emulator.advance(599)
    assert (await _settings(bot, card_id, True, 1)).code == 0
    emulator.advance(2)
    assert (await bot.stream(card_id, "b", 2)).code == 200850
    emulator.settings.reopen_resets = True
    await _settings(bot, card_id, True, 2)
    emulator.advance(599)
    await _settings(bot, card_id, True, 3)
    emulator.advance(2)
    assert (await bot.stream(card_id, "b", 4)).code == 0


async def test_text_streams_only_into_text_and_only_while_streaming(emulator: Emulator, bot: Bot) -> None:
    card_id, _ = await _sent(emulator, bot, card_of("…", streaming=False))
    assert (await bot.stream(card_id, "a", 1)).code == 300309
    button = {"tag": "button", "element_id": "answer", "text": {"tag": "plain_text", "content": "x"}}
    card_id, _ = await _sent(emulator, bot, card_of("…") | {"body": {"elements": [button]}})
    assert (await bot.stream(card_id, "a", 1)).code == 300310
    other = f"{CARDS}/{card_id}/elements/none/content"
    assert (await bot.call("PUT", other, {"content": "a", "sequence": 1})).code == 300313


async def test_entity_is_sent_once_and_lives_fourteen_days(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("…"))
    again = await bot.reply_card(message_id, entity(card_id))
    assert (again.code, "11310" in again.body["msg"]) == (230099, True)
    emulator.advance(14 * 86400 + 1)
    await bot.log_in()
    assert (await bot.stream(card_id, "a", 1)).code == 200750
    assert (await bot.call("PATCH", f"{IM}/{message_id}", {"content": json.dumps(card_of("x"))})).code == 230031


async def test_patch_on_an_entity_does_nothing(emulator: Emulator, bot: Bot) -> None:
    _, message_id = await _sent(emulator, bot, card_of("…"))
    assert (await bot.call("PATCH", f"{IM}/{message_id}", {"content": json.dumps(card_of("x"))})).code == 0
    assert len(emulator.ledger.card_states(message_id)) == 1
    assert not emulator.ledger.calls("im.message.patch")[0].effect


async def test_patch_replaces_an_inline_card(emulator: Emulator, bot: Bot) -> None:
    target = emulator.world.say("Alice", GROUP, "hi")
    message_id = (await bot.reply_card(target, card_of("one"))).data["message_id"]
    assert (await bot.call("PATCH", f"{IM}/{message_id}", {"content": json.dumps(card_of("two"))})).code == 0
    assert emulator.ledger.card_json(message_id) == card_of("two")
    await bot.call("DELETE", f"{IM}/{message_id}")
    assert (await bot.call("PATCH", f"{IM}/{message_id}", {"content": json.dumps(card_of("x"))})).code == 230011


TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n\n"


@pytest.mark.parametrize(
    ("card", "entity_code", "inner"),
    [
        (card_of(*["x"] * 201), 300305, "11310"),
        (card_of(TABLE * 6), 230099, "11310"),
        (card_of(f"```\n{TABLE * 6}```"), 0, ""),
        (card_of("![chart](https://example.com/a.png)"), 200570, "200570"),
        (card_of("`![chart](https://example.com/a.png)`"), 0, ""),
        (card_of("x", element_id="9lives"), 10002, "200621"),
        (card_of("x") | {"body": {"elements": [{"tag": "note", "elements": []}]}}, 200861, "200861"),
        (
            card_of("x") | {"body": {"elements": [{"tag": "table", "columns": [], "rows": [{"a": 1}]}]}},
            200915,
            "200915",
        ),
    ],
)
async def test_card_rules_in_both_lanes(bot: Bot, card: Any, entity_code: int, inner: str) -> None:
    assert (await bot.create_card(card)).code == entity_code
    body = {"receive_id": GROUP, "msg_type": "interactive", "content": json.dumps(card)}
    sent = await bot.call("POST", IM, body, receive_id_type="chat_id")
    assert sent.code == (230099 if inner else 0)
    assert inner in sent.body["msg"]


async def test_entity_needs_schema_two_and_thirty_kilobytes(bot: Bot) -> None:
    assert (await bot.create_card({"elements": [{"tag": "markdown", "content": "x"}]})).code == 300303
    assert (await bot.create_card(card_of("字" * 11_000))).code == 200860
    assert (await bot.create_card({})).code == 300307
    card_id = (await bot.create_card(card_of("…"))).data["card_id"]
    assert (await bot.stream(card_id, "字" * 11_000, 1)).code == 200860
    assert (await bot.stream(card_id, TABLE * 6, 1)).code == 230099
    assert (await bot.stream(card_id, "short", 1)).code == 0


async def test_refused_text_leaves_no_trace(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("before"))
    assert (await bot.stream(card_id, TABLE * 6, 1)).code == 230099
    assert emulator.world.card_of(emulator.world.message(message_id)) == card_of("before")
    assert emulator.ledger.card_json(message_id) == card_of("before")


async def test_elements_are_added_replaced_patched_and_deleted(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("one"))
    elements = f"{CARDS}/{card_id}/elements"
    new = json.dumps([{"tag": "markdown", "element_id": "second", "content": "two"}])
    add = {"type": "insert_before", "target_element_id": "answer", "elements": new, "sequence": 1}
    assert (await bot.call("POST", elements, add)).code == 0
    assert (await bot.call("POST", elements, add | {"sequence": 2})).code == 300301
    patch = {"partial_element": json.dumps({"content": "2"}), "sequence": 2}
    assert (await bot.call("PATCH", f"{elements}/second", patch)).code == 0
    patch = {"partial_element": json.dumps({"tag": "hr"}), "sequence": 3}
    assert (await bot.call("PATCH", f"{elements}/second", patch)).code == 300312
    replace = {"element": json.dumps({"tag": "hr", "element_id": "rule"}), "sequence": 3}
    assert (await bot.call("PUT", f"{elements}/answer", replace)).code == 0
    assert emulator.ledger.card_json(message_id)["body"]["elements"] == [
        {"tag": "markdown", "element_id": "second", "content": "2"},
        {"tag": "hr", "element_id": "rule"},
    ]
    assert (await bot.call("DELETE", f"{elements}/second", {"sequence": 4})).code == 0
    assert (await bot.call("DELETE", f"{elements}/second", {"sequence": 5})).code == 300314


async def test_batch_update_is_all_or_nothing(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("one"))
    patch = {"element_id": "answer", "partial_element": {"content": "new"}}
    gone = {"element_ids": ["missing"]}
    actions = [
        {"action": "partial_update_element", "params": patch},
        {"action": "delete_elements", "params": gone},
    ]
    path = f"{CARDS}/{card_id}/batch_update"
    assert (await bot.call("POST", path, {"actions": json.dumps(actions), "sequence": 1})).code == 300314
    assert emulator.ledger.card_json(message_id) == card_of("one")
    assert (await bot.call("POST", path, {"actions": json.dumps(actions[:1]), "sequence": 1})).code == 0
    assert emulator.ledger.card_json(message_id) == card_of("new")


async def test_full_update_may_end_streaming(emulator: Emulator, bot: Bot) -> None:
    card_id, message_id = await _sent(emulator, bot, card_of("one"))
    card = {"type": "card_json", "data": json.dumps(card_of("final", streaming=False))}
    assert (await bot.call("PUT", f"{CARDS}/{card_id}", {"card": card, "sequence": 9})).code == 0
    assert emulator.ledger.card_json(message_id) == card_of("final", streaming=False)
    assert (await bot.stream(card_id, "more", 10)).code == 300309


async def test_reading_never_gives_the_card_back_unless_asked_for(emulator: Emulator, bot: Bot) -> None:
    _, message_id = await _sent(emulator, bot, card_of("secret recipe"))
    path = f"{IM}/{message_id}"
    [item] = (await bot.call("GET", path)).data["items"]
    assert "recipe" not in item["body"]["content"]
    [item] = (await bot.call("GET", path, card_msg_content_type="user_card_content")).data["items"]
    assert json.loads(item["body"]["content"]) == card_of("secret recipe")
