"""The programs of agents that run as subprocesses: whether they are there, and how they are installed."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from channels.config import AcpAgentSettings, Settings, resolve_secret
from channels.errors import ConfigError

# What people run most, and how each is installed by its makers' own word.
INSTALLED_BY = {
    "claude-code-acp": "npm install -g @zed-industries/claude-code-acp",
    "claude-agent-acp": "npm install -g @zed-industries/claude-agent-acp",
    "codex-acp": "npm install -g @zed-industries/codex-acp",
    "gemini": "npm install -g @google/gemini-cli",
    "hermes": "pip install hermes-agent[acp]",
    "hermes-acp": "pip install hermes-agent[acp]",
    "kimi": "pip install kimi-cli",
    "npx": "install Node.js",
    "opencode": "npm install -g opencode-ai",
    "qwen": "npm install -g @qwen-code/qwen-code",
    "uvx": "pip install uv",
}


@dataclass(frozen=True, slots=True)
class Program:
    """The program of `agents.{agent}`. `found` is its place, None: nowhere. `is_used`: conversations begin with it."""

    agent: str
    name: str
    found: str | None
    is_used: bool

    @property
    def mend(self) -> str:
        """What to do when it is not there."""
        how = INSTALLED_BY.get(Path(self.name).name)
        way = f"install it (usually: {how})" if how else "install it"
        return f"{way}, write its full path in agents.{self.agent}.command, or take the section out"


def agent_programs(settings: Settings, environ: Mapping[str, str]) -> list[Program]:
    """The program of every agent that has one, in the file's order."""
    turns = settings.turns
    used = {settings.agent_name, turns.agent_private, turns.agent_group}
    return [
        Program(name, agent.command[0], _find(name, agent, environ), name in used)
        for name, agent in settings.agents.items()
        if isinstance(agent, AcpAgentSettings)
    ]


def _find(name: str, agent: AcpAgentSettings, environ: Mapping[str, str]) -> str | None:
    """Looked for as the service will: in the PATH that the process gets."""
    path = agent.env.get("PATH") or environ.get("PATH", os.defpath)
    if not isinstance(path, str):
        try:
            path = resolve_secret(path, f"agents.{name}.env.PATH", environ).reveal()
        except ConfigError:
            path = os.defpath
    return shutil.which(agent.command[0], path=path)
