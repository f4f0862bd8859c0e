"""`channels run` where it must not run: one clear line, the right exit code, nothing changed."""

import asyncio
import os
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
import pytest_asyncio

from channels.store.header import APPLICATION_ID
from tests.integration.children import ROOT
from tests.integration.conftest import OpenHouse
from tests.integration.house import House

CONFIG = """
[feishu]
app_id = "cli_emulator"
app_secret = "file:{secret}"
domain = "{url}"
[store]
path = "{path}"
[web]
enabled = {web}
port = {port}
"""


@pytest_asyncio.fixture
async def house(open_house: OpenHouse) -> AsyncIterator[House]:
    yield await open_house(start=False)


def write_config(house: House, path: Path, port: int = 0) -> Path:
    (house.folder / "secret").write_text("secret")
    file = house.folder / "channels.toml"
    values = {"secret": house.folder / "secret", "url": house.emulator.url, "path": path}
    file.write_text(CONFIG.format(**values, web=str(port > 0).lower(), port=port))
    return file


async def run(config: Path) -> tuple[int, str]:
    """`channels run` until it ends by itself: its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "channels", "run", "--config", str(config)),
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if not key.startswith("CHANNELS_")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(40):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode()


def last_line(said: str) -> str:
    """The line for people; log lines may stand before it."""
    return said.strip().splitlines()[-1]


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(each.relative_to(folder)): sha256(each.read_bytes()).hexdigest()
        for each in folder.rglob("*")
        if each.is_file() and not each.name.endswith((".lock", ".sock"))
    }


async def test_a_second_instance_names_the_first(house: House) -> None:
    """And the first goes on."""
    await house.start()
    config = write_config(house, house.folder / "channels.db")
    code, said = await run(config)
    assert code == 3, said
    assert str(os.getpid()) in last_line(said)
    assert "in use" in last_line(said)
    message_id, _ = await house.ask("hello")
    house.assert_answered_once(message_id)


async def test_a_port_in_use_is_named(house: House) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        before = hashes(house.folder)
        config = write_config(house, house.folder / "data" / "channels.db", port)
        code, said = await run(config)
    assert code == 2, said
    assert "web.port" in last_line(said)
    assert str(port) in last_line(said)
    assert {name for name in hashes(house.folder) if name not in before} <= {"channels.toml", "secret"}


@pytest.mark.parametrize("kind", ["foreign", "newer", "no database"])
async def test_a_file_that_is_not_ours_is_left_alone(house: House, kind: str) -> None:
    path = house.folder / "channels.db"
    if kind == "no database":
        path.write_bytes(b"somebody's letter, far longer than a header. " * 100)
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE mine (x)")
            if kind == "newer":
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute("PRAGMA user_version = 9999")
        connection.close()
    config = write_config(house, path)
    before = hashes(house.folder)
    code, said = await run(config)
    assert code == 3, said
    assert str(path) in last_line(said)
    if kind == "newer":
        assert "9999" in last_line(said)
    assert hashes(house.folder) == before
    assert house.calls() == []
