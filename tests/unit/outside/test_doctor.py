"""`channels doctor` against the emulator: a good set-up, and every broken one with its own words."""

import asyncio
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import structlog

from channels.cli.doctor import collect, examine
from channels.cli.doctor_words import Check
from channels.cli.faults import CheckFailed
from channels.clock import SystemClock
from channels.emulator import Emulator, Fault
from channels.store.anchor import anchor_path, mark_path, write_anchor
from channels.store.header import APPLICATION_ID
from channels.store.lock import FileLock
from channels.store.transactions.quarantine import read_anchor
from tests.store.tables.conftest import Store

ENVIRON = {"APP_SECRET": "secret"}


class Shifted:
    """A clock that is wrong by so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._real, self._ms = SystemClock(), int(seconds * 1000)

    def wall_ms(self) -> int:
        return self._real.wall_ms() + self._ms

    def monotonic(self) -> float:
        return self._real.monotonic()


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """`examine` sets the logs up for a terminal: put everything back."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    emulator = Emulator()
    await emulator.start()
    yield emulator
    await emulator.stop()


@pytest.fixture
def config(tmp_path: Path, emulator: Emulator) -> Path:
    return write_config(tmp_path, emulator.url)


def write_config(folder: Path, domain: str, **changes: str) -> Path:
    values = {"app_id": "cli_emulator", "path": "data/channels.db"} | changes
    file = folder / "channels.toml"
    file.write_text(
        f'[feishu]\napp_id = "{values["app_id"]}"\napp_secret = "env:APP_SECRET"\ndomain = "{domain}"\n'
        f'request_timeout_s = 3.0\n[store]\npath = "{values["path"]}"\n'
    )
    return file


def rewrite(config: Path, text: str | None) -> None:
    config.unlink()
    if text is not None:
        config.write_text(text)


def domain_file(config: Path) -> Path:
    return config.parent / "data" / "channels.db"


def make_file(config: Path) -> None:
    """A file that a service has owned and left, with its anchor."""
    store = Store(domain_file(config))
    found = store.run(read_anchor)
    store.close()
    assert found is not None
    write_anchor(domain_file(config), found)


async def checks(config: Path, *, shift_s: float = 0, invariants: bool = False, **environ: str) -> dict[str, Check]:
    """All checks by name."""
    found = await asyncio.to_thread(
        collect, config, ENVIRON | environ, invariants=invariants, clock=Shifted(shift_s) if shift_s else None
    )
    return {check.name: check for check in found}


def assert_bad(check: Check, state: str, *words: str) -> None:
    assert check.state == state, check
    text = f"{check.found} {check.mend}"
    assert [word for word in words if word not in text] == [], text
    assert check.mend


