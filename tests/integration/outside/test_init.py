"""`channels init` as a person runs it: a real terminal, a real process, the emulator on the other side."""

import asyncio
import base64
import gzip
import json
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from channels.emulator import Emulator, EmulatorSettings
from channels.feishu.registration import needs
from tests.integration.outside.scanning import ROOT, SECRET, Stage, clean

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    emulator = Emulator(EmulatorSettings(app_secret=SECRET))
    await emulator.start()
    stage = Stage(emulator, tmp_path)
    yield stage
    for terminal in stage.terminals:
        terminal.close()
    await emulator.stop()


class TestScan:
    async def test_from_nothing_to_settings_that_doctor_likes(self, stage: Stage) -> None:
        terminal = stage.init()
        await terminal.until("Which? [1]")
        terminal.type("\n")
        await terminal.until("▀▀▀▀▀▀▀")
        await terminal.until("Waiting until")
        assert stage.files() == {}
        stage.decide("approved")
        await terminal.until("The app is made: cli_emulator")
        await terminal.until("ok   credentials: the app's bot is 'Emulator Bot'")
        await terminal.until("channels run --config")
        assert await terminal.ended() == 0
        stage.check_done()
        assert SECRET not in terminal.text

    async def test_the_link_asks_for_what_the_bot_needs(self, stage: Stage) -> None:
        """The permissions, events and callbacks, packed as the official client packs them."""
        stage.decide("approved")
        code, out, _ = await stage.script("--scan", "--yes", "--no-doctor")
        assert code == 0
        [link] = [line for line in out.splitlines() if line.startswith("http")]
        packed = parse_qs(urlsplit(link).query)["addons"][0]
        assert json.loads(gzip.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))) == needs()
        assert "▀" not in out, "a code where nobody can scan it"
        stage.check_done()

    @pytest.mark.parametrize(
        ("decision", "words"), [("denied", "refused in Feishu"), ("expired", "the code has expired")]
    )
    async def test_refused_and_expired_leave_nothing(self, stage: Stage, decision: str, words: str) -> None:
        stage.decide(decision)
        code, _, err = await stage.script("--scan")
        assert code == 1
        assert words in err
        assert "nothing was changed" in err
        assert stage.files() == {}

    async def test_ctrl_c_while_waiting_leaves_nothing(self, stage: Stage) -> None:
        terminal = stage.init("--scan", columns=60)
        await terminal.until("This terminal has 60 columns")
        await terminal.until("Waiting until")
        terminal.type("\x03")
        assert await terminal.ended() == 1
        await terminal.until("cancelled: nothing was changed")
        assert "Traceback" not in terminal.text
        assert stage.files() == {}

    async def test_killed_while_waiting_leaves_nothing(self, stage: Stage) -> None:
        terminal = stage.init("--scan")
        await terminal.until("Waiting until")
        terminal.process.kill()
        assert await terminal.ended() == -signal.SIGKILL
        assert stage.files() == {}

    async def test_nobody_there_is_one_line(self, stage: Stage) -> None:
        code, _, err = await stage.script("--scan", domain=NOBODY)
        assert (code, len(err.splitlines())) == (1, 1)
        assert "nothing was changed" in err
        assert stage.files() == {}

    async def test_without_the_official_client_the_other_way_is_named(self, stage: Stage) -> None:
        words = "import sys; sys.modules['lark_oapi'] = None; from channels.cli import main; main()"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", words, "init", "--scan", "--config", str(stage.config)),
            cwd=ROOT,
            env=clean(),
            stdin=subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
        _, err = await process.communicate()
        assert process.returncode == 1
        assert "lark-oapi" in err.decode()
        assert stage.files() == {}

    async def test_a_place_that_cannot_be_written_is_said_before_an_app_is_made(self, stage: Stage) -> None:
        stage.config.mkdir()
        code, _, err = await stage.script("--scan")
        assert code == 1
        assert "is a folder" in err
        assert not stage.emulator.world.registration.device_code


