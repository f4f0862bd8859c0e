"""What surrounds the service as a process: systemd's socket, signals, exit codes. Real processes, real signals."""

import asyncio
import errno
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from channels.cli.checking import check_place
from channels.cli.faults import CheckFailed, explain
from channels.cli.notify import Notifier
from channels.errors import ConfigError, Refused, StartRefused

ROOT = Path(__file__).resolve().parents[3]

WAITER = """
import asyncio, sys
from channels.cli.signals import stop_on_signals

async def main():
    stop = asyncio.Event()
    echo_s = 3600 if "echo" in sys.argv else 0
    with stop_on_signals(stop, lambda: print("first", flush=True), echo_s=echo_s):
        print("ready", flush=True)
        await stop.wait()
        if "drain" in sys.argv:
            await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WAITER, *arguments],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_the_first_asks_to_stop(self, number: signal.Signals) -> None:
        with start() as process:
            assert read_line(process) == "ready"
            process.send_signal(number)
            assert (read_line(process), process.wait(10)) == ("first", 0)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_the_second_leaves_at_once(self, number: signal.Signals) -> None:
        with start("drain") as process:
            assert read_line(process) == "ready"
            process.send_signal(signal.SIGTERM)
            assert read_line(process) == "first"
            process.send_signal(number)
            assert process.wait(10) == 128 + number
            assert process.stderr is not None
            assert "leaving at once" in process.stderr.read()

    def test_a_launcher_that_signals_child_and_group_means_it_once(self) -> None:
        with start("drain", "echo") as process:
            assert read_line(process) == "ready"
            process.send_signal(signal.SIGINT)
            assert read_line(process) == "first"
            process.send_signal(signal.SIGINT)
            assert process.communicate("drained\n", 10) == ("", "")
            assert process.returncode == 0


class TestNotify:
    async def test_it_says_ready_alive_and_stopping(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(str(tmp_path / "notify"))
            listener.setblocking(False)
            notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000"})
            loop = asyncio.get_running_loop()
            async with notifier.watchdog():
                assert await loop.sock_recv(listener, 100) == b"WATCHDOG=1"
                notifier.ready("connected")
                said = [await loop.sock_recv(listener, 100) for _ in range(3)]
            assert b"READY=1\nSTATUS=connected" in said
            assert b"WATCHDOG=1" in said
            notifier.stopping()
            while not (await loop.sock_recv(listener, 100)).startswith(b"STOPPING=1"):
                pass

    async def test_an_abstract_socket_is_reached(self) -> None:
        name = f"channels-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind("\0" + name)
            Notifier({"NOTIFY_SOCKET": "@" + name}).ready("x")
            assert listener.recv(100) == b"READY=1\nSTATUS=x"

    async def test_where_nobody_listens_it_is_silent(self, tmp_path: Path) -> None:
        for environ in ({}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}, {"WATCHDOG_USEC": "junk"}):
            notifier = Notifier(environ)
            async with notifier.watchdog():
                notifier.ready("x")


@pytest.mark.parametrize(
    ("error", "words", "code"),
    [
        (ConfigError("web.port", "is in use"), "configuration: web.port: is in use. Nothing was changed.", 2),
        (StartRefused("process 7 holds it"), "refused: process 7 holds it. Nothing was changed.", 3),
        (Refused("paused", "settlement is paused"), "refused: settlement is paused (paused)", 3),
        (CheckFailed("no service is running."), "no service is running.", 1),
        (PermissionError(13, "Permission denied", "/data"), "the system said no: Permission denied (/data)", 1),
        (ExceptionGroup("x", [ValueError("y"), ConfigError("a", "b")]), "configuration: a: b. Nothing was changed.", 2),
    ],
)
def test_an_expected_fault_is_one_line_and_a_code(error: Exception, words: str, code: int) -> None:
    assert explain(error) == (words, code)


@pytest.mark.parametrize("error", [ValueError("x"), ExceptionGroup("x", [KeyError("y")])])
def test_a_defect_keeps_its_traceback(error: Exception) -> None:
    assert explain(error) is None


def caused(cause: Exception) -> StartRefused:
    """As the store raises it."""
    error = StartRefused("the file: no")
    error.__cause__ = cause
    return error


def on_a_full_disk() -> sqlite3.Error:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("PRAGMA max_page_count = 2")
        connection.execute("CREATE TABLE one AS SELECT zeroblob(100000)")
    return caught.value


@pytest.mark.parametrize("cause", [OSError(errno.ENOSPC, "No space left on device"), on_a_full_disk()])
def test_a_full_disk_refuses_nothing_for_good(cause: Exception) -> None:
    """systemd starts nothing again that has ended with 2 or 3: a disk may have room in a minute."""
    assert explain(caused(cause)) == ("cannot start: the file: no.", 1)
    assert explain(caused(OSError(errno.EACCES, "Permission denied"))) == (
        "refused: the file: no. Nothing was changed.",
        3,
    )


def test_a_boot_commit_on_a_full_disk_has_its_line() -> None:
    assert explain(on_a_full_disk()) == (
        "the disk does not take the domain file (database or disk is full): free some room and start again.",
        1,
    )
    assert explain(sqlite3.IntegrityError("a defect")) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
def test_a_folder_that_this_user_may_not_write_is_named() -> None:
    """Root may write everywhere, so a child that is nobody asks."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        child = os.fork()
        if child == 0:
            os.setresuid(65534, 65534, 65534)
            try:
                check_place("store.path", Path(folder) / "data" / "channels.db")
            except CheckFailed as error:
                os._exit(3 if f"{folder} may not be written" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
