"""Every switch of the emulated tenant. All fields may be changed while it runs; they are read at each use."""

from dataclasses import dataclass, field
from pathlib import Path

EVENTS = (
    "im.message.receive_v1",
    "im.message.recalled_v1",
    "im.message.message_read_v1",
    "im.message.reaction.created_v1",
    "im.message.reaction.deleted_v1",
    "im.chat.member.bot.added_v1",
    "im.chat.member.bot.deleted_v1",
    "im.chat.disbanded_v1",
    "im.chat.access_event.bot_p2p_chat_entered_v1",
    "card.action.trigger",
)
SCOPES = (
    "im:message",
    "im:message.group_msg",
    "im:resource",
    "cardkit:card:write",
    "contact:user.employee_id:readonly",
)


@dataclass(slots=True, kw_only=True)
class EmulatorSettings:
    """The app, what it may do, the platform's limits, and which of two reported behaviours the platform shows."""

    app_id: str = "cli_emulator"
    app_secret: str = "secret"
    app_name: str = "Emulator Bot"
    tenant_key: str = "emulator_tenant"
    verification_token: str = "emulator_verification"
    scopes: set[str] = field(default_factory=lambda: set(SCOPES))
    events: set[str] = field(default_factory=lambda: set(EVENTS))
    push_own_reactions: bool = False  # whether the bot's own reactions come back as events
    callback_configured: bool = True

    token_ttl_s: float = 7200
    rate_limits: bool = True
    rate_status: int = 429  # some gateways answer 400
    chat_rate_code: int = 99991400  # the im documents name 230020 for the per-chat limit
    chat_per_s: int = 5
    patch_per_s: int = 5
    card_per_s: int = 10
    api_per_s: int = 50
    api_per_min: int = 1000
    monthly_quota: int | None = None  # calls; beyond it 99991403

    uuid_window_s: float = 3600
    uuid_repeat_code: int = 0  # 0: a repeat answers with the first message; else this error code
    thread_parent: str = "root"  # parent_id of a bot's reply inside a topic: "root" (documented) or "target"
    thread_time_range_code: int = 230001  # 0: a time range on a thread listing is ignored
    mget: bool = True
    audit_pattern: str = ""  # a message that matches this regular expression fails the audit (230028)

    streaming_limit_s: float = 600
    reopen_resets: bool = False  # whether switching streaming on while it is on starts the limit again
    interaction_lock: bool = True  # 200810 while a click on the card waits for its answer
    card_life_s: float = 14 * 86400
    max_card_bytes: int = 30 * 1024
    max_text_bytes: int = 150 * 1024
    max_elements: int = 200
    max_tables: int = 5
    max_file_bytes: int = 30 * 1024 * 1024
    max_image_bytes: int = 10 * 1024 * 1024
    max_download_bytes: int = 100 * 1024 * 1024

    ack_timeout_s: float = 3
    callback_timeout_s: float = 3
    redelivery_s: tuple[float, ...] = (15, 300, 3600, 21600)
    time_scale: float = 1  # multiplies redelivery_s only
    redeliver_when_offline: bool = True  # an event with nobody connected counts as a failed attempt
    max_connections: int = 50

    gallery_folder: Path | None = None  # card files (*.json) that the page /gallery shows
    keep_history: bool = True  # every state of every card and every request body; switch off in long benchmarks
