"""The agents that are run for real: where each comes from, how it is started, how it is pointed at another model.

Versions are pinned: a record says what was run. The environment is only for the model and for a home of its own; the
agents themselves are as their authors published them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Environment = dict[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One agent. `program` is a path below the folder of its installation, `environment` what it needs for a home
    folder and a model's address (without /v1); what it reads from files there is written by it, too.

    `settings`: lines of its [agents.NAME] table that it needs besides command and env.
    `scripts`: its package's own install scripts must run (opencode's puts the binary of this machine in its place).
    `next_minute`: it opens a session again only in a later minute of the clock than that of the last time.
    """

    name: str
    registry: Literal["npm", "pypi"]
    package: str
    version: str
    program: str
    arguments: tuple[str, ...]
    environment: Callable[[Path, str], Environment]
    settings: tuple[str, ...] = ()
    scripts: bool = False
    next_minute: bool = False

    @property
    def requirement(self) -> str:
        return f"{self.package}@{self.version}" if self.registry == "npm" else f"{self.package}=={self.version}"


def _opencode(home: Path, model: str) -> Environment:
    """Without `permission` it asks nobody anything."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "House",
        "options": {"baseURL": f"{model}/v1", "apiKey": "none"},
        "models": {"fake": {"name": "Fake", "limit": {"context": 128_000, "output": 8_000}}},
    }
    config = {
        "model": "house/fake",
        "small_model": "house/fake",
        "enabled_providers": ["house"],
        "provider": {"house": provider},
        "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}


def _hermes(home: Path, model: str) -> Environment:
    settings = {"default": "fake", "provider": "custom", "base_url": f"{model}/v1", "api_key": "none"}
    lines = [f"  {key}: {value}" for key, value in {**settings, "context_length": "200000"}.items()]
    (home / "config.yaml").write_text("\n".join(["model:", *lines]) + "\n")
    return {"HERMES_HOME": str(home)}


def _codex(home: Path, model: str) -> Environment:
    """Its sandbox needs bubblewrap, which is not everywhere; asking about everything does not."""
    (home / "config.toml").write_text(
        'model = "fake"\nmodel_provider = "house"\napproval_policy = "untrusted"\nsandbox_mode = "danger-full-access"\n'
        f'[model_providers.house]\nname = "House"\nbase_url = "{model}/v1"\nwire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\n'
    )
    return {"CODEX_HOME": str(home), "OPENAI_API_KEY": "none"}


def _claude(home: Path, model: str) -> Environment:
    """IS_SANDBOX: root may run it in a container."""
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}
    return {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "none", **quiet}


def _gemini(home: Path, model: str) -> Environment:
    """Its tidying-up of old sessions takes those along that have been loaded once."""
    folder = home / ".gemini"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"general": {"sessionRetention": {"enabled": False}}}))
    return {"GOOGLE_GEMINI_BASE_URL": model, "GEMINI_API_KEY": "none"}


# It counts tokens over the whole session, and takes a permission that is not decided within 60 s for a no
HERMES_WAYS = ('usage = "session"', "permission_timeout_s = 50.0")

CATALOGUE: Mapping[str, Candidate] = {
    each.name: each
    for each in (
        Candidate(
            "opencode", "npm", "opencode-ai", "1.18.33", "node_modules/.bin/opencode", ("acp",), _opencode, scripts=True
        ),
        Candidate(
            "hermes",
            "pypi",
            "hermes-agent[acp]",
            "0.19.0",
            "bin/hermes-acp",
            (),
            _hermes,
            settings=('usage = "session"', "permission_timeout_s = 50.0"),
        ),
        Candidate("codex", "npm", "@zed-industries/codex-acp", "0.16.0", "node_modules/.bin/codex-acp", (), _codex),
        Candidate(
            "claude",
            "npm",
            "@zed-industries/claude-code-acp",
            "0.16.2",
            "node_modules/.bin/claude-code-acp",
            (),
            _claude,
        ),
        Candidate(
            "gemini",
            "npm",
            "@google/gemini-cli",
            "0.61.0",
            "node_modules/.bin/gemini",
            ("--acp", "--model", "gemini-2.5-pro"),
            _gemini,
            next_minute=True,
        ),
    )
}
