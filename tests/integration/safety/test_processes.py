"""The service and its commands as real processes: how it goes down, and how its file is kept, looked at, put back."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from channels.cli.control_client import call_service
from channels.clock import SystemClock
from channels.emulator import Emulator
from channels.rules.turn import Phase
from channels.store.copies import look_into
from channels.store.invariants import look
from tests.integration import cards_seen
from tests.integration.house import emulator_settings

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 60.0  # every command is a fresh interpreter, on a machine that does much else

pytestmark = pytest.mark.timeout(240)


class Installation:
    """A folder with settings, and what is started in it."""

    def __init__(self, folder: Path, emulator: Emulator) -> None:
        self.emulator, self.world, self.ledger = emulator, emulator.world, emulator.ledger
        self.config, self.file = folder / "channels.toml", folder / "data" / "channels.db"
        self.config.write_text(
            f'[feishu]\napp_id = "cli_emulator"\napp_secret = "env:APP_SECRET"\ndomain = "{emulator.url}"\n'
            'rate_limits = false\n[store]\npath = "data/channels.db"\n[ui]\nlanguage = "en"\n[web]\nenabled = false\n'
            "[turns]\ndrain_s = 3.0\n[connection]\nfirst_pause_s = 0.1\n"
        )
        self.started: list[Process] = []

    async def start(self, command: str, *arguments: str) -> Process:
        environ = {key: value for key, value in os.environ.items() if not key.startswith("CHANNELS_")}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "channels", command, "--config", str(self.config), *arguments),
            cwd=ROOT,
            env=environ | {"APP_SECRET": "secret"},
            stdout=PIPE,
            stderr=PIPE,
        )
        self.started.append(process)
        return process

    async def run(self) -> Process:
        """A service that is connected."""
        process = await self.start("run")
        await self.emulator.connected(timeout_s=LIMIT_S)
        return process

    async def command(self, name: str, *arguments: str) -> tuple[int | None, str, str]:
        process = await self.start(name, *arguments)
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    async def ask(self, operation: str, **arguments: Any) -> Any:
        socket = self.file.with_name("channels.db.sock")
        return await asyncio.to_thread(call_service, socket, operation, arguments)

    def say(self, text: str, user: str = "Alice") -> str:
        return self.world.say(user, self.world.private_chat(user), text)

    async def answered(self, message_id: str) -> None:
        await self.ledger.until(lambda: self.ledger.reactions(message_id) == ["DONE"], LIMIT_S)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What the file of a stopped service holds."""
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Installation]:
    emulator = Emulator(emulator_settings())
    await emulator.start()
    installation = Installation(tmp_path, emulator)
    yield installation
    for process in installation.started:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    await emulator.stop()


async def ended(process: Process) -> int | None:
    await process.communicate()
    return process.returncode


def left_alone(place: Installation) -> None:
    """Nothing in the file of the stopped service that must not be."""
    with look_into(place.file, SystemClock().wall_ms()) as tx:
        assert look(tx, SystemClock().wall_ms()).violations == ()


class TestGoingDown:
    async def test_it_accepts_while_turns_end_and_writes_when_it_was_last_alive(self, place: Installation) -> None:
        process = await place.run()
        running = place.say("work 600 seconds")
        await place.ledger.until(lambda: "Typing" in place.ledger.reactions(running), LIMIT_S)
        await place.ledger.until(lambda: place.ledger.visible_replies(running), LIMIT_S)
        before = SystemClock().wall_ms()
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(draining(place), LIMIT_S)
        meanwhile = place.say("while it goes down", "Bob")
        await place.ledger.until(lambda: acks(place, meanwhile) == [200], LIMIT_S)
        assert await ended(process) == 0
        (reply,) = place.ledger.visible_replies(running)
        assert cards_seen.phase(place.ledger.card_json(reply.message_id)) is Phase.INTERRUPTED
        assert place.ledger.reactions(running) == []
        assert place.rows("SELECT count(*) FROM turns WHERE state <> 'ended'") == [(0,)]
        assert place.rows(f"SELECT state FROM inbox WHERE message_id = '{meanwhile}'") == [("accepted",)]
        ((alive_at,),) = place.rows("SELECT last_alive_at FROM meta")
        assert alive_at >= before
        left_alone(place)
        await place.run()
        await place.answered(meanwhile)
        assert len(place.ledger.visible_replies(meanwhile)) == 1

    async def test_a_second_signal_leaves_at_once_and_nothing_is_lost(self, place: Installation) -> None:
        process = await place.run()
        running = place.say("work 600 seconds")
        await place.ledger.until(lambda: place.ledger.visible_replies(running), LIMIT_S)
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(draining(place), LIMIT_S)
        loop = asyncio.get_running_loop()
        first = loop.time()
        while process.returncode is None and loop.time() - first < 10:  # an echo within 0.3 s counts as the same wish
            process.send_signal(signal.SIGTERM)
            await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=0.2)
        assert await ended(process) == 128 + signal.SIGTERM
        await place.run()
        await place.ledger.until(lambda: place.ledger.reactions(running) == [], LIMIT_S)
        (reply,) = place.ledger.visible_replies(running)
        await place.ledger.until(
            lambda: cards_seen.phase(place.ledger.card_json(reply.message_id)) is Phase.INTERRUPTED, 20
        )


