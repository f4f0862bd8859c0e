"""The settings of agents, one model for each kind. `[agents.NAME] kind = …` chooses."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from channels.config.value_types import (
    Address,
    Command,
    Count,
    Environment,
    PathSetting,
    Proxy,
    Seconds,
    SecretSetting,
    Section,
)
from channels.rules.gate import DEFAULT_ACTIONS

ToolKind = Literal["edit", "delete", "move", "execute", "read", "search", "fetch", "think", "other"]
Tools = dict[ToolKind, Literal["allow", "ask", "deny"]]


class AgentSection(Section):
    """What every kind of agent has. Kinds of tools that are left out have their defaults."""

    tools: Tools = Field(default=dict(DEFAULT_ACTIONS))  # type: ignore[arg-type]
    permission_timeout_s: Annotated[float, Field(gt=0, le=86_400)] | None = None


class DemoAgentSettings(AgentSection):
    kind: Literal["demo"]
    pace: Annotated[float, Field(ge=0, le=100)] = 1.0


class OpenAiAgentSettings(AgentSection):
    kind: Literal["openai"]
    base_url: Address
    model: Annotated[str, Field(min_length=1)]
    api_key: SecretSetting | None = None
    system_prompt: str = ""
    proxy: Proxy = ""
    ca_file: PathSetting | None = None
    connect_timeout_s: Seconds = 10.0
    first_word_timeout_s: Seconds = 120.0
    between_words_timeout_s: Seconds = 60.0
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Count | None = None
    vision: bool = False
    max_history_tokens: Annotated[int, Field(ge=0)] = 24_000
    max_answer_characters: Annotated[int, Field(ge=1000)] = 400_000


class McpServerSettings(Section):
    """A server of the Model Context Protocol: a command, or an address."""

    command: Command | None = None
    env: Environment = Field(default_factory=dict)
    url: Address | None = None
    transport: Literal["http", "sse"] = "http"
    headers: Environment = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "McpServerSettings":
        if (self.command is None) == (self.url is None):
            raise PydanticCustomError("setting", "{text}", {"text": "needs either a command or a url"})
        return self


class AcpAgentSettings(AgentSection):
    kind: Literal["acp"]
    command: Command
    env: Environment = Field(default_factory=dict)
    processes: Literal["session", "shared"] = "session"
    max_processes: Annotated[int, Field(ge=1, le=1000)] = 10
    idle_s: Annotated[float, Field(ge=0, le=86_400)] = 900.0
    start_timeout_s: Seconds = 60.0
    load_timeout_s: Seconds = 60.0
    first_word_timeout_s: Seconds = 300.0
    between_words_timeout_s: Seconds = 600.0
    cancel_timeout_s: Seconds = 10.0
    authenticate: str = ""
    model: str = ""
    mode: str = ""
    terminal: bool = False
    usage: Literal["turn", "session"] = "turn"
    mcp: dict[str, McpServerSettings] = Field(default_factory=dict)
    max_history_tokens: Annotated[int, Field(ge=0)] = 24_000
    max_answer_characters: Annotated[int, Field(ge=1000)] = 400_000


AGENT_KINDS: dict[str, type[Section]] = {
    "demo": DemoAgentSettings,
    "openai": OpenAiAgentSettings,
    "acp": AcpAgentSettings,
}


def _kind_of(value: Any) -> Any:
    return value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)


AgentSettings = Annotated[
    Annotated[DemoAgentSettings, Tag("demo")]
    | Annotated[OpenAiAgentSettings, Tag("openai")]
    | Annotated[AcpAgentSettings, Tag("acp")],
    Discriminator(_kind_of),
]
