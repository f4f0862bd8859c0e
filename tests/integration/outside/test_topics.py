"""`channels topic …` against a running service, as the READMEs write it: each command in a process of its own."""

import asyncio
import json
import re
import shlex
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from channels.cli.control_client import call_service
from channels.emulator import Emulator
from channels.emulator.accounts import GROUP
from tests.integration.house import LIMIT_S
from tests.integration.outside.test_running import ROOT, start

READMES = ("README.md", "README.zh.md")
SETTINGS = """
[feishu]
app_id = "cli_emulator"
app_secret = "env:APP_SECRET"
domain = "{url}"
rate_limits = false
[agents.demo]
kind = "demo"
pace = 0.0
[ui]
language = "en"
[web]
enabled = false
"""


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    emulator = Emulator()
    await emulator.start()
    yield emulator
    await emulator.stop()


@pytest.fixture
async def config(tmp_path: Path, emulator: Emulator) -> AsyncIterator[Path]:
    """The settings of a service that runs and is connected."""
    file = tmp_path / "channels.toml"
    file.write_text(SETTINGS.format(url=emulator.url))
    process = await start("run", "--config", str(file), APP_SECRET="secret")
    try:
        await _connected(process)
        yield file
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()


async def _connected(process: Process) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(LIMIT_S):
        while b"service.ready" not in (line := await process.stderr.readline()):
            assert line, "the service has ended"


async def command(line: str, said: str = "") -> tuple[int | None, str, str]:
    """Run one line of a README."""
    words = shlex.split(line, comments=True)
    assert words[0] == "channels"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "channels", *words[1:], cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate(said.encode())
    return process.returncode, out.decode(), err.decode()


def lines_of(readme: str, beginning: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith(beginning)]


async def until_ended(config: Path, *arguments: str) -> dict[str, Any]:
    """As a script waits: by asking again under the same key."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            code, out, err = await command(
                shlex.join(["channels", "topic", *arguments, "--config", str(config), "--json"])
            )
            assert code == 0, err
            answer = json.loads(out)
            if answer["state"] == "ended" and answer["thread"]:
                return dict(answer)


@pytest.mark.parametrize("readme", READMES)
async def test_every_command_of_the_readme_works(config: Path, emulator: Emulator, readme: str) -> None:
    private, group = lines_of(readme, "channels topic start")[::-1]
    by_thread, by_session = lines_of(readme, "channels topic wake")
    places = {"channels.toml": str(config), "USER_ID": "u_alice", "CHAT_ID": GROUP}
    code, out, err = await command(filled(group, places))
    assert code == 0, err
    assert "key: daily-1" in out
    text = str(re.search('"(.*)"', group)[1])  # type: ignore[index]
    first = await until_ended(config, "start", "--user", "u_alice", "--chat", GROUP, "--text", text, "--key", "daily-1")
    assert first["again"] and first["outcome"] == "completed" and first["card"] == "done"
    code, out, err = await command(filled(group, places))
    assert (code, first["turn"] in out, "begun before" in out) == (0, True, True), err
    code, out, err = await command(filled(private, places))
    assert code == 0, err
    places |= {"THREAD_ID": first["thread"], "SESSION_ID": first["session"]}
    assert (await command(filled(by_thread, places)))[0] == 0
    code, out, err = await command(filled(by_session, places), "what did I say before")
    assert code == 0, err
    assert json.loads(out)["session"] == first["session"]
    chat = emulator.world.timeline.in_chat(GROUP)
    await emulator.ledger.until(lambda: len([each for each in chat if each.by_bot]) >= 2, LIMIT_S)


async def test_refusals_are_one_line_with_their_own_exit_code(config: Path) -> None:
    def begin(*more: str) -> str:
        return shlex.join(["channels", "topic", *more, "--config", str(config)])

    code, out, err = await command(begin("start", "--user", "u_alice", "--text", "x", "--chat", "oc_nowhere"))
    assert (code, out, err.count("\n")) == (3, "", 1) and "oc_nowhere" in err
    code, _, err = await command(begin("wake", "--thread", "omt_nowhere", "--text", "x"))
    assert code == 3 and "omt_nowhere" in err
    assert (await command(begin("wake", "--text", "x")))[0] != 0
    assert (await command(begin("start", "--text", "x")))[0] == 2, "nobody is named"


async def test_without_a_service_it_says_so(tmp_path: Path, emulator: Emulator) -> None:
    file = tmp_path / "channels.toml"
    file.write_text(SETTINGS.format(url=emulator.url))
    code, _, err = await command(f"channels topic start --user u_alice --text x --config {file}")
    assert code == 1 and "channels run" in err


async def test_an_agent_tool_asks_the_socket_itself(config: Path, emulator: Emulator) -> None:
    """What stands in the README for tools: one POST on the socket, which only the service's user may open."""
    socket = config.parent / "channels.db.sock"
    assert socket.stat().st_mode & 0o777 == 0o600
    wanted = {"user": "u_bob", "text": "hello", "key": "tool-1"}
    first = await asyncio.to_thread(call_service, socket, "topic_start", wanted)
    assert (await asyncio.to_thread(call_service, socket, "topic_start", wanted))["turn"] == first["turn"]
    chat = emulator.world.private_chat("Bob")
    await emulator.ledger.until(lambda: len(emulator.world.timeline.in_chat(chat)) == 2, LIMIT_S)


def filled(line: str, places: dict[str, str]) -> str:
    """The line with what the README leaves to its reader."""
    for name, value in places.items():
        line = line.replace(name, value)
    return line
