"""From settings to presets: what `[agents.NAME]` says, with its secrets resolved."""

from collections.abc import Mapping

from channels.agents.presets import AgentPreset, DemoPreset, OpenAiPreset, TimeLimits
from channels.config import DemoAgentSettings, OpenAiAgentSettings, Settings, resolve_address, resolve_secret


def presets_from(settings: Settings, environ: Mapping[str, str] | None = None) -> list[AgentPreset]:
    """The preset of every configured agent, in the file's order. Raises ConfigError for a secret that is not there."""
    return [_preset(name, agent, settings.turns.time_limit_s, environ) for name, agent in settings.agents.items()]


def _preset(
    name: str, agent: DemoAgentSettings | OpenAiAgentSettings, whole_s: float, environ: Mapping[str, str] | None
) -> AgentPreset:
    if isinstance(agent, DemoAgentSettings):
        return DemoPreset(name, agent.pace)
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
