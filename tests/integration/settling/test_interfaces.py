"""The same operations in the process, on the control socket, on the command line and in a chat: one code each."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from channels.cards.settlement_texts import settlement_texts
from channels.errors import Refused
from channels.rules.access import Actor
from channels.rules.settlement import Code, session_hash
from channels.store.lock import FileLock
from channels.store.migrate import load_migrations
from tests.integration.command_line import json_of, output_of, refusal_of, run_command
from tests.integration.conftest import OpenHouse
from tests.integration.conversations.conftest import say
from tests.integration.house import House
from tests.integration.settling.test_served import HELD, PENDING, SETTLED, Counting, busy_file
from tests.integration.taps import Failing
from tests.integration.web.visitor import ask_socket

WORDS = settlement_texts("en")
ADMIN = {"access": {"admins": ["u_alice"]}, "topics": {"private": "chat", "group": "chat"}}
CONSOLE = Actor("console", "", "cli")  # type: ignore[arg-type]


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> House:
    house = await open_house(start=False, **ADMIN)
    house.agents = {"demo": Counting()}
    await house.start()
    return house


@pytest_asyncio.fixture
async def stuck(house: House) -> AsyncIterator[Failing]:
    """One settlement waits, because the file was busy when its turn ended; nobody tries it before somebody asks."""
    failing = await busy_file(house)
    await house.ask("hello")
    await house.held(PENDING, 1)
    yield failing


async def ask(house: House, operation: str, **arguments: Any) -> Any:
    return await asyncio.to_thread(ask_socket, house, operation, arguments)


async def code_of(house: House, operation: str, **arguments: Any) -> str:
    with pytest.raises(Refused) as caught:
        await ask(house, operation, **arguments)
    return caught.value.code


def files(house: House) -> dict[str, bytes]:
    """Everything that belongs to the domain file."""
    return {
        path.name: path.read_bytes()
        for path in sorted(house.folder.glob("channels.db*"))
        if path.is_file() and path.suffix not in (".lock", ".sock")
    }


class TestReading:
    async def test_it_is_the_same_wherever_it_is_asked(self, house: House, stuck: Failing) -> None:
        over_socket, over_cli = await ask(house, "settlement_status"), await json_of(house, "settlement", "status")
        for one in (over_socket, over_cli):
            (pending,) = one["pending"]
            pending.pop("state")  # the back-off goes on meanwhile
        assert over_socket == over_cli
        said = await say(house, "/settlement")
        assert pending["key"][:12] in said and WORDS.pending.format(count=1) in said
        handle = f"{pending['key']}  {pending['payload_hash']}"
        assert handle in await output_of(house, "settlement", "status"), "what `settlement apply` takes"
        assert house.service is not None
        shown = await house.service.parts.ledger.desk.status()
        assert [one.key for one in shown.status.pending] == [pending["key"]]

    async def test_it_writes_nothing(self, house: House, stuck: Failing) -> None:
        """`total_changes` of the one connection, over every way of asking that is no message."""
        assert house.service is not None
        await ask(house, "settlement_pause")
        await house.quiet()
        connection = house.service.parts.context.database._file.connection

        async def settled_changes() -> int:
            return await house.service.parts.context.database.read(lambda tx: connection.total_changes)  # type: ignore[union-attr]

        await house.service.parts.ledger.settling.close()  # its own sweep is no reading
        for task in ("heartbeat", "settling"):
            house.service._tasks[task].cancel()
        before = await settled_changes()
        for _ in range(3):
            await ask(house, "settlement_status")
            await ask(house, "quota_list")
            await ask(house, "quota_show", user="id:u_alice")
            await output_of(house, "quota", "list")
            await output_of(house, "settlement", "status")
            await ask(house, "status")
        assert await settled_changes() == before

    async def test_of_a_closed_file_it_changes_no_byte(self, house: House, stuck: Failing) -> None:
        await house.stop()
        before = files(house)
        answer = await json_of(house, "settlement", "status")
        assert len(answer["pending"]) == 1
        assert files(house) == before

    async def test_of_an_older_file_too(self, house: House) -> None:
        """A file from before there were settlements is read as it is, and stays what it is."""
        await house.stop()
        older = sqlite3.connect(house.folder / "older.db", isolation_level=None)
        older.execute("PRAGMA application_id = 1129270612")
        for migration in load_migrations()[:7]:
            for statement in migration.statements:
                older.execute(statement)
        older.execute("PRAGMA user_version = 7")
        current = sqlite3.connect(house.file)
        (application_id,) = current.execute("PRAGMA application_id").fetchone()
        current.close()
        older.execute(f"PRAGMA application_id = {application_id}")
        older.execute("INSERT INTO meta (one, db_uuid, created_at, clock_floor) VALUES (1, 'older', 1, 1)")
        older.close()
        for path in house.folder.glob("channels.db*"):
            path.unlink()
        shutil.copy(house.folder / "older.db", house.file)
        before = files(house)
        answer = await json_of(house, "settlement", "status")
        assert (answer["pending"], answer["history"], answer["generation"], answer["paused"]) == ([], [], 1, False)
        assert files(house) == before


@pytest.mark.parametrize("operation", ["status", "pause", "resume", "stop --session s"])
async def test_a_closed_file_that_somebody_has_is_lock_busy(house: House, operation: str) -> None:
    """A process that answers on no socket has it: nothing was tried, and the code says so; who it is, the line."""
    await house.stop()
    lock = FileLock.acquire(house.file, 0)
    try:
        before = files(house)
        line, code = await refusal_of(house, "settlement", *operation.split())
        assert "(lock_busy)" in line and "in use by process" in line and code == 3
        assert files(house) == before
    finally:
        lock.release()


class TestApplying:
    async def test_with_the_generation_that_was_seen(self, house: House, stuck: Failing) -> None:
        (pending,) = (await ask(house, "settlement_status"))["pending"]
        handle = {"key": pending["key"], "payload_hash": pending["payload_hash"]}
        assert await code_of(house, "settlement_apply", **handle) == "settlement_generation_required"
        assert await code_of(house, "settlement_apply", **handle, generation=7) == "settlement_stale_control"
        wrong = {"key": pending["key"], "payload_hash": "0" * 64}
        assert await code_of(house, "settlement_apply", **wrong, generation=1) == "settlement_conflict"
        unknown = {"key": "0" * 64, "payload_hash": "0" * 64}
        assert await code_of(house, "settlement_apply", **unknown, generation=1) == "settlement_unknown_key"
        assert await code_of(house, "settlement_apply", key="x", payload_hash="y", generation=1) == "invalid_input"
        assert await code_of(house, "settlement_apply", **handle, generation=1) == "lock_busy"
        stuck.on = False
        done = await ask(house, "settlement_apply", **handle, generation=1)
        assert done["fact"]["state"] == "settled"
        again = await output_of(house, "settlement", "apply", handle["key"], handle["payload_hash"])
        assert again.strip() == f"{handle['key']}  settled before"
        assert await house.one(HELD) == 0

    async def test_in_a_chat_the_first_letters_are_enough(self, house: House, stuck: Failing) -> None:
        (pending,) = (await ask(house, "settlement_status"))["pending"]
        assert WORDS.ambiguous.format(key="ffffffffffff") in await say(house, "/settlement apply ffffffffffff")
        stuck.on = False
        said = await say(house, f"/settlement apply {pending['key'][:10]}")
        settled = WORDS.states["settled"]
        assert settled in said or "settlement_unknown_key" in said, "or the schedule was quicker"
        await house.held(SETTLED, 1)

    async def test_enqueued_again_it_is_a_duplicate(self, house: House, stuck: Failing) -> None:
        rows = await house.rows("SELECT reservation_id, start_epoch, executor, kind FROM evidence")
        names = ("reservation", "start_epoch", "executor", "kind")
        (ref,) = (dict(zip(names, row, strict=True)) for row in rows)
        done = await ask(house, "settlement_enqueue", **ref)
        assert done["duplicate"] is True
        assert await code_of(house, "settlement_enqueue", **(ref | {"kind": "stale"})) == "invalid_evidence"
        assert await code_of(house, "settlement_enqueue", **(ref | {"reservation": "none"})) == "settlement_no_receipt"
        assert await code_of(house, "settlement_enqueue", reservation="none") == "invalid_input"
        for odd in ({"start_epoch": 2**70}, {"start_epoch": True}, {"executor": "\ud800"}, {"reservation": " "}):
            assert await code_of(house, "settlement_enqueue", **(ref | odd)) == "invalid_input", odd


class TestStopping:
    @pytest.mark.parametrize(
        "request_",
        [{}, {"session_id": ""}, {"key": "0" * 64}, {"session_id": "s", "key": "0" * 64, "payload_hash": "0" * 64}],
    )
    async def test_either_form_and_nothing_else(self, house: House, request_: dict[str, Any]) -> None:
        assert await code_of(house, "settlement_stop", **request_) == "invalid_input"
        assert await house.one("SELECT count(*) FROM settlement_stops") == 0

    async def test_by_key_from_the_command_line(self, house: House, stuck: Failing) -> None:
        (pending,) = (await ask(house, "settlement_status"))["pending"]
        line, code = await refusal_of(house, "settlement", "stop", "--key", pending["key"])
        assert "invalid_input" in line and code == 3
        handle = ("--key", pending["key"], "--payload-hash", pending["payload_hash"])
        assert "stopped" in await output_of(house, "settlement", "stop", *handle)
        assert "stopped already" in await output_of(house, "settlement", "stop", *handle)
        stuck.on = False
        house.advance(61)
        assert await house.held("SELECT way FROM releases") == "late"
        assert await house.rows("SELECT actor, via, action, subject FROM audit WHERE action LIKE 'settlement%'") == [
            ("console", "cli", "settlement.stopped", pending["key"])
        ]

    async def test_by_session_in_a_chat(self, house: House) -> None:
        await house.ask("hello")
        await house.held(SETTLED, 1)
        session_id = str(await house.one("SELECT session_id FROM turns"))
        assert "Stopped for ever" in await say(house, f"/settlement stop {session_id}")
        assert "stopped already" in await say(house, f"/settlement stop {session_id}")
        assert await house.one("SELECT session_hash FROM settlement_stops") == session_hash(session_id)  # type: ignore[arg-type]


class TestPausing:
    async def test_paused_in_a_chat_resumed_from_the_command_line(self, house: House) -> None:
        assert WORDS.paused_now in await say(house, "/pause")
        assert WORDS.paused_before in await say(house, "/pause")
        await house.restart()
        await house.ask("hello")
        assert (await ask(house, "settlement_status"))["paused"] is True
        assert await house.one(HELD) == 1 and await house.one(SETTLED) == 0
        assert WORDS.paused.format(generation=2) in await say(house, "/settlement")
        assert "resumed" in await output_of(house, "settlement", "resume")
        assert "was not paused" in await output_of(house, "settlement", "resume")
        await house.held(SETTLED, 1)
        assert WORDS.resumed_before in await say(house, "/resume-settlement")
        actions = await house.rows("SELECT actor, via, action FROM audit WHERE action LIKE 'settlement%' ORDER BY seq")
        assert actions == [("u_alice", "chat", "settlement.paused"), ("console", "cli", "settlement.resumed")]

    async def test_applying_says_so(self, house: House, stuck: Failing) -> None:
        (pending,) = (await ask(house, "settlement_status"))["pending"]
        generation = (await ask(house, "settlement_pause"))["generation"]
        handle = {"key": pending["key"], "payload_hash": pending["payload_hash"]}
        assert await code_of(house, "settlement_apply", **handle, generation=generation) == "settlement_paused"
        line, code = await refusal_of(
            house, "settlement", "apply", pending["key"], pending["payload_hash"], "--generation", str(generation)
        )
        assert "(settlement_paused)" in line and code == 3

    async def test_of_a_closed_file_too(self, house: House) -> None:
        await house.ask("hello")
        await house.held(SETTLED, 1)
        await house.stop()
        assert "paused" in await output_of(house, "settlement", "pause")
        await house.start()
        await house.ask("hello again")
        assert (await ask(house, "settlement_status"))["paused"] is True
        assert await house.one(HELD) == 1


class TestWho:
    @pytest.mark.parametrize("text", ["/pause", "/resume-settlement", "/settlement", "/settlement stop x", "/暂停结算"])
    async def test_only_admins(self, house: House, text: str) -> None:
        assert "Only admins" in await say(house, text, "Bob")
        assert await house.one("SELECT count(*) FROM settlement_control") == 0

    async def test_wrong_words_are_explained(self, house: House) -> None:
        assert "/settlement apply KEY" in await say(house, "/settlement everything now")


async def test_a_wrong_option_is_a_question_of_usage(house: House) -> None:
    done = await run_command(house, "settlement", "apply", "only-a-key")
    assert done.exit_code == 2


def test_every_code_has_its_words_in_both_languages() -> None:
    for language in ("en", "zh"):
        words = settlement_texts(language)
        assert set(words.codes) == {code.value for code in Code}
        assert all(text.strip() for text in (*words.codes.values(), *words.states.values()))
