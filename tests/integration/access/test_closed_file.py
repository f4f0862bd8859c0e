"""`channels access …` while no service runs: the same operations, and the next start sends what follows from them."""

import asyncio
import json
import shutil
from typing import Any

import pytest

from channels.cli.closed_access import ask_file
from channels.cli.control_client import call_service
from channels.errors import ChannelsError, Refused, StartRefused
from channels.ids import UserId
from channels.store.copies import inspect_copy
from channels.store.lock import FileLock
from tests.integration.access.gate import (
    APPROVAL,
    KEPT,
    WORDS,
    answered,
    asked,
    became,
    command,
    command_line,
    told,
)
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

ACTOR = "SELECT actor || ' ' || via || ' ' || action FROM audit ORDER BY seq DESC LIMIT 1"
# what is asked, and the code that it is refused with
WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("access_grant", {"user": "nobody"}, "unknown_person"),
    ("access_revoke", {"user": "u_bob"}, "admin_by_config"),
    ("access_approve", {"request": "no-such"}, "unknown_person"),
    ("access_deny", {"request": "u_bob"}, "unknown_request"),
    ("access_grant", {"user": "u_alice", "switches": ["root"]}, "invalid_input"),
    ("access_grant", {"user": "u_alice", "hours": -1}, "invalid_input"),
    ("access_grant", {}, "invalid_input"),
)


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(**APPROVAL)


async def ask(house: House, operation: str, **arguments: Any) -> Any:
    return await asyncio.to_thread(ask_file, house.settings, operation, arguments)


async def run(house: House, *arguments: str) -> str:
    done = await command_line(house, *arguments)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


async def test_who_is_approved_meanwhile_is_answered_by_the_next_start(house: House) -> None:
    first, second = house.say("hello"), house.say("are you there?")
    card = await asked(house)
    await house.held(KEPT, 2)
    await house.stop()
    assert "Alice" in await run(house, "requests")
    done = await command_line(house, "approve", "Alice", "wiki_read", "--hours", "2")
    assert (done.exit_code, done.stdout) == (0, "Alice (u_alice) was let in; messages answered now: 2\n")
    assert "next start sends" in done.stderr
    assert "nobody is waiting" in await run(house, "requests")
    await house.start()
    await answered(house, first)
    await answered(house, second, told_first=False)
    await became(house, card, WORDS.access_approved_title)
    await told(house, first, WORDS.kept_approved_title)
    assert await house.one(ACTOR) == "console cli request.approved"


async def test_who_is_denied_meanwhile_is_told_by_the_next_start(house: House) -> None:
    message_id = house.say("hello")
    card = await asked(house)
    await house.stop()
    assert "declined" in await run(house, "deny", "Alice")
    await house.start()
    await told(house, message_id, WORDS.kept_denied_title)
    await became(house, card, WORDS.access_denied_title)


async def test_granting_and_revoking(house: House) -> None:
    await command(house, "/whoami", "Alice")
    await house.stop()
    assert "u_alice  chat, change" not in await run(house, "list")
    assert "messages left: 1" in await run(house, "grant", "id:u_alice", "code_write", "--messages", "1")
    await house.start()
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)
    await house.stop()
    assert "nothing" in await run(house, "revoke", "u_alice")
    await house.start()
    late = house.say("hello?")
    await told(house, late, WORDS.kept_title)


async def test_it_says_the_same_as_the_running_service(house: House) -> None:
    house.say("hello")
    await asked(house)
    await command(house, "/grant id:u_carol wiki_read 7d 20x")
    operations = ("access_list", "access_requests", "access_audit")
    running = [
        await asyncio.to_thread(call_service, house.settings.control_socket, operation, {}) for operation in operations
    ]
    refused = [await _code(house, *each, running=True) for each in WRONG]
    unknown = (await command_line(house, "deny", "u_bob")).exception
    assert isinstance(unknown, Refused) and unknown.user_text == WORDS.request_unknown
    audit = await house.rows("SELECT count(*) FROM audit")
    await house.stop()
    assert [await ask(house, operation) for operation in operations] == running
    assert [await _code(house, *each, running=False) for each in WRONG] == refused == [code for *_, code in WRONG]
    await house.start()
    assert await house.rows("SELECT count(*) FROM audit") == audit


