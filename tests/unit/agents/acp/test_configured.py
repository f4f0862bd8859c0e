"""From `[agents.NAME] kind = "acp"` to a preset."""

from pathlib import Path
from typing import Any

import pytest

from channels.agents.configured import presets_from
from channels.agents.presets import AcpPreset, McpServer, ProcessLimits
from channels.config import build_settings
from channels.errors import ConfigError
from channels.logs import redact_text

FOLDER = Path("/etc/bot")


def preset(environ: dict[str, str] | None = None, **keys: Any) -> AcpPreset:
    agent = {"kind": "acp", "command": ["opencode", "acp"]} | keys
    feishu = {"app_id": "cli_a", "app_secret": "env:APP"}
    settings = build_settings({"feishu": feishu, "agents": {"coder": agent}}, FOLDER)
    (made,) = presets_from(settings, environ or {})
    assert isinstance(made, AcpPreset)
    return made


def test_the_least() -> None:
    assert preset() == AcpPreset("coder", ("opencode", "acp"))
    assert preset().limits == ProcessLimits()


def test_everything() -> None:
    made = preset(
        {"A_KEY": "key-of-ours-123", "N": "note-key-456"},
        env={"OPENAI_API_KEY": "env:A_KEY", "MODE": "fast"},
        processes="shared",
        max_processes=3,
        idle_s=5.0,
        start_timeout_s=1.0,
        load_timeout_s=2.0,
        cancel_timeout_s=3.0,
        authenticate="key",
        model="m",
        mode="ask",
        terminal=True,
        mcp={
            "notes": {"command": ["notes-mcp", "-v"], "env": {"K": "env:N"}},
            "web": {"url": "https://mcp.example/x", "transport": "sse", "headers": {"A": "b"}},
        },
    )
    assert dict(made.env) == {"OPENAI_API_KEY": "key-of-ours-123", "MODE": "fast"}
    assert (made.shared, made.max_processes, made.terminal) == (True, 3, True)
    assert (made.authenticate, made.model, made.mode) == ("key", "m", "ask")
    assert (made.limits.idle_s, made.limits.start_s, made.limits.load_s, made.limits.cancel_s) == (5.0, 1.0, 2.0, 3.0)
    assert made.mcp_servers == (
        McpServer("notes", ("notes-mcp", "-v"), (("K", "note-key-456"),)),
        McpServer("web", (), (), "https://mcp.example/x", "sse", (("A", "b"),)),
    )


def test_no_secret_is_shown_by_the_preset_or_a_log() -> None:
    made = preset({"A_KEY": "key-of-ours-789"}, env={"X_API_KEY": "env:A_KEY", "Y_TOKEN": "token-written-out-1"})
    assert "key-of-ours" not in repr(made)
    assert "written-out" not in repr(made)
    assert redact_text("it said key-of-ours-789 and token-written-out-1") == "it said *** and ***"


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["opencode"], "opencode"),
        (["./bin/agent", "./x"], "/etc/bot/bin/agent"),
        (["/opt/agent"], "/opt/agent"),
        (["~/agent"], str(Path("~/agent").expanduser())),
    ],
)
def test_a_path_does_not_depend_on_where_the_program_starts(command: list[str], program: str) -> None:
    assert preset(command=command).command == (program, *command[1:])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"command": "opencode acp"}, "must be a list of words"),
        ({"command": []}, "must be a list of words"),
        ({"env": {"A=B": "x"}}, "cannot be the name"),
        ({"env": {"A": 3}}, "must be text"),
        ({"env": {"A": "env:NOT_THERE"}}, "NOT_THERE is not set"),
        ({"processes": "many"}, "processes"),
        ({"max_processes": 0}, "at least 1"),
        ({"comand": ["x"]}, "command"),
        ({"mcp": {"both": {"command": ["x"], "url": "https://x.example"}}}, "either a command or a url"),
        ({"mcp": {"none": {}}}, "either a command or a url"),
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        preset(**keys)
    assert "agents.coder." in str(error.value)
    assert words in str(error.value)