async def draining(place: Installation) -> None:
    """Wait until the service says in its log that it goes down."""
    assert place.started[-1].stderr is not None
    while line := await place.started[-1].stderr.readline():
        if b'"service.stopping"' in line:
            return
    raise AssertionError("the service ended without stopping")


def acks(place: Installation, message_id: str) -> list[int | None]:
    return [each.ack_code for each in place.ledger.deliveries(message_id)]


class TestKeeping:
    async def test_backup_and_restore(self, place: Installation, tmp_path: Path) -> None:
        process = await place.run()
        before = place.say("before the backup")
        await place.answered(before)
        copy = tmp_path / "copy.db"
        code, out, err = await place.command("backup", str(copy))
        assert (code, err) == (0, "")
        assert "owner epoch 1" in out and "1 sessions" in out
        code, out, err = await place.command("backup", str(copy))
        assert (code, out) == (3, "")
        assert "never overwrites" in err
        after = place.say("after the backup", "Bob")
        await place.answered(after)
        code, out, err = await place.command("restore", str(copy))
        assert (code, out) == (3, "")
        assert f"in use by process {process.pid}" in err
        assert (await place.ask("status"))["restored"] is None
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == 0
        code, out, err = await place.command("restore", str(copy))
        assert (code, err) == (0, "")
        assert "is kept as" in out and "compared with Feishu's history" in out
        code, out, _ = await place.command("doctor", "--json", "--invariants")
        found = {check["name"]: check for check in json.loads(out)["checks"]}
        assert (code, found["content"]["state"], found["invariants"]["state"]) == (0, "warning", "ok")
        process = await place.run()
        new = place.say("afterwards", "Bob")
        await place.answered(new)
        status = await place.ask("status")
        assert status["restored"]["why"] == "a backup was put back with `channels restore`"
        assert status["owner_epoch"] > 1000
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == 0
        assert [len(place.ledger.visible_replies(each)) for each in (before, after, new)] == [1, 1, 1]
        left_alone(place)

    async def test_a_backup_of_a_stopped_service(self, place: Installation, tmp_path: Path) -> None:
        code, out, err = await place.command("backup", str(tmp_path / "copy.db"))
        assert (code, out) == (3, "")
        assert "nothing to copy yet" in err
        assert not place.file.exists()
        process = await place.run()
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == 0
        code, out, err = await place.command("backup", str(tmp_path / "copy.db"))
        assert (code, err) == (0, "")
        assert "owner epoch 1" in out

    async def test_a_bad_copy_is_refused_and_changes_nothing(self, place: Installation, tmp_path: Path) -> None:
        process = await place.run()
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == 0
        before = place.file.read_bytes()
        (tmp_path / "letter").write_text("dear all, " * 50)
        code, out, err = await place.command("restore", str(tmp_path / "letter"))
        assert (code, out) == (3, "")
        assert "not a database" in err
        assert place.file.read_bytes() == before


async def test_a_restore_that_was_cut_off_is_not_taken_for_a_first_start(place: Installation) -> None:
    process = await place.run()
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == 0
    place.file.with_name("channels.db.anchor").rename(place.file.with_name("channels.db.restored"))
    place.file.unlink()
    process = await place.start("run")
    _, err = await process.communicate()
    assert process.returncode == 3
    assert "run `channels restore` again" in err.decode()
    assert not place.file.exists()


async def test_doctor_asks_the_running_service(place: Installation) -> None:
    process = await place.run()
    group = place.world.add_chat("Team", ["Alice"]).chat_id
    message_id = place.world.say("Alice", group, "hello", mention_bot=True)
    await place.answered(message_id)
    code, out, _ = await place.command("doctor", "--json", "--invariants")
    found = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 0
    states = {name: found[name]["state"] for name in ("lock", "service", "history", "user ids", "invariants")}
    assert set(states.values()) == {"ok"}, states
    assert str(process.pid) in found["lock"]["found"]
    place.emulator.settings.scopes -= {"im:message.group_msg", "contact:user.employee_id:readonly"}
    hidden = place.world.say("Alice", group, "hello again", mention_bot=True)
    await place.answered(hidden)
    code, out, _ = await place.command("doctor", "--json")
    found = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 0
    assert (found["history"]["state"], found["user ids"]["state"]) == ("warning", "warning")
    assert "im:message.group_msg" in found["history"]["mend"]
    assert "1 of the last 2" in found["user ids"]["found"]
