"""Every setting, its type and its default. The one list: config/example.toml and the loader are compared with it.

Models are frozen and strict (no "5" for 5) and know no key that the code does not use. Each check here needs nothing
but the settings themselves; whether a secret is there or a port is free shows when it is used.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from channels.config.references import HOW_TO_WRITE, Reference, Secret, SecretSource, parse_reference
from channels.config.time_zones import is_time_zone
from channels.rules.gate import DEFAULT_ACTIONS
from channels.rules.pace import FRAME_GAPS_MS

UNIX_SOCKET_PATH_BYTES = 107  # sun_path of Linux, without its closing zero
AGENT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
PLACEHOLDER = "cli_your_app_id"  # what config/example.toml has in the place of an app's id


def _fault(text: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{text}", {"text": text})


def _folder(info: ValidationInfo) -> Path:
    """Relative paths belong to the folder of the settings file, handed over as the validation's context."""
    return Path(info.context["folder"]) if info.context else Path.cwd()


def _read_secret(value: Any, info: ValidationInfo) -> SecretSource:
    if isinstance(value, Reference | Secret):
        return value
    reference = parse_reference(value, _folder(info)) if isinstance(value, str) else None
    if reference is None:
        raise _fault(f"must not hold the secret itself; {HOW_TO_WRITE}")
    return reference


def _read_path(value: Any, info: ValidationInfo) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise _fault("must be a path in quotes")
    return _folder(info) / Path(value).expanduser()


def _read_address(value: Any) -> str:
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
        raise _fault('must be an address such as "https://host" or "http://host:port/path"')
    if urlsplit(value).password:
        raise _fault(f"must not hold a password; {HOW_TO_WRITE}")
    return value.rstrip("/")


def _read_domain(value: Any) -> str:
    if value in ("feishu", "lark"):
        return str(value)
    try:
        return _read_address(value)
    except PydanticCustomError:
        raise _fault('must be "feishu", "lark" or an address such as "http://127.0.0.1:8800"') from None


def _check_app_id(value: str) -> str:
    if value == PLACEHOLDER:
        raise _fault("is still the example's: put your own app's id there (`channels init` does it for you)")
    return value


def _read_proxy(value: Any, info: ValidationInfo) -> str | SecretSource:
    if isinstance(value, Reference | Secret):
        return value
    if value == "":
        return ""
    reference = parse_reference(value, _folder(info)) if isinstance(value, str) else None
    return reference or _read_address(value)


def _read_public_url(value: Any) -> str:
    if value == "":
        return ""
    if urlsplit(_read_address(value)).path not in ("", "/"):
        raise _fault("must be an address without a path: the page always lies under /admin")
    return _read_address(value)


def _read_time_zone(value: Any) -> str:
    if not isinstance(value, str) or not is_time_zone(value):
        raise _fault('must be a time zone such as "UTC" or "Asia/Shanghai"')
    return value


AppId = Annotated[str, Field(min_length=1), AfterValidator(_check_app_id)]
SecretSetting = Annotated[Reference | Secret, BeforeValidator(_read_secret)]
PathSetting = Annotated[Path, BeforeValidator(_read_path)]
Address = Annotated[str, BeforeValidator(_read_address)]
Domain = Annotated[str, BeforeValidator(_read_domain)]
Proxy = Annotated[str | Reference | Secret, BeforeValidator(_read_proxy)]
PublicUrl = Annotated[str, BeforeValidator(_read_public_url)]
Names = Annotated[tuple[str, ...], Strict(False)]
Gaps = Annotated[tuple[Annotated[int, Field(ge=0, le=60_000)], ...], Strict(False), Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(ge=1)]
Limit = Annotated[int, Field(ge=0, le=1_000_000_000_000)]  # 0: none
TimeZone = Annotated[str, BeforeValidator(_read_time_zone)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class FeishuSettings(_Section):
    app_id: AppId
    app_secret: SecretSetting
    domain: Domain = "feishu"
    proxy: Proxy = ""
    request_timeout_s: Seconds = 10.0
    rate_limits: bool = True


class StoreSettings(_Section):
    path: PathSetting = Field(default="channels.db", validate_default=True)


class UiSettings(_Section):
    language: Literal["zh", "en"] = "zh"


class AccessSettings(_Section):
    mode: Literal["open", "approval"] = "open"
    admins: Names = ()
    request_days: Annotated[float, Field(gt=0, le=13)] = 7.0
    cooldown_h: Annotated[float, Field(ge=0, le=24 * 365)] = 24.0
    claim_code_minutes: Annotated[float, Field(gt=0, le=24 * 60)] = 15.0


class ChatSettings(_Section):
    dm: Literal["all", "users", "off"] = "all"
    dm_users: Names = ()
    respond_to_all: bool = False
    allow_bots: bool = False
    bot_answers: Annotated[int, Field(ge=1, le=1000)] = 10
    bot_window_s: Seconds = 600.0


class TopicSettings(_Section):
    private: Literal["topic", "chat"] = "topic"
    group: Literal["topic", "chat"] = "topic"


class TurnSettings(_Section):
    agent: str = ""
    agent_private: str = ""
    agent_group: str = ""
    max_running: Annotated[int, Field(ge=1, le=1000)] = 8
    queue_limit: Annotated[int, Field(ge=1, le=1000)] = 20
    time_limit_s: Seconds = 1800.0
    drain_s: Annotated[float, Field(ge=0, le=600)] = 20.0
    recalled: Literal["stop", "answer"] = "stop"
    permission_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0


class CardSettings(_Section):
    streaming: bool = True
    frame_gaps_ms: Gaps = FRAME_GAPS_MS
    notify_after_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0


class WorkspaceSettings(_Section):
    base_dir: PathSetting | None = None
    worktrees: bool = False


class RouteSettings(_Section):
    ttl_days: Annotated[float, Field(ge=0, le=3650)] = 30.0


class FileSettings(_Section):
    largest_mb: Annotated[float, Field(gt=0, le=100)] = 30.0
    most: Annotated[int, Field(ge=0, le=200)] = 20
    time_limit_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    together_s: Annotated[float, Field(ge=0, le=30)] = 2.0
    forward_s: Annotated[float, Field(ge=0, le=30)] = 3.0


class QuotaSettings(_Section):
    turns_per_day: Limit = 0
    turns_per_month: Limit = 0
    tokens_per_day: Limit = 0
    tokens_per_month: Limit = 0
    tokens_per_turn: Annotated[int, Field(ge=1, le=100_000_000)] = 8_000
    reservation_ttl_h: Annotated[float, Field(ge=1, le=24 * 30)] = 24.0
    time_zone: TimeZone = "UTC"


ToolKind = Literal["edit", "delete", "move", "execute", "read", "search", "fetch", "think", "other"]
Tools = dict[ToolKind, Literal["allow", "ask", "deny"]]


class _AgentSection(_Section):
    """What every kind of agent has. Kinds of tools that are left out have their defaults."""

    tools: Tools = dict(DEFAULT_ACTIONS)  # type: ignore[arg-type]


class DemoAgentSettings(_AgentSection):
    kind: Literal["demo"]
    pace: Annotated[float, Field(ge=0, le=100)] = 1.0


class OpenAiAgentSettings(_AgentSection):
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


AGENT_KINDS: dict[str, type[_Section]] = {"demo": DemoAgentSettings, "openai": OpenAiAgentSettings}


def _kind_of(value: Any) -> Any:
    return value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)


