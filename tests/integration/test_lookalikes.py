"""Two answers of one topic whose replies worked and nobody heard of it, and whose uuids are forgotten."""

from tests.integration.conftest import OpenHouse

REPLY = "im.message.reply"
ADOPTED = """
SELECT message_id, card_id FROM sent_cards
WHERE turn_id = (SELECT turn FROM inbox WHERE message_id = :asked) AND card_id <> ''
"""
FORGOTTEN_S = 57 * 60.0


async def test_each_turn_adopts_the_message_that_shows_its_own_card(open_house: OpenHouse) -> None:
    """Feishu names the topic's root as the parent of both, and both are looked for at the same moment."""
    house = await open_house(agents={"demo": {"kind": "demo", "pace": 1.0}})
    _, reply = await house.ask("hello")
    calls = len(house.calls(REPLY))
    house.fault(REPLY, "drop_after", times=2)
    house.fault(REPLY, "status", status=503, times=None)
    asked = [house.say(text, thread_id=reply.thread_id) for text in ("work 1 second", "and then")]
    await house.seen(lambda: len(house.calls(REPLY)) >= calls + 4)
    house.advance(FORGOTTEN_S)
    house.emulator.faults.clear()
    for message_id in asked:
        await house.answered(message_id)
        (answer,) = (each for each in house.replies(message_id) if each.card_id)  # beside it: that a long turn is done
        assert await house.rows(ADOPTED, asked=message_id) == [(answer.message_id, answer.card_id)]
