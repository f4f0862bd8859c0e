"""`channels init` on a terminal of its own, and everything else that a person starts on the same machine."""

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import tomllib
from asyncio.subprocess import PIPE
from pathlib import Path

from channels.emulator import Emulator

ROOT = Path(__file__).resolve().parents[3]
SECRET = "kept-for-myself-1"
# Makes the terminal the process's own, so that Ctrl-C on it is a signal.
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A process on a terminal of its own: what it shows, what is typed."""

    def __init__(self, arguments: tuple[str, ...], columns: int) -> None:
        self.text, self._read_to = "", 0
        self._changed = asyncio.Event()
        self._ended = False
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
        python = [sys.executable, "-c", OWN_TERMINAL, sys.executable, "-m", "channels"]
        self.process = subprocess.Popen(
            [*python, *arguments],
            cwd=ROOT,
            env=clean(),
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # the other side has gone
            data = b""
        self.text += data.decode(errors="replace")
        if not data:
            self._ended = True
            asyncio.get_running_loop().remove_reader(self._fd)
        self._changed.set()

    async def until(self, words: str) -> None:
        """Wait until `words` stand behind everything that was waited for before."""
        async with asyncio.timeout(40):
            while (at := self.text.find(words, self._read_to)) < 0:
                assert not self._ended, self.text
                self._changed.clear()
                await self._changed.wait()
        self._read_to = at + len(words)

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    async def ended(self) -> int:
        async with asyncio.timeout(40):
            while not self._ended:
                self._changed.clear()
                await self._changed.wait()
        return await asyncio.to_thread(self.process.wait)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if not self._ended:
            asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)


class Stage:
    """An emulator, a folder, and everything that was started."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self.emulator, self.folder, self.config = emulator, folder, folder / "c.toml"
        self.terminals: list[Terminal] = []

    def init(self, *arguments: str, columns: int = 80, domain: str | None = None) -> Terminal:
        where = ("--domain", domain or self.emulator.url) if domain != "" else ()
        terminal = Terminal(("init", "--config", str(self.config), *where, *arguments), columns)
        self.terminals.append(terminal)
        return terminal

    async def script(self, *arguments: str, domain: str | None = None, **environ: str) -> tuple[int | None, str, str]:
        where = ("--domain", domain or self.emulator.url) if domain != "" else ()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "channels",
            "init",
            "--config",
            str(self.config),
            *where,
            *arguments,
            cwd=ROOT,
            env=clean() | {"X": SECRET} | environ,
            stdin=subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    def decide(self, decision: str) -> None:
        self.emulator.world.registration.decision = decision

    def files(self) -> dict[str, str]:
        return {each.name: each.read_text() for each in sorted(self.folder.iterdir())}

    def feishu(self) -> dict[str, str]:
        return dict(tomllib.loads(self.config.read_text())["feishu"])

    def check_done(self) -> None:
        """Settings that name the secret, the secret for its owner alone, and nothing else."""
        name = "c.toml.cli_emulator.secret"
        assert set(self.files()) == {"c.toml", name}
        assert self.files()[name] == SECRET + "\n"
        assert (self.folder / name).stat().st_mode & 0o777 == 0o600
        assert self.feishu() == {
            "app_id": "cli_emulator",
            "app_secret": f"file:{name}",
            "domain": self.emulator.url,
        }


def clean() -> dict[str, str]:
    dropped = ("CHANNELS_", "LC_", "LANG", "COLUMNS", "LINES")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
