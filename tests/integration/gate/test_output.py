"""What a command prints beyond what a card can show comes as a file, once."""

import json

import pytest

from channels.emulator.messages import Message
from channels.rules.turn import Phase
from tests.integration import cards_seen
from tests.integration.conftest import OpenHouse
from tests.integration.gate.asking import finished, with_agent
from tests.integration.house import House

UPLOAD, FILES = "im.file.create", "SELECT state FROM outbox WHERE op = 'file' OR op LIKE 'file~%' ORDER BY seq"


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    house = await open_house(start=False)
    with_agent(house)
    await house.start()
    return house


def files_of(house: House, message_id: str) -> list[Message]:
    return [each for each in house.replies(message_id) if each.message_type == "file"]


def content(house: House, message: Message) -> tuple[str, str]:
    """The file's name, and what is in it."""
    medium = house.world.media.find(json.loads(message.content)["file_key"])
    assert medium is not None
    return medium.name, medium.data.decode()


async def test_a_long_output_comes_as_a_file_below_the_card(house: House) -> None:
    message_id = house.say("print say print")
    main = await finished(house, message_id)
    assert cards_seen.phase(main) is Phase.DONE
    (file,) = files_of(house, message_id)
    assert file.thread_id == house.replies(message_id)[0].thread_id
    name, text = content(house, file)
    assert name.startswith("output-") and name.endswith(".txt")
    assert text.count("$ make test") == 2, "the short one stands on the card"
    assert text.count("line 2999 一\n") == 2


async def test_a_short_output_does_not(house: House) -> None:
    message_id = house.say("say")
    await finished(house, message_id)
    assert files_of(house, message_id) == []
    assert house.calls(UPLOAD) == []


@pytest.mark.parametrize("call", [UPLOAD, "im.message.reply"])
async def test_an_answer_that_gets_lost_makes_no_second_file(house: House, call: str) -> None:
    first = house.say("hello")
    await finished(house, first)
    house.fault(call, "drop_after", contains="" if call == UPLOAD else "file_key")
    message_id = house.say("print", thread_id=house.replies(first)[0].thread_id)
    await finished(house, message_id)
    assert len(files_of(house, message_id)) == 1
    uuids = {call.uuid for call in house.calls("im.message.reply") if call.body.get("msg_type") == "file"}
    assert len(uuids) == 1


async def test_what_cannot_be_uploaded_leaves_the_answer_alone(house: House) -> None:
    house.fault(UPLOAD, "error", code=99991672, times=None)
    message_id = house.say("print")
    main = await finished(house, message_id)
    assert cards_seen.phase(main) is Phase.DONE
    assert files_of(house, message_id) == []
    assert await house.rows(FILES) == [("gone",)]


async def test_a_file_on_its_way_survives_a_restart(house: House) -> None:
    house.fault(UPLOAD, "status", status=503, times=None)
    message_id = house.say("print")
    await house.seen(lambda: len(house.calls(UPLOAD)) >= 1 and house.has_ended(message_id))
    await house.stop()
    house.emulator.faults.clear()
    await house.start()
    await finished(house, message_id)
    assert len(files_of(house, message_id)) == 1