async def _code(house: House, operation: str, arguments: dict[str, Any], _wanted: str, *, running: bool) -> str:
    with pytest.raises(Refused) as caught:
        if running:
            await asyncio.to_thread(call_service, house.settings.control_socket, operation, arguments)
        else:
            await ask(house, operation, **arguments)
    return caught.value.code


async def test_a_file_that_a_process_has_is_left_alone(house: House) -> None:
    """The socket may be elsewhere, or the service just starting: the lock says that somebody has the file."""
    await house.stop()
    lock = FileLock.acquire(house.file, 0)
    before = house.file.read_bytes()
    try:
        with pytest.raises(StartRefused, match="is in use by process"):
            await ask(house, "access_grant", user="id:u_alice")
        done = await command_line(house, "grant", "id:u_alice")
        assert isinstance(done.exception, ChannelsError)
    finally:
        lock.release()
    assert house.file.read_bytes() == before


async def test_a_file_that_was_put_back_is_only_looked_at(house: House) -> None:
    """Commits would bring it level with its anchor, and the next start would take it for the one that ran last."""
    await house.stop()
    kept = house.folder / "kept.db"
    shutil.copy(house.file, kept)
    await house.start()
    await command(house, "/grant", mentions=["Alice"])
    await house.stop()
    shutil.copy(kept, house.file)
    commits = inspect_copy(house.file)
    assert (await ask(house, "access_list"))["people"] == []
    for operation, arguments in (("access_grant", {"user": "id:u_carol"}), ("access_claim_code", {})):
        with pytest.raises(Refused) as caught:
            await ask(house, operation, **arguments)
        assert caught.value.code == "restored"
    assert inspect_copy(house.file) == commits
    await house.start()
    assert await house.one("SELECT count(*) FROM quarantine") == 1


async def test_many_changes_leave_a_file_that_is_the_one_that_ran_last(house: House) -> None:
    await house.stop()
    for number in range(5):
        await ask(house, "access_grant", user=f"id:u_{number}")
    await house.start()
    assert await house.one("SELECT count(*) FROM quarantine") == 0
    assert await house.one("SELECT count(*) FROM access_users") == 5


async def test_a_copy_from_before_such_a_change_is_noticed(house: House) -> None:
    await house.stop()
    kept = house.folder / "kept.db"
    shutil.copy(house.file, kept)
    await ask(house, "access_revoke", user="id:u_alice")
    shutil.copy(kept, house.file)
    await house.start()
    assert await house.one("SELECT count(*) FROM quarantine") == 1


@pytest.mark.parametrize("touched", [False, True])
async def test_a_file_that_was_never_used_is_not_made(open_house: OpenHouse, touched: bool) -> None:
    house = await open_house(start=False, **APPROVAL)
    if touched:
        house.file.touch()
    for operation in ("access_list", "access_claim_code"):
        with pytest.raises(Refused) as caught:
            await ask(house, operation)
        assert caught.value.code == "no_file"
    assert house.file.exists() == touched
    await house.start()
    assert await house.one("SELECT count(*) FROM quarantine") == 0


async def test_a_claim_code_that_was_made_before_the_start(open_house: OpenHouse) -> None:
    house = await open_house(access={"mode": "approval"})
    await house.stop()
    code = json.loads(await run(house, "claim-code", "--json"))["code"]
    await house.start()
    assert await command(house, code, "Alice") == WORDS.claim_done


async def test_what_admins_set_on_the_page_counts(house: House) -> None:
    assert house.service is not None
    await house.service._desk.change_settings({"access.mode": "open"}, UserId("u_bob"))
    await house.stop()
    assert (await ask(house, "access_list"))["mode"] == "open"
