"""Claim codes, commands of admins, and the control socket: one desk behind all of them."""

import asyncio
import json
from typing import Any

import pytest

from channels.cli.control_client import call_service
from channels.errors import Refused
from channels.ids import UserId
from tests.integration.access.gate import (
    ADMIN,
    APPROVAL,
    KEPT,
    OPEN,
    SECOND,
    WORDS,
    answered,
    asked,
    became,
    button,
    click,
    command,
    command_line,
    press,
    told,
)
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

HOUR_S = 3600.0


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(**APPROVAL)


@pytest.fixture
async def unowned(open_house: OpenHouse) -> House:
    """A bot that nobody looks after yet."""
    return await open_house(access={"mode": "approval"})


async def ask(house: House, operation: str, **arguments: Any) -> Any:
    """The control socket's answer."""
    return await asyncio.to_thread(call_service, house.settings.control_socket, operation, arguments)


async def claim(house: House, text: str, user: str = "Alice") -> str:
    return await command(house, text, user)


async def test_a_claim_code_makes_an_owner_once(unowned: House) -> None:
    """The first admin: nobody else may decide, and what waited is shown to them."""
    waiting = unowned.say("hello", "Bob")
    await unowned.held(KEPT, 1)
    code = (await ask(unowned, "access_claim_code"))["code"]
    assert await claim(unowned, code) == WORDS.claim_done
    assert await claim(unowned, code.lower(), "张三") == WORDS.claim_used
    card = await asked(unowned, "Alice")
    await press(unowned, card, "access_allow", "Alice")
    await answered(unowned, waiting)
    assert await unowned.rows("SELECT user_id FROM access_users WHERE admin = 1") == [("u_alice",)]
    assert (
        await unowned.one("SELECT count(*) FROM claim_codes WHERE code_hash LIKE '%' || :code || '%'", code=code) == 0
    )


async def test_a_claim_code_expires(unowned: House) -> None:
    code = (await ask(unowned, "access_claim_code"))["code"]
    unowned.advance(901)
    assert await claim(unowned, code) == WORDS.claim_expired
    assert await unowned.one("SELECT count(*) FROM access_users") == 0


async def test_wrong_codes_are_limited(unowned: House) -> None:
    code = (await ask(unowned, "access_claim_code"))["code"]
    wrong = "ABCD-EFGH-IJKL-MNOP"
    for _ in range(5):
        assert await claim(unowned, wrong) == WORDS.claim_unknown
    assert await claim(unowned, code) == WORDS.claim_too_many
    assert await claim(unowned, code, "Bob") == WORDS.claim_done


async def test_a_code_in_a_group_or_without_need_is_an_ordinary_message(house: House) -> None:
    message_id, _ = await house.ask("ABCD-EFGH-IJKL-MNOP", ADMIN)
    house.assert_answered_once(message_id)


async def test_granting_by_mention_answers_what_was_kept(house: House) -> None:
    message_id = house.say("hello")
    card = await asked(house)
    said = await command(house, "/grant wiki_read 7d 20x", mentions=["Alice"])
    assert said.startswith("Alice (u_alice) may do: chat, read the wiki; until")
    assert "messages left: 20" in said
    await answered(house, message_id)
    await became(house, card, WORDS.access_approved_title)


async def test_a_number_of_messages_is_counted(house: House) -> None:
    await command(house, "/grant 2x", mentions=["Alice"])
    for text in ("one", "two"):
        message_id, _ = await house.ask(text)
        house.assert_answered_once(message_id)
    third = house.say("three")
    await told(house, third, WORDS.kept_title)


async def test_revoking_shuts_the_door_again(house: House) -> None:
    await command(house, "/grant", mentions=["Alice"])
    await house.ask("hello")
    assert "may now do: nothing" in await command(house, "/revoke Alice")
    late = house.say("hello?")
    await told(house, late, WORDS.kept_title)


async def test_strangers_and_people_without_the_switch_administrate_nothing(house: House) -> None:
    assert await command(house, "/grant Alice admin", "Alice") == WORDS.not_admitted
    await command(house, "/grant", mentions=["Alice"])
    assert await command(house, "/grant Alice admin", "Alice") == WORDS.admins_only
    assert await command(house, "/users", "Alice") == WORDS.admins_only
    assert await house.one("SELECT count(*) FROM access_users WHERE admin = 1") == 0


async def test_lists(house: House) -> None:
    assert WORDS.requests_none in await command(house, "/requests")
    house.say("hello")
    await asked(house)
    assert "messages: 1" in await command(house, "/requests")
    await command(house, "/grant code_write", mentions=["Alice"])
    users = await command(house, "/users")
    assert "Alice (u_alice): chat, change code" in users and WORDS.users_by_config in users


async def test_what_is_unclear_changes_nothing(house: House) -> None:
    assert WORDS.person_unknown.format(name="Nobody") in await command(house, "/grant Nobody")
    assert "do not understand" in await command(house, "/grant Alice code_write soon")
    assert await command(house, "/revoke u_bob") == WORDS.toast_access_fixed
    assert await house.one("SELECT count(*) FROM access_users") == 0


