"""The control socket: ours alone, one living process, one fault never takes another request with it."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from channels import logs
from channels.cli.control_client import NotRunning, call_service
from channels.cli.faults import CheckFailed
from channels.errors import CodeKind, ConfigError, Refused, RetryLater, StartRefused
from channels.web.control import BODY_LIMIT_BYTES, ControlServer
from channels.web.socket_file import SocketFile

Call = Callable[..., Any]


async def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"echo": arguments}


async def refuse(_arguments: dict[str, Any]) -> dict[str, Any]:
    raise Refused("settlement_paused", "settlement is paused")


async def complain(_arguments: dict[str, Any]) -> dict[str, Any]:
    raise ValueError("limit must be a number")


async def delay(_arguments: dict[str, Any]) -> dict[str, Any]:
    raise RetryLater(500, CodeKind.SERVER, why="the disk is full")


async def break_down(_arguments: dict[str, Any]) -> dict[str, Any]:
    raise ZeroDivisionError("with a secret inside")


OPERATIONS = {"echo": echo, "refuse": refuse, "complain": complain, "delay": delay, "break": break_down}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


@pytest.fixture
async def server(path: Path) -> AsyncIterator[ControlServer]:
    logs.configure("error", "json")
    server = ControlServer(path, OPERATIONS)
    await server.start()
    yield server
    await server.stop()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def bind_dead(path: Path) -> None:
    """Leave what a killed process leaves: a socket file that nobody listens on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))


def move_away(path: Path) -> None:
    path.rename(path.with_name("old.sock"))


def exists(path: Path) -> bool:
    return path.exists()


async def call(path: Path, operation: str, arguments: dict[str, Any] | None = None) -> Any:
    return await asyncio.to_thread(call_service, path, operation, arguments)


async def raw(path: Path, request: bytes) -> bytes:
    """What the socket answers to bytes that no client of ours would send."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(request)
    answer = await reader.read(65536)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_an_operation_answers_with_json(server: ControlServer, path: Path) -> None:
    assert await call(path, "echo", {"text": "你好", "n": 1}) == {"echo": {"text": "你好", "n": 1}}
    assert await call(path, "echo") == {"echo": {}}


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("operation", "code", "words"),
    [
        ("refuse", "settlement_paused", "settlement is paused"),
        ("complain", "invalid_input", "limit must be a number"),
        ("nothing", "unknown_operation", "there are: break, complain, delay, echo, refuse"),
    ],
)
async def test_a_refusal_keeps_its_code_and_words(path: Path, operation: str, code: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        await call(path, operation)
    assert caught.value.code == code
    assert words in caught.value.user_text


@pytest.mark.usefixtures("server")
async def test_what_may_come_again_is_no_refusal(path: Path) -> None:
    with pytest.raises(CheckFailed, match="the disk is full"):
        await call(path, "delay")


@pytest.mark.usefixtures("server")
async def test_a_defect_says_nothing_of_the_inside_and_the_next_request_works(path: Path) -> None:
    with pytest.raises(CheckFailed, match="internal") as caught:
        await call(path, "break")
    assert "secret" not in str(caught.value)
    assert await call(path, "echo") == {"echo": {}}


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("body", [b"[1]", b"{", b'"x"', b"[" * 100_000])
async def test_only_objects_are_taken(path: Path, body: bytes) -> None:
    head = f"POST /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = await raw(path, head.encode() + body)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b'"code": "invalid_input"' in answer


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("charset", "body"), [("nonsense", b"{}"), ("utf-8", b'{"a": "\xff"}'), ("x" * 500, b"{}"), ("base64", b"{}")]
)
async def test_a_body_that_is_no_text_is_invalid_input(path: Path, charset: str, body: bytes) -> None:
    head = (
        f"POST /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: application/json; charset={charset}\r\n\r\n"
    )
    answer = await raw(path, head.encode() + body)
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert b'"code": "invalid_input"' in answer


@pytest.mark.usefixtures("server")
async def test_a_body_has_a_limit(path: Path) -> None:
    with pytest.raises(Refused) as caught:
        await call(path, "echo", {"text": "x" * BODY_LIMIT_BYTES})
    assert caught.value.code == "input_too_large"


@pytest.mark.usefixtures("server")
async def test_nobody_else_may_open_it(path: Path) -> None:
    assert mode_of(path) == 0o600


@pytest.mark.usefixtures("server")
async def test_a_living_socket_is_never_taken(path: Path) -> None:
    with pytest.raises(StartRefused, match="another service"):
        await ControlServer(path, {}).start()
    assert await call(path, "echo") == {"echo": {}}


async def test_the_socket_of_a_dead_process_is_replaced(path: Path) -> None:
    bind_dead(path)
    server = ControlServer(path, OPERATIONS)
    await server.start()
    assert await call(path, "echo") == {"echo": {}}
    await server.stop()


async def test_stopping_removes_the_file_and_can_be_said_twice(server: ControlServer, path: Path) -> None:
    await server.stop()
    await server.stop()
    assert not exists(path)
    with pytest.raises(NotRunning, match="channels run"):
        await call(path, "echo")


async def test_a_socket_that_somebody_else_put_there_meanwhile_stays(server: ControlServer, path: Path) -> None:
    move_away(path)
    bind_dead(path)
    await server.stop()
    assert exists(path)


def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(ConfigError, match="not a socket"):
        SocketFile(path).open()
    assert path.read_text() == "mine"


async def test_a_missing_folder_is_made_for_this_user_only(tmp_path: Path) -> None:
    server = ControlServer(tmp_path / "run" / "control.sock", {})
    await server.start()
    assert mode_of(tmp_path / "run") == 0o700
    await server.stop()


@pytest.mark.parametrize(("mode", "fine"), [(0o700, True), (0o755, True), (0o777, False), (0o1777, True)])
async def test_a_folder_that_strangers_may_write_is_refused(tmp_path: Path, mode: int, fine: bool) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(mode)
    server = ControlServer(folder / "control.sock", {})
    if fine:
        await server.start()
        await server.stop()
    else:
        with pytest.raises(ConfigError, match="others may write"):
            await server.start()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
async def test_the_folder_of_a_strange_group_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    os.chown(folder, 0, 12345)
    folder.chmod(0o770)
    with pytest.raises(ConfigError, match="others may write"):
        await ControlServer(folder / "control.sock", {}).start()


async def test_a_service_that_does_not_answer_is_said_so(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mute:
        mute.bind(str(path))
        mute.listen(1)
        with pytest.raises(CheckFailed, match=r"did not answer within 0\.05 s"):
            await asyncio.to_thread(call_service, path, "echo", None, 0.05)


async def test_a_service_that_breaks_off_is_said_so(path: Path) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(hang_up, str(path)):
        with pytest.raises(CheckFailed, match="broke off"):
            await call(path, "echo")
