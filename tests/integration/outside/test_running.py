"""`channels run` and `channels demo` as processes: what they say, what they leave, and how they end."""

import asyncio
import os
import signal
import socket
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from channels.cli.control_client import call_service
from channels.emulator import Emulator
from channels.store.header import APPLICATION_ID

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    emulator = Emulator()
    await emulator.start()
    yield emulator
    await emulator.stop()


@pytest.fixture
def config(tmp_path: Path, emulator: Emulator) -> Path:
    file = tmp_path / "channels.toml"
    file.write_text(
        f'[feishu]\napp_id = "cli_emulator"\napp_secret = "env:APP_SECRET"\ndomain = "{emulator.url}"\n'
        '[store]\npath = "data/channels.db"\n[web]\nport = 0\n'
    )
    return file


def domain_file(config: Path) -> Path:
    return config.parent / "data" / "channels.db"


async def start(*arguments: str, **environ: str) -> Process:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CHANNELS_", "LC_", "LANG"))}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "channels", *arguments, cwd=ROOT, env=clean | environ, stdout=PIPE, stderr=PIPE
    )


async def ended(process: Process) -> tuple[int | None, str, str]:
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def run(config: Path, **environ: str) -> tuple[int | None, str, str]:
    return await ended(await start("run", "--config", str(config), **{"APP_SECRET": "secret"} | environ))


class TestRun:
    async def test_systemd_hears_ready_and_stopping_and_a_signal_ends_it_cleanly(
        self, config: Path, emulator: Emulator, tmp_path: Path
    ) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(tmp_path / "notify"))
            notify.setblocking(False)
            loop = asyncio.get_running_loop()
            process = await start(
                "run", "--config", str(config), APP_SECRET="secret", NOTIFY_SOCKET=str(tmp_path / "notify")
            )
            assert (await loop.sock_recv(notify, 200)).startswith(b"READY=1\nSTATUS=connected")
            assert len(emulator.sockets.connections) == 1
            process.send_signal(signal.SIGTERM)
            assert (await loop.sock_recv(notify, 200)).startswith(b"STOPPING=1")
            code, out, err = await ended(process)
        assert (code, out) == (0, "")
        assert "service.stopped" in err
        assert "secret" not in err.replace("app_secret", "")
        assert sorted(each.name for each in domain_file(config).parent.iterdir()) == [
            "channels.db",
            "channels.db.anchor",
            "channels.db.lock",
        ]

    async def test_status_is_answered_and_a_second_instance_is_refused_by_name(
        self, config: Path, emulator: Emulator
    ) -> None:
        """Field report 6."""
        process = await start("run", "--config", str(config), APP_SECRET="secret")
        try:
            await emulator.connected()
            socket_path = domain_file(config).with_name("channels.db.sock")
            answer = await asyncio.to_thread(call_service, socket_path, "status")
            assert answer["version"]
            code, out, err = await run(config)
            assert (code, out) == (3, "")
            assert str(process.pid) in err.splitlines()[-1], err
            code, out, err = await ended(await start("status", "--socket", str(socket_path), "--json"))
            assert (code, err) == (0, "")
            assert '"version"' in out
        finally:
            process.send_signal(signal.SIGTERM)
            assert (await ended(process))[0] == 0

    async def test_a_port_in_use_is_two_and_leaves_nothing(self, config: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            port = str(taken.getsockname()[1])
            code, out, err = await run(config, CHANNELS_WEB__PORT=port)
        assert (code, out) == (2, "")
        assert f"web.port: {port} on 127.0.0.1 is in use" in err
        assert not domain_file(config).parent.exists()

    @pytest.mark.parametrize(
        ("spoil", "words"),
        [
            (lambda file: make_newer(file), "version 99"),
            (lambda file: file.write_bytes(b"somebody's letter" * 50), "not a database"),
            (lambda file: make_foreign(file), "left as it is"),
        ],
    )
    async def test_a_file_that_is_not_ours_or_newer_is_three_and_stays(
        self, config: Path, spoil: Callable[[Path], object], words: str
    ) -> None:
        file = domain_file(config)
        file.parent.mkdir()
        spoil(file)
        before = file.read_bytes()
        code, out, err = await run(config)
        assert (code, out) == (3, "")
        assert words in err.splitlines()[-1], err
        assert file.read_bytes() == before

    async def test_a_missing_secret_is_two(self, config: Path) -> None:
        code, _out, err = await run(config, APP_SECRET="")
        assert code == 2
        assert "APP_SECRET" in err
        assert not domain_file(config).parent.exists()


def make_foreign(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE letters (text)")
    connection.close()


def make_newer(file: Path) -> None:
    """The header that a later version of this program would have written."""
    with sqlite3.connect(file) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE later (text)")
    connection.close()


class TestDemo:
    async def test_one_round_trip_prints_the_answer(self) -> None:
        code, out, err = await ended(await start("demo", "--say", "hello <there> 1. & you", "--port", "0"))
        assert (code, err) == (0, "")
        assert "hello <there> 1. & you" in out

    async def test_pages_of_a_long_answer_come_in_order(self) -> None:
        code, out, err = await ended(await start("demo", "--say", "code", "--language", "zh", "--port", "0"))
        assert (code, err) == (0, "")
        assert out.index("```python") < out.index("```bash") < out.index("```sql")

    async def test_a_failed_turn_is_one(self) -> None:
        code, out, err = await ended(await start("demo", "--say", "error", "--port", "0"))
        assert code == 1
        assert out
        assert err == "channels: the turn ended with a failure; the text above says which.\n"

    async def test_a_question_to_a_person_is_one_at_once(self) -> None:
        start_of = start("demo", "--say", "ask permission", "--wait", "3000", "--port", "0")
        code, out, err = await ended(await start_of)
        assert (code, out) == (1, "")
        assert "nobody can press its buttons" in err and "without --say" in err

    async def test_no_answer_in_time_is_one(self) -> None:
        code, out, err = await ended(await start("demo", "--say", "work 50 seconds", "--wait", "1", "--port", "0"))
        assert (code, out) == (1, "")
        assert "within 1 s" in err

    async def test_an_unknown_speaker_is_two(self) -> None:
        code, out, err = await ended(await start("demo", "--say", "hi", "--user", "Nobody"))
        assert (code, out) == (2, "")
        assert "Alice" in err

    async def test_a_port_in_use_is_two(self, emulator: Emulator) -> None:
        port = emulator.url.rpartition(":")[2]
        code, out, err = await ended(await start("demo", "--say", "hi", "--port", port))
        assert (code, out) == (2, "")
        assert f"--port: {port} is in use" in err

    async def test_the_page_is_announced_and_ctrl_c_ends_it(self, tmp_path: Path) -> None:
        process = await start("demo", "--port", "0", "--data", str(tmp_path / "kept"))
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        assert first.startswith("Open http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        code, _out, err = await ended(process)
        assert (code, err) == (0, "")
        assert (tmp_path / "kept" / "channels.db").exists()


async def test_the_emulator_runs_alone() -> None:
    process = await start("emulator", "--port", "0")
    assert process.stdout is not None
    first = (await process.stdout.readline()).decode()
    assert "http://127.0.0.1:" in first
    process.send_signal(signal.SIGTERM)
    assert (await ended(process))[0] == 0