class TestGood:
    async def test_nothing_fails_before_the_first_start(self, config: Path) -> None:
        found = await checks(config, invariants=True)
        assert [check for check in found.values() if check.state in ("failed", "warning")] == []
        assert found["credentials"].found == "the app's bot is 'Emulator Bot', ou_bot_cli_emulator"
        assert found["clock"].state == found["long connection"].state == "ok"
        assert not domain_file(config).parent.exists()

    async def test_nothing_fails_after_a_clean_stop_and_nothing_is_changed(self, config: Path) -> None:
        make_file(config)
        before = {each.name: each.read_bytes() for each in domain_file(config).parent.iterdir()}
        found = await checks(config, invariants=True)
        assert [check for check in found.values() if check.state in ("failed", "warning")] == []
        assert found["content"].found == "whole, and the one that ran here last"
        assert found["invariants"].state == "ok"
        after = {each.name: each.read_bytes() for each in domain_file(config).parent.iterdir()}
        assert {name for name in after if after[name] != before.get(name)} <= {"channels.db.lock"}

    async def test_people_and_scripts_read_it(self, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
        await asyncio.to_thread(examine, config, ENVIRON, invariants=False, as_json=False)
        lines = capsys.readouterr().out.splitlines()
        assert f"ok   settings: read from {config}; agent demo" in lines
        await asyncio.to_thread(examine, config, ENVIRON, invariants=False, as_json=True)
        document = json.loads(capsys.readouterr().out)
        assert document["ok"] is True
        assert {"name", "state", "found", "mend"} == set(document["checks"][0])

    async def test_it_opens_no_connection_that_could_take_events_away(self, config: Path, emulator: Emulator) -> None:
        await checks(config)
        assert not emulator.sockets.connections


class TestSettings:
    @pytest.mark.parametrize(
        ("text", "words"),
        [('[feishu]\napp_idd = "x"', "app_idd"), ("not toml", "not valid TOML"), (None, "no such file")],
    )
    async def test_wrong_ones_are_named_and_the_rest_waits(self, config: Path, text: str | None, words: str) -> None:
        rewrite(config, text)
        found = await checks(config)
        assert_bad(found["settings"], "failed", words, "check-config")
        assert found["everything else"].state == "skipped"

    async def test_a_missing_secret_is_named_and_no_secret_is_shown(self, config: Path) -> None:
        assert_bad((await checks(config, APP_SECRET=""))["settings"], "failed", "APP_SECRET")
        found = await checks(config, APP_SECRET="mumble-mumble")
        assert "mumble" not in str(found)

    async def test_a_failed_check_is_exit_code_one_with_all_names(
        self, config: Path, emulator: Emulator, capsys: pytest.CaptureFixture[str]
    ) -> None:
        emulator.settings.scopes.discard("im:message")
        with pytest.raises(CheckFailed, match=r"1 of .* checks failed: permission for messages"):
            await asyncio.to_thread(examine, config, ENVIRON, invariants=False, as_json=False)
        assert "       to mend: add im:message" in capsys.readouterr().out


class TestMachine:
    @pytest.mark.parametrize(("agent", "state"), [("", "warning"), ("coder", "failed")])
    async def test_a_program_of_an_agent_that_is_not_there(self, config: Path, agent: str, state: str) -> None:
        acp = '[agents.demo]\nkind = "demo"\n[agents.coder]\nkind = "acp"\ncommand = ["no-such-agent"]\n'
        least = await asyncio.to_thread(config.read_text)
        rewrite(config, f'{least}[turns]\nagent = "{agent}"\n{acp}')
        assert_bad((await checks(config))["agents.coder.command"], state, "no-such-agent", "install it")

    async def test_places(self, tmp_path: Path, emulator: Emulator) -> None:
        (tmp_path / "data").write_text("a file where a folder should be")
        found = await checks(write_config(tmp_path, emulator.url))
        assert_bad(found["store.path"], "failed", "may not be written")

    @pytest.mark.parametrize(("free", "state"), [(10 * 2**20, "failed"), (200 * 2**20, "warning")])
    async def test_a_full_disk(self, config: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
        usage = shutil.disk_usage("/")
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=free))
        assert_bad((await checks(config))["disk"], state, "free some")

    async def test_a_file_that_another_process_has(self, config: Path) -> None:
        make_file(config)
        lock = FileLock.acquire(domain_file(config), 0)
        found = await checks(config)
        lock.release()
        assert_bad(found["lock"], "failed", f"process {os.getpid()}", "nobody listens on")


class TestFile:
    @pytest.mark.parametrize(
        ("application_id", "version", "words"), [(APPLICATION_ID, 99, "99"), (7, 1, "another program")]
    )
    async def test_newer_or_foreign(self, config: Path, application_id: int, version: int, words: str) -> None:
        domain_file(config).parent.mkdir()
        with closing(sqlite3.connect(domain_file(config))) as other:
            other.execute(f"PRAGMA application_id = {application_id}")
            other.execute(f"PRAGMA user_version = {version}")
            other.execute("CREATE TABLE later (x)")
        assert_bad((await checks(config))["file"], "failed", words)

    async def test_damaged(self, config: Path) -> None:
        make_file(config)
        content = bytearray(domain_file(config).read_bytes())
        content[20_000:40_000] = b"\x55" * 20_000
        domain_file(config).write_bytes(content)
        assert_bad((await checks(config))["content"], "failed", "channels restore")

    async def test_a_restore_that_was_cut_off(self, config: Path) -> None:
        make_file(config)
        shutil.move(anchor_path(domain_file(config)), mark_path(domain_file(config)))
        domain_file(config).unlink()
        assert_bad((await checks(config))["file"], "failed", "a restore was cut off", "again")

    async def test_a_copy_of_it_is_announced(self, config: Path) -> None:
        make_file(config)
        anchor_path(domain_file(config)).unlink()
        assert_bad((await checks(config))["content"], "warning", "copied here", "the next start compares")

    async def test_an_invariant_that_does_not_hold(self, config: Path) -> None:
        make_file(config)
        with closing(sqlite3.connect(domain_file(config), isolation_level=None)) as connection:
            connection.execute("INSERT INTO processed VALUES ('om_lost', 1)")
        found = await checks(config, invariants=True)
        assert_bad(found["invariant S11_gate_and_inbox"], "failed", "om_lost", "report it")
        assert "invariants" not in await checks(config)