class TestExistingApp:
    async def test_asked_for_with_the_secret_not_shown(self, stage: Stage) -> None:
        terminal = stage.init()
        await terminal.until("Which? [1]")
        terminal.type("2\n")
        await terminal.until("App ID: ")
        terminal.type("nonsense\n")
        await terminal.until("That is not it")
        terminal.type("cli_emulator\n")
        await terminal.until("App Secret (not shown): ")
        terminal.type("wrong-secret-1\n")
        await terminal.until("Feishu refuses this app with 514")
        assert stage.files() == {}
        await terminal.until("Which? [1]")
        terminal.type("2\n")
        await terminal.until("App ID: ")
        terminal.type("cli_emulator\n")
        await terminal.until("App Secret (not shown): ")
        terminal.type(SECRET + "\n")
        await terminal.until("The settings are in")
        assert await terminal.ended() == 0
        assert "wrong-secret-1" not in terminal.text
        stage.check_done()

    async def test_the_platform_is_asked_for(self, stage: Stage) -> None:
        """Through a proxy where nobody is, so that nothing leaves this machine."""
        stage.config.write_text(f'[feishu]\nproxy = "{NOBODY}"\n')
        terminal = stage.init("--app-id", "cli_emulator", "--no-doctor", domain="")
        await terminal.until("App Secret (not shown): ")
        terminal.type(SECRET + "\n")
        await terminal.until("Where is the app? [1]")
        terminal.type("3\n")
        await terminal.until("That is not it: 1 or 2")
        terminal.type("2\n")
        assert await terminal.ended() == 0
        assert stage.feishu()["domain"] == "lark"
        assert stage.feishu()["proxy"] == NOBODY

    async def test_ctrl_c_at_the_secret_leaves_nothing(self, stage: Stage) -> None:
        terminal = stage.init("--app-id", "cli_emulator")
        await terminal.until("App Secret (not shown): ")
        terminal.type("half-a-sec\x03")
        assert await terminal.ended() == 1
        await terminal.until("cancelled: nothing was changed")
        assert "half-a-sec" not in terminal.text
        assert stage.files() == {}

    async def test_for_scripts(self, stage: Stage) -> None:
        code, out, err = await stage.script("--app-id", "cli_emulator", "--app-secret-from", "env:X", "--yes")
        assert (code, err) == (0, "")
        assert "ok   permission for messages" in out
        stage.check_done()

    @pytest.mark.parametrize(
        ("app_id", "secret", "words"),
        [("cli_emulator", "wrong", "514"), ("cli_other", SECRET, "514")],
    )
    async def test_a_pair_that_feishu_refuses_is_not_written(
        self, stage: Stage, app_id: str, secret: str, words: str
    ) -> None:
        code, _, err = await stage.script("--app-id", app_id, "--app-secret-from", "env:X", X=secret)
        assert code == 1
        assert words in err
        assert "nothing was changed" in err
        assert stage.files() == {}

    async def test_out_of_reach_is_written_and_doctor_says_so(self, stage: Stage) -> None:
        code, out, err = await stage.script("--app-id", "cli_emulator", "--app-secret-from", "env:X", domain=NOBODY)
        assert code == 1
        assert "FAIL reach" in out
        assert "checks failed: reach" in err
        assert set(stage.files()) == {"c.toml", "c.toml.cli_emulator.secret"}

    async def test_nobody_to_ask_is_a_question_of_usage(self, stage: Stage) -> None:
        code, _, err = await stage.script(domain="")
        assert code == 2
        assert "--app-secret-from" in err
        assert stage.files() == {}


class TestAgain:
    MINE = '# mine\n[feishu]\napp_id = "cli_old" # the old one\napp_secret = "env:OLD"\n\n[ui]\nlanguage = "en"\n'

    async def test_only_what_was_asked_changes(self, stage: Stage) -> None:
        stage.config.write_text(self.MINE)
        stage.config.chmod(0o640)
        code, out, _ = await stage.script("--app-id", "cli_emulator", "--app-secret-from", "env:X", "--no-doctor")
        assert code == 0
        assert "changed: feishu.app_id, feishu.app_secret, feishu.domain" in out
        assert stage.config.read_text() == self.MINE.replace("cli_old", "cli_emulator").replace(
            '"env:OLD"\n', f'"file:c.toml.cli_emulator.secret"\ndomain = "{stage.emulator.url}"\n'
        )
        assert stage.config.stat().st_mode & 0o777 == 0o640
        before = stage.files()
        code, out, _ = await stage.script("--no-doctor")
        assert (code, stage.files()) == (0, before)
        assert "nothing to change" in out
        code, out, _ = await stage.script("--no-doctor", domain="lark")
        assert stage.config.read_text() == before["c.toml"].replace(stage.emulator.url, "lark")

    async def test_a_file_that_would_not_start_is_left_alone(self, stage: Stage) -> None:
        stage.config.write_text(self.MINE + "[turns]\nmax_runing = 3\n")
        before = stage.files()
        code, _, err = await stage.script("--app-id", "cli_emulator", "--app-secret-from", "env:X")
        assert code == 2
        assert "turns.max_runing" in err
        assert stage.files() == before

    async def test_the_environment_that_wins_is_named(self, stage: Stage) -> None:
        arguments = ("--app-id", "cli_emulator", "--app-secret-from", "env:X", "--no-doctor")
        _, out, _ = await stage.script(*arguments, CHANNELS_FEISHU__APP_ID="cli_else")
        assert "CHANNELS_FEISHU__APP_ID is set, and wins over feishu.app_id" in out

    @pytest.mark.parametrize("renaming", [1, 2])
    async def test_killed_before_each_renaming(self, stage: Stage, renaming: int) -> None:
        """Before the secret is in its place, and between it and the settings; the next run leaves nothing of it."""
        stage.config.write_text(self.MINE)
        watch = (
            "import os, signal, sys; left = [int(sys.argv.pop(1))]\n"
            "def watch(event, arguments):\n"
            "    if event == 'os.rename' and '.part' in str(arguments[0]) and 'c.toml' in str(arguments[0]):\n"
            "        left[0] -= 1\n"
            "        if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
            "sys.addaudithook(watch)\n"
            "from channels.cli import main; main()\n"
        )
        arguments = ("--app-id", "cli_emulator", "--app-secret-from", "env:X", "--no-doctor")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", watch, str(renaming), "init", "--config", str(stage.config)),
            *("--domain", stage.emulator.url, *arguments),
            cwd=ROOT,
            env=clean() | {"X": SECRET},
            stdin=subprocess.DEVNULL,
            stdout=PIPE,
        )
        await process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert stage.config.read_text() == self.MINE
        assert ("c.toml.cli_emulator.secret" in stage.files()) == (renaming == 2)
        code, _, _ = await stage.script(*arguments)
        assert code == 0
        stage.check_done()