async def test_who_takes_another_persons_name_or_id_as_a_name_is_seen_through(house: House) -> None:
    """Names are chosen by people: two of a name are never guessed at, an id is never read as a name, and every answer
    shows the id."""
    await command(house, "/grant", mentions=["Alice"])
    mallory, twin = house.world.add_person("u_bob_2"), house.world.add_person("Alice")
    house.say("hello", mallory.name)
    house.world.say(twin.open_id, house.world.private_chat(twin.open_id), "it is me, Alice")
    await asked(house, count=2)
    assert twin.user_id in await command(house, "/grant Alice admin")
    assert "u_alice" in await command(house, "/grant Alice admin")
    assert await house.one("SELECT count(*) FROM access_users WHERE admin = 1") == 0
    await command(house, "/grant id:u_bob_2 wiki_read")
    assert await house.rows("SELECT user_id FROM access_users WHERE wiki_read = 1") == [("u_bob_2",)]
    assert f"u_bob_2 ({mallory.user_id})" in await command(house, "/requests")


async def test_a_name_moves_no_cursor_and_forges_no_line(house: House) -> None:
    hostile = house.world.add_person("Eve\n\x1b[2Jnobody is waiting\r\u202e")
    message_id = house.say("hello", hostile.name)
    await asked(house)
    for arguments in (["requests"], ["approve", hostile.user_id], ["list"]):
        done = await command_line(house, *arguments)
        assert done.exit_code == 0
        assert hostile.user_id in done.stdout
        assert all(letter.isprintable() for letter in done.stdout.replace("\n", ""))
        assert len(done.stdout.splitlines()) <= 4
    await answered(house, message_id)


@pytest.mark.parametrize("text", ["id:", "id: ", "id:a b", "id:a\tb", "id:" + "x" * 200, "id:<b>", "id:\u4f60"])
async def test_what_is_no_id_names_nobody(house: House, text: str) -> None:
    with pytest.raises(Refused) as caught:
        await ask(house, "access_grant", user=text)
    assert caught.value.code == "unknown_person"
    assert await house.one("SELECT count(*) FROM access_users") == 0


async def test_an_admin_whose_messages_are_used_up_is_none(house: House) -> None:
    await command(house, "/grant admin 1x", mentions=["Alice"])
    await house.ask("the only one")
    assert house.service is not None
    assert not await house.service._desk.is_admin(UserId("u_alice"))
    house.say("hello", house.world.add_person("Guest").name)
    await asked(house)
    assert await house.rows("SELECT holder FROM access_cards WHERE holder = 'u_alice'") == []


async def test_a_removed_admin_decides_nothing(house: House) -> None:
    await command(house, "/grant admin", mentions=["Alice"])
    guest = house.world.add_person("Guest")
    house.say("hello", guest.name)
    card = await asked(house, "Alice")
    value = button(house, card, "access_allow")
    await command(house, "/revoke Alice")
    assert await click(house, card, value, "Alice") == WORDS.toast_access_not_admin
    assert await house.one(OPEN) == 1
    assert await house.one("SELECT count(*) FROM audit WHERE action = 'request.refused'") == 1


async def test_the_control_socket_does_the_same_with_typed_errors(house: House) -> None:
    message_id = house.say("hello")
    await asked(house)
    (request,) = (await ask(house, "access_requests"))["requests"]
    assert (request["user_id"], request["messages"]) == ("u_alice", 1)
    approved = await ask(house, "access_approve", request=request["request_id"], switches=["wiki_read"], hours=2)
    assert (approved["state"], approved["switches"], approved["released"]) == ("approved", ["chat", "wiki_read"], 1)
    await answered(house, message_id)
    people = (await ask(house, "access_list"))["people"]
    assert [one["switches"] for one in people] == [["chat", "wiki_read"]]
    for operation, arguments, code in (
        ("access_deny", {"request": request["request_id"]}, "unknown_person"),
        ("access_grant", {"user": "nobody"}, "unknown_person"),
        ("access_revoke", {"user": "u_bob"}, "admin_by_config"),
        ("access_grant", {"user": "u_alice", "switches": ["root"]}, "invalid_input"),
        ("access_grant", {"user": "u_alice", "hours": -1}, "invalid_input"),
        ("access_grant", {}, "invalid_input"),
    ):
        with pytest.raises(Refused) as caught:
            await ask(house, operation, **arguments)
        assert caught.value.code == code
    actors = {line["actor"] for line in (await ask(house, "access_audit"))["lines"]}
    assert actors == {"console"}


async def test_the_command_line(house: House) -> None:

    async def run(*arguments: str) -> str:
        done = await command_line(house, *arguments)
        assert done.exit_code == 0, done.output
        return done.output

    assert "nobody is waiting" in await run("requests")
    first = house.say("hello")
    await asked(house)
    assert "Alice" in await run("requests")
    assert "declined" in await run("deny", "Alice")
    await told(house, first, WORDS.kept_denied_title)
    assert "u_alice" in await run("grant", "Alice", "code_write", "--hours", "2", "--messages", "5")
    message_id, _ = await house.ask("again")
    house.assert_answered_once(message_id)
    assert json.loads(await run("list", "--json"))["people"][0]["messages_left"] == 4
    assert "nothing" in await run("revoke", "Alice")
    assert len((await run("claim-code")).splitlines()[0]) == 19


async def test_an_open_door_answers_what_was_kept(open_house: OpenHouse) -> None:
    house = await open_house(**APPROVAL)
    message_id = house.say("hello")
    card = await asked(house, SECOND)
    await house.stop()
    house.sections = {"access": {"admins": ["u_bob"]}}
    await house.start()
    await answered(house, message_id)
    await became(house, card, WORDS.access_approved_title)
