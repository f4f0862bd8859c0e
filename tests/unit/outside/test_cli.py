"""The commands as a person runs them: their own process, their exit code, one clear line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from channels.agents.demo_words import DEMO_WORDS
from channels.cli.asking import outline
from tests.unit.outside.forked import run_forked

ROOT = Path(__file__).resolve().parents[3]
LEAST = '[feishu]\napp_id = "cli_x"\napp_secret = "env:APP_SECRET"\n'


def environment(environ: dict[str, str]) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CHANNELS_")}
    return clean | {"COLUMNS": "120"} | environ


def channels(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "channels", *arguments],
        cwd=ROOT,
        env=environment(environ),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def forked(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return run_forked(ROOT, arguments, environment(environ))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "channels.toml"
    file.write_text(LEAST)
    return file


def test_help_lists_every_command_and_the_exit_codes() -> None:
    done = channels("--help")
    assert done.returncode == 0
    for command in ("run", "demo", "check-config", "status", "emulator", "Exit codes"):
        assert command in done.stdout


def test_help_imports_nothing_heavy() -> None:
    """What makes `channels --help` quick; a timed test would depend on the machine."""
    script = "import sys\nfrom channels.cli.commands import app\nprint(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"aiohttp", "lark_channel", "openai", "pydantic", "structlog", "asyncio", "sqlite3"}
    assert heavy & set(modules.stdout.split()) == set()


def test_the_demo_help_lists_its_words() -> None:
    text = channels("demo", "--help").stdout
    for word in DEMO_WORDS:
        assert word.example_en in text
        assert word.example_zh in text


def test_without_a_command_there_is_help() -> None:
    assert "Usage" in channels().stdout + channels().stderr


@pytest.mark.parametrize("arguments", [("statuss",), ("run", "--confg", "x"), ("demo", "--port", "99999")])
def test_wrong_usage_is_two(arguments: tuple[str, ...]) -> None:
    assert channels(*arguments).returncode == 2


def test_the_version_is_said() -> None:
    assert channels("--version").stdout == "0.1.0\n"


class TestCheckConfig:
    def test_fine_settings(self, config: Path) -> None:
        done = channels("check-config", "--config", str(config), APP_SECRET="hunter2-hunter2")
        assert (done.returncode, done.stderr) == (0, "")
        assert "settings are fine" in done.stdout

    def test_it_shows_every_setting_and_no_secret(self, config: Path) -> None:
        done = forked("check-config", "--show", APP_SECRET="hunter2-hunter2", CHANNELS_CONFIG=str(config))
        assert 'feishu.app_secret = "env:APP_SECRET"' in done.stdout
        assert "turns.max_running = 8" in done.stdout
        assert 'agents.demo.kind = "demo"' in done.stdout
        assert "hunter2" not in done.stdout + done.stderr

    def test_it_changes_nothing(self, config: Path) -> None:
        forked("check-config", "--config", str(config), APP_SECRET="hunter2-hunter2")
        assert list(config.parent.iterdir()) == [config]

    @pytest.mark.parametrize(
        ("text", "environ", "words"),
        [
            (LEAST, {}, "feishu.app_secret: refers to "),
            (LEAST + "[turns]\nmax_runing = 1\n", {}, 'did you mean "turns.max_running"?'),
            ("[feishu]\n", {}, "feishu.app_id: is missing"),
            ("[feishu", {}, "is not valid TOML"),
            (LEAST, {"CHANNELS_WEB__PORT": "x", "APP_SECRET": "y"}, "CHANNELS_WEB__PORT"),
        ],
    )
    def test_a_fault_is_one_line_and_two(self, config: Path, text: str, environ: dict[str, str], words: str) -> None:
        config.write_text(text)
        for command in ("check-config", "run"):
            done = forked(command, "--config", str(config), **environ)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith("channels: configuration: ")
            assert words in done.stderr
            assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize(("used", "code"), [("demo", 0), ("coder", 1)])
    def test_a_program_that_is_not_there_is_named(self, config: Path, used: str, code: int) -> None:
        acp = '[agents.coder]\nkind = "acp"\ncommand = ["opencode-of-nobody", "acp"]\n'
        config.write_text(f'{LEAST}[turns]\nagent = "{used}"\n[agents.demo]\nkind = "demo"\n{acp}')
        done = forked("check-config", "--config", str(config), APP_SECRET="y")
        assert done.returncode == code
        said = done.stderr if code else done.stdout
        assert "agents.coder.command: there is no program opencode-of-nobody; install it" in said

    def test_what_agents_find_in_their_environment_is_not_shown(self, config: Path) -> None:
        acp = '[agents.coder]\nkind = "acp"\ncommand = ["true"]\n'
        config.write_text(f'{LEAST}{acp}env = {{ A_KEY = "hunter3-hunter3", B_KEY = "env:APP_SECRET" }}\n')
        done = forked("check-config", "--show", "--config", str(config), APP_SECRET="hunter2-hunter2")
        assert 'agents.coder.env = {"A_KEY": "***", "B_KEY": "env:APP_SECRET"}' in done.stdout
        assert "hunter" not in done.stdout + done.stderr

    def test_a_reference_in_an_environment_is_looked_for(self, config: Path) -> None:
        acp = '[agents.coder]\nkind = "acp"\ncommand = ["true"]\nenv = { A_KEY = "env:NOT_THERE" }\n'
        config.write_text(LEAST + acp)
        done = forked("check-config", "--config", str(config), APP_SECRET="y")
        assert "agents.coder.env.A_KEY: refers to" in done.stderr

    def test_without_a_file_it_says_how_to_give_one(self) -> None:
        assert "--config FILE" in forked("check-config").stderr

    def test_a_file_where_a_folder_is_needed_is_one(self, config: Path) -> None:
        environ = {"APP_SECRET": "y", "CHANNELS_STORE__PATH": str(config / "channels.db")}
        done = forked("check-config", "--config", str(config), **environ)
        assert (done.returncode, done.stdout) == (1, "")
        assert "store.path" in done.stderr


def test_status_without_a_service_is_one(config: Path) -> None:
    done = forked("status", "--config", str(config))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"nobody listens on {config.parent / 'channels.db.sock'}" in done.stderr


def test_status_for_people_is_an_outline() -> None:
    status = {
        "version": "0.1.0",
        "connected": True,
        "agents": ["demo"],
        "chats": [],
        "turns": {"running": 0, "last": None},
    }
    assert list(outline(status)) == [
        "version    0.1.0",
        "connected  yes",
        "agents",
        "  - demo",
        "chats      -",
        "turns",
        "  running  0",
        "  last     -",
    ]