AgentSettings = Annotated[
    Annotated[DemoAgentSettings, Tag("demo")] | Annotated[OpenAiAgentSettings, Tag("openai")], Discriminator(_kind_of)
]


class WebSettings(_Section):
    enabled: bool = True
    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8787
    admin: bool = False
    public_url: PublicUrl = ""


class ControlSettings(_Section):
    socket: PathSetting | None = None


class ConnectionKnobs(_Section):
    """Field by field what feishu.reconnect.ConnectionSettings takes."""

    discovery_timeout_s: Seconds = 10.0
    handshake_timeout_s: Seconds = 10.0
    ping_interval_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    missed_pongs: Annotated[int, Field(ge=1, le=20)] = 2
    grace_s: Seconds = 10.0
    first_pause_s: Annotated[float, Field(ge=0, le=600)] = 5.0
    longest_pause_s: Seconds = 60.0
    fatal_pause_s: Seconds = 300.0
    ack_limit_s: Annotated[float, Field(gt=0, lt=3)] = 2.5
    drain_s: Annotated[float, Field(ge=0, le=600)] = 5.0
    most_in_flight: Count = 1000


class ReplaySettings(_Section):
    pending: bool = True
    interrupted: Literal["ask", "off"] = "ask"


class MissedSettings(_Section):
    enabled: bool = True
    window_s: Annotated[float, Field(ge=0, le=30 * 86_400)] = 900.0
    sweep_s: Annotated[float, Field(ge=0, le=86_400)] = 300.0
    heartbeat_s: Annotated[float, Field(gt=0, le=20)] = 5.0


class LogSettings(_Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "console"] = "json"


def _demo_agents() -> dict[str, Any]:
    return {"demo": DemoAgentSettings(kind="demo")}


class Settings(_Section):
    """All settings of one service. Build it with `loading.load_settings` or `loading.build_settings`."""

    feishu: FeishuSettings = Field(default_factory=dict, validate_default=True)
    store: StoreSettings = Field(default_factory=dict, validate_default=True)
    ui: UiSettings = UiSettings()
    access: AccessSettings = AccessSettings()
    chat: ChatSettings = ChatSettings()
    topics: TopicSettings = TopicSettings()
    turns: TurnSettings = TurnSettings()
    cards: CardSettings = CardSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    routes: RouteSettings = RouteSettings()
    agents: dict[str, AgentSettings] = Field(default_factory=_demo_agents)
    web: WebSettings = WebSettings()
    control: ControlSettings = ControlSettings()
    connection: ConnectionKnobs = ConnectionKnobs()
    replay: ReplaySettings = ReplaySettings()
    files: FileSettings = FileSettings()
    quota: QuotaSettings = QuotaSettings()
    missed: MissedSettings = MissedSettings()
    log: LogSettings = LogSettings()

    @property
    def agent_name(self) -> str:
        """The agent that answers where nobody chose one: `turns.agent`, else the first that is configured."""
        return self.turns.agent or next(iter(self.agents))

    @property
    def workspace_dir(self) -> Path:
        """`workspace.base_dir`, else beside the domain file."""
        return self.workspace.base_dir or self.store.path.with_name("workspace")

    @property
    def control_socket(self) -> Path:
        """`control.socket`, else beside the domain file."""
        return self.control.socket or self.store.path.with_name(self.store.path.name + ".sock")
