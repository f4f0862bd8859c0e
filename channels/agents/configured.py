"""From settings to presets: what `[agents.NAME]` says, with its secrets resolved."""

import re
from collections.abc import Mapping
from typing import assert_never

from channels.agents.presets import (
    AcpPreset,
    AgentPreset,
    DemoPreset,
    McpServer,
    OpenAiPreset,
    ProcessLimits,
    TimeLimits,
)
from channels.config import (
    AcpAgentSettings,
    DemoAgentSettings,
    OpenAiAgentSettings,
    Reference,
    Secret,
    Settings,
    resolve_address,
    resolve_secret,
)
from channels.logs import hide_value

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|AUTHORIZATION|COOKIE", re.IGNORECASE)


def presets_from(settings: Settings, environ: Mapping[str, str] | None = None) -> list[AgentPreset]:
    """The preset of every configured agent, in the file's order. Raises ConfigError for a secret that is not there."""
    return [_preset(name, agent, settings.turns.time_limit_s, environ) for name, agent in settings.agents.items()]


def _preset(
    name: str,
    agent: DemoAgentSettings | OpenAiAgentSettings | AcpAgentSettings,
    whole_s: float,
    environ: Mapping[str, str] | None,
) -> AgentPreset:
    match agent:
        case DemoAgentSettings():
            return DemoPreset(name, agent.pace)
        case OpenAiAgentSettings():
            return _openai(name, agent, whole_s, environ)
        case AcpAgentSettings():
            return _acp(name, agent, environ)
        case _:
            assert_never(agent)


def _acp(name: str, agent: AcpAgentSettings, environ: Mapping[str, str] | None) -> AcpPreset:
    key = f"agents.{name}"
    return AcpPreset(
        name=name,
        command=agent.command,
        env=_pairs(agent.env, f"{key}.env", environ),
        shared=agent.processes == "shared",
        max_processes=agent.max_processes,
        limits=ProcessLimits(
            start_s=agent.start_timeout_s,
            load_s=agent.load_timeout_s,
            first_s=agent.first_word_timeout_s,
            between_s=agent.between_words_timeout_s,
            cancel_s=agent.cancel_timeout_s,
            idle_s=agent.idle_s,
        ),
        authenticate=agent.authenticate,
        model=agent.model,
        mode=agent.mode,
        terminal=agent.terminal,
        adds_up=agent.usage == "session",
        mcp_servers=tuple(
            McpServer(
                name=server,
                command=one.command or (),
                env=_pairs(one.env, f"{key}.mcp.{server}.env", environ),
                url=one.url or "",
                transport=one.transport,
                headers=_pairs(one.headers, f"{key}.mcp.{server}.headers", environ),
            )
            for server, one in agent.mcp.items()
        ),
        max_history_tokens=agent.max_history_tokens,
        max_answer_characters=agent.max_answer_characters,
    )


def _pairs(
    table: Mapping[str, str | Reference | Secret], key: str, environ: Mapping[str, str] | None
) -> tuple[tuple[str, str], ...]:
    """Names with their values. What is written out and named like a secret is kept out of the logs, too."""
    found = []
    for name, value in table.items():
        text = value if isinstance(value, str) else resolve_secret(value, f"{key}.{name}", environ).reveal()
        if _SECRET_NAME.search(name):
            hide_value(text)
        found.append((name, text))
    return tuple(found)


def _openai(name: str, agent: OpenAiAgentSettings, whole_s: float, environ: Mapping[str, str] | None) -> OpenAiPreset:
    key = f"agents.{name}"
    return OpenAiPreset(
        name=name,
        base_url=agent.base_url,
        model=agent.model,
        api_key=resolve_secret(agent.api_key, f"{key}.api_key", environ).reveal() if agent.api_key else "",
        system_prompt=agent.system_prompt,
        limits=TimeLimits(
            agent.connect_timeout_s, agent.first_word_timeout_s, agent.between_words_timeout_s, whole_s=whole_s
        ),
        retries=agent.retries,
        max_history_tokens=agent.max_history_tokens,
        max_answer_characters=agent.max_answer_characters,
        temperature=agent.temperature,
        max_tokens=agent.max_tokens,
        proxy=resolve_address(agent.proxy, f"{key}.proxy", environ),
        ca_file=agent.ca_file,
        vision=agent.vision,
    )
