"""The processes of a bench: a stage with the emulator on it, and one bot that plays there."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
ENDING_LIMIT_S, CONNECT_LIMIT_S = 40.0, 90.0
MODEL_PIECE_MS = 20


class Stage:
    """Speaks to a `tests.bench.stage` process; a call waits for its value."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = str(self._value())

    def call(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        return self._value()

    def _value(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the emulator's process has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"stage: {answer['error']}")
        return answer["value"]


@dataclass(slots=True)
class Bot:
    """A bot under test. `connected_ms` runs from the start of its process to its first ping."""

    process: subprocess.Popen[str]
    connected_ms: float

    def resident_kb(self) -> int:
        """Memory of the process that is resident now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))

    def cpu_ms(self) -> float:
        """Processor time that the process has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


@contextmanager
def stage() -> Iterator[Stage]:
    """An emulator in a process of its own."""
    with _python("-m", "tests.bench.stage", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Stage(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            _end(process)


@contextmanager
def bot(on: Stage, *command: str, log: Path) -> Iterator[Bot]:
    """A bot that is connected; what it writes goes to `log`. Ends, and is gone from the stage, at the end."""
    with log.open("a") as output:
        started_s = time.monotonic()
        with _python(*command, stdout=output, stderr=output) as process:
            try:
                yield Bot(process, (_connected_s(on, process) - started_s) * 1000)
            except RuntimeError:
                _show_end_of(log)
                raise
            finally:
                process.terminate()
                _end(process)
    on.call("left")


def _connected_s(on: Stage, process: subprocess.Popen[str]) -> float:
    """When the bot was connected; RuntimeError as soon as it has ended instead."""
    limit_s = time.monotonic() + CONNECT_LIMIT_S
    while process.poll() is None and time.monotonic() < limit_s:
        if (at_s := on.call("connected", limit_s=1.0)) is not None:
            return float(at_s)
    raise RuntimeError("the bot did not connect")


def _show_end_of(log: Path) -> None:
    """What a bot wrote last: its folder is gone when somebody wants to know why it failed."""
    print(log.name, *log.read_text(errors="replace").splitlines()[-20:], sep="\n", file=sys.stderr)


@contextmanager
def model(characters: int, duration_ms: int) -> Iterator[str]:
    """The fake model server: streams so many characters over so long; its base URL."""
    pieces = str(max(1, duration_ms // MODEL_PIECE_MS))
    command = ["--characters", str(characters), "--spread-ms", str(duration_ms), "--pieces", pieces]
    with _python("-m", "tests.conformance.agents.fake_openai", *command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            _end(process)


def model_alone_ms(url: str, asked: str) -> float:
    """How long the model takes to say its answer to a client that only reads."""
    body = json.dumps({"model": "fake", "stream": True, "messages": [{"role": "user", "content": asked}]})
    request = urllib.request.Request(f"{url}/chat/completions", body.encode(), {"Content-Type": "application/json"})
    started_s = time.monotonic()
    with urllib.request.urlopen(request) as response:
        response.read()
    return (time.monotonic() - started_s) * 1000


@contextmanager
def _python(*arguments: str, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """The official clients warn about their own imports, so warnings are off here and nowhere else."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([sys.executable, *arguments], env=environment, text=True, cwd=REPOSITORY, **streams) as one:
        yield one


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(ENDING_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
