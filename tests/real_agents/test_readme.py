"""The READMEs' blocks for real agents are settings that the service takes, and name what `make agents` runs."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from channels.config import AcpAgentSettings, build_settings
from tests.real_agents.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = {"README.md": "## Bringing your own agent", "README.zh.md": "## 接入自己的智能体"}
DOCUMENTED_ONLY = {"kimi"}


def chapter(readme: str) -> str:
    text = (ROOT / readme).read_text(encoding="utf-8")
    begin = text.index(CHAPTERS[readme])
    return text[begin : text.index("\n## ", begin + 1)]


def sections(readme: str) -> dict[str, Any]:
    (block,) = re.findall(r"```toml\n(.*?)```", chapter(readme), re.DOTALL)
    return dict(tomllib.loads(block)["agents"])


@pytest.mark.parametrize("readme", CHAPTERS)
def test_the_blocks_are_settings_of_the_agents_that_are_run(readme: str, tmp_path: Path) -> None:
    found = sections(readme)
    app = {"app_id": "cli_1", "app_secret": "env:APP_SECRET"}
    settings = build_settings({"feishu": app, "agents": found}, tmp_path)
    assert set(found) == set(CATALOGUE) | DOCUMENTED_ONLY
    for name, candidate in CATALOGUE.items():
        agent = settings.agents[name]
        assert isinstance(agent, AcpAgentSettings)
        assert agent.command == (Path(candidate.program).name, *candidate.arguments)
        for key, value in tomllib.loads("\n".join(candidate.settings)).items():
            assert getattr(agent, key) == value


@pytest.mark.parametrize("readme", CHAPTERS)
def test_the_table_names_the_versions_that_are_run(readme: str) -> None:
    rows = dict(re.findall(r"^\| (\w+) \| (?:npm|PyPI) (`\S+` \S+) \|", chapter(readme), re.MULTILINE))
    assert rows == {name: f"`{one.package}` {one.version}" for name, one in CATALOGUE.items()}


def test_both_readmes_hold_the_same_blocks() -> None:
    assert sections("README.md") == sections("README.zh.md")
