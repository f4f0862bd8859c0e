"""Every setting, its type and its default. The one list: config/example.toml and the loader are compared with it.

Models are frozen and strict (no "5" for 5) and know no key that the code does not use. Each check here needs nothing
but the settings themselves; whether a secret is there or a port is free shows when it is used.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from channels.config.agent_settings import AgentSettings, DemoAgentSettings
from channels.config.value_types import (
    AppId,
    Count,
    Domain,
    Gaps,
    Limit,
    Names,
    PathSetting,
    Proxy,
    PublicUrl,
    Seconds,
    SecretSetting,
    Section,
    TimeZone,
)
from channels.rules.pace import FRAME_GAPS_MS

UNIX_SOCKET_PATH_BYTES = 107  # sun_path of Linux, without its closing zero
AGENT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class FeishuSettings(Section):
    app_id: AppId
    app_secret: SecretSetting
    domain: Domain = "feishu"
    proxy: Proxy = ""
    request_timeout_s: Seconds = 10.0
    rate_limits: bool = True


class StoreSettings(Section):
    path: PathSetting = Field(default="channels.db", validate_default=True)


class UiSettings(Section):
    language: Literal["zh", "en"] = "zh"


class AccessSettings(Section):
    mode: Literal["open", "approval"] = "open"
    admins: Names = ()
    request_days: Annotated[float, Field(gt=0, le=13)] = 7.0
    cooldown_h: Annotated[float, Field(ge=0, le=24 * 365)] = 24.0
    claim_code_minutes: Annotated[float, Field(gt=0, le=24 * 60)] = 15.0


class ChatSettings(Section):
    dm: Literal["all", "users", "off"] = "all"
    dm_users: Names = ()
    respond_to_all: bool = False
    allow_bots: bool = False
    bot_answers: Annotated[int, Field(ge=1, le=1000)] = 10
    bot_window_s: Seconds = 600.0


class TopicSettings(Section):
    private: Literal["topic", "chat"] = "topic"
    group: Literal["topic", "chat"] = "topic"


class TurnSettings(Section):
    agent: str = ""
    agent_private: str = ""
    agent_group: str = ""
    max_running: Annotated[int, Field(ge=1, le=1000)] = 8
    queue_limit: Annotated[int, Field(ge=1, le=1000)] = 20
    time_limit_s: Seconds = 1800.0
    drain_s: Annotated[float, Field(ge=0, le=600)] = 20.0
    recalled: Literal["stop", "answer"] = "stop"
    permission_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0


class CardSettings(Section):
    streaming: bool = True
    frame_gaps_ms: Gaps = FRAME_GAPS_MS
    notify_after_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0


class WorkspaceSettings(Section):
    base_dir: PathSetting | None = None
    worktrees: bool = False


class RouteSettings(Section):
    ttl_days: Annotated[float, Field(ge=0, le=3650)] = 30.0


class FileSettings(Section):
    largest_mb: Annotated[float, Field(gt=0, le=100)] = 30.0
    most: Annotated[int, Field(ge=0, le=200)] = 20
    time_limit_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    together_s: Annotated[float, Field(ge=0, le=30)] = 2.0
    forward_s: Annotated[float, Field(ge=0, le=30)] = 3.0


class QuotaSettings(Section):
    turns_per_day: Limit = 0
    turns_per_month: Limit = 0
    tokens_per_day: Limit = 0
    tokens_per_month: Limit = 0
    tokens_per_turn: Annotated[int, Field(ge=1, le=100_000_000)] = 8_000
    reservation_ttl_h: Annotated[float, Field(ge=1, le=24 * 30)] = 24.0
    time_zone: TimeZone = "UTC"


class WebSettings(Section):
    enabled: bool = True
    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8787
    admin: bool = False
    public_url: PublicUrl = ""


class ControlSettings(Section):
    socket: PathSetting | None = None


class ConnectionKnobs(Section):
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


class ReplaySettings(Section):
    pending: bool = True
    interrupted: Literal["ask", "off"] = "ask"


class MissedSettings(Section):
    enabled: bool = True
    window_s: Annotated[float, Field(ge=0, le=30 * 86_400)] = 900.0
    sweep_s: Annotated[float, Field(ge=0, le=86_400)] = 300.0
    heartbeat_s: Annotated[float, Field(gt=0, le=20)] = 5.0


class LogSettings(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "console"] = "json"


def _demo_agents() -> dict[str, Any]:
    return {"demo": DemoAgentSettings(kind="demo")}


class Settings(Section):
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
