"""Presets become agents; heavy packages stay away until they are asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from channels.agents.presets import DemoPreset, OpenAiPreset
from channels.agents.registry import build_agents
from channels.errors import ConfigError


async def test_agents_by_name_in_order() -> None:
    agents = build_agents([OpenAiPreset("model", "http://127.0.0.1:9/v1", "m"), DemoPreset("other")])
    assert [(name, agent.name, agent.kind) for name, agent in agents.items()] == [
        ("model", "model", "openai"),
        ("other", "other", "demo"),
    ]
    for agent in agents.values():
        await agent.close()


def test_one_name_twice_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        build_agents([DemoPreset("a"), DemoPreset("a")])
    assert error.value.key == "agents.a"


def test_unusable_certificates_are_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("no certificate")
    for path in (wrong, tmp_path / "absent.pem"):
        with pytest.raises(ConfigError) as error:
            build_agents([OpenAiPreset("a", "https://127.0.0.1:9/v1", "m", ca_file=path)])
        assert error.value.key == "agents.a.ca_file"


def test_demo_alone_does_not_import_openai() -> None:
    program = (
        "import sys\n"
        "from channels.agents.presets import DemoPreset\n"
        "from channels.agents.registry import build_agents\n"
        "build_agents([DemoPreset()])\n"
        "print(sorted({'openai', 'httpx2', 'httpx', 'acp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
