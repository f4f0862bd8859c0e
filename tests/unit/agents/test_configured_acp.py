"""What single agents need said in their sections, from the settings to the places that act on it."""

from pathlib import Path
from typing import Any

from channels.agents.configured import presets_from
from channels.agents.presets import AcpPreset
from channels.app.building import preferences_from
from channels.config import Settings, build_settings

APP = {"app_id": "cli_1", "app_secret": "env:APP_SECRET"}


def settings(folder: Path, **agent: Any) -> Settings:
    agents = {"hermes": {"kind": "acp", "command": ["hermes-acp"], **agent}, "demo": {"kind": "demo"}}
    return build_settings({"feishu": APP, "turns": {"permission_timeout_s": 120.0}, "agents": agents}, folder)


def test_an_agent_may_have_a_time_of_its_own_for_decisions(tmp_path: Path) -> None:
    preferences = preferences_from(settings(tmp_path, permission_timeout_s=50.0))
    assert preferences.decision_time_ms("hermes") == 50_000
    assert preferences.decision_time_ms("demo") == 120_000


def test_an_agent_may_count_tokens_over_its_session(tmp_path: Path) -> None:
    for usage, adds_up in (("session", True), ("turn", False)):
        preset = presets_from(settings(tmp_path, usage=usage), {})[0]
        assert isinstance(preset, AcpPreset)
        assert preset.adds_up is adds_up