class TestFeishu:
    async def test_nobody_there(self, tmp_path: Path, emulator: Emulator) -> None:
        config = write_config(tmp_path, "http://127.0.0.1:9")
        found = await checks(config)
        assert_bad(found["reach"], "failed", "does not answer", "feishu.proxy")
        assert "credentials" not in found

    @pytest.mark.parametrize(
        ("shift_s", "state", "words"),
        [
            (-3600, "failed", "behind"),
            (3600, "failed", "ahead of"),
            (-60, "warning", "behind"),
            (60, "warning", "ahead of"),
        ],
    )
    async def test_a_clock_that_is_wrong(self, config: Path, shift_s: float, state: str, words: str) -> None:
        assert_bad((await checks(config, shift_s=shift_s))["clock"], state, words, "NTP")

    async def test_a_wrong_secret_and_a_wrong_app(self, tmp_path: Path, config: Path, emulator: Emulator) -> None:
        found = await checks(config, APP_SECRET="another")
        assert_bad(found["credentials"], "failed", "app secret invalid", "凭证与基础信息")
        assert found["permissions"].state == "skipped"
        other = await checks(write_config(tmp_path, emulator.url, app_id="cli_other"))
        assert_bad(other["credentials"], "failed", "app_id")

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (1000040351, 'feishu.domain to "lark"'),
            (1000040350, "50 connections"),
            (403, "使用长连接接收事件"),
            (7777, "7777"),
        ],
    )
    async def test_a_long_connection_that_is_refused(
        self, config: Path, emulator: Emulator, code: int, words: str
    ) -> None:
        emulator.faults.add(Fault(match="ws.endpoint", kind="error", code=code, times=None))
        assert_bad((await checks(config))["long connection"], "failed", str(code), words)

    async def test_a_long_connection_that_is_not_to_be_had_now(self, config: Path, emulator: Emulator) -> None:
        emulator.faults.add(Fault(match="ws.endpoint", kind="status", status=502, times=None))
        assert_bad((await checks(config))["long connection"], "warning", "502")

    async def test_an_app_without_a_bot(self, config: Path, emulator: Emulator) -> None:
        emulator.faults.add(Fault(match="bot.info", kind="error", code=11205, times=None))
        assert_bad((await checks(config))["credentials"], "failed", "11205", "应用能力")

    @pytest.mark.parametrize(
        ("scope", "title", "state", "words"),
        [
            ("im:message", "messages", "failed", "can say nothing"),
            ("cardkit:card:write", "cards that stream", "warning", "larger steps"),
            ("im:message.group_msg", "history of groups", "warning", "while the service was away"),
            ("contact:user.employee_id:readonly", "user ids", "warning", "open_id only"),
        ],
    )
    async def test_a_permission_that_is_missing(
        self, config: Path, emulator: Emulator, scope: str, title: str, state: str, words: str
    ) -> None:
        emulator.settings.scopes.discard(scope)
        check = (await checks(config))[f"permission for {title}"]
        assert_bad(check, state, scope, words, "权限管理", "版本管理与发布")

    async def test_a_list_of_permissions_that_is_not_given_is_no_fault(self, config: Path, emulator: Emulator) -> None:
        emulator.faults.add(Fault(match="application.scopes", kind="error", code=99991672, times=None))
        assert (await checks(config))["permissions"].state == "skipped"
