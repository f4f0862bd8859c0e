"""Settings → objects: the parts of one boot, wired, nothing running yet."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp

from channels.agents.configured import presets_from
from channels.agents.protocol import Agent
from channels.agents.registry import build_agents
from channels.app.ledger_parts import LedgerParts, make_ledger
from channels.app.owning import Owned
from channels.clock import Clock, FlooredClock, Ids, Rng, SystemClock, SystemIds, SystemRng
from channels.config import Settings, find_time_zone, resolve_address, resolve_secret
from channels.feishu.api import Credentials, FeishuApi, Probe
from channels.feishu.api import Limits as RateLimits
from channels.feishu.connection import ConnectionHealth, ConnectionSettings, ConnectionState, LongConnection
from channels.ids import UserId
from channels.rules.access import AccessPolicy
from channels.rules.downloads import MEGABYTE, FileLimits
from channels.rules.gate import ToolPolicy
from channels.rules.gathering import Windows
from channels.rules.quota import Limits, QuotaPolicy
from channels.rules.routing import Policy
from channels.service.access_desk import AccessDesk
from channels.service.approvals import Approvals
from channels.service.card_book import CardBook
from channels.service.claiming import Claiming
from channels.service.clicks import Clicks
from channels.service.commands import Commands
from channels.service.commands_access import AccessCommands
from channels.service.commands_agents import AgentCommands
from channels.service.commands_archive import ArchiveCommands
from channels.service.commands_sessions import SessionCommands
from channels.service.commands_settlement import SettlementCommands
from channels.service.context import Context, Preferences
from channels.service.delivery import Delivery
from channels.service.dispatch import Dispatch
from channels.service.guiding import Guiding
from channels.service.intake import Intake
from channels.service.launching import Launching
from channels.service.liveness import Liveness
from channels.service.missed import Missed, MissedPlan
from channels.service.missed_cards import MissedCards
from channels.service.permissions import Permissions
from channels.service.preparing import Preparing
from channels.service.quarantine import Quarantine
from channels.service.repair import Repair
from channels.service.session_desk import SessionDesk
from channels.service.standing import Standing
from channels.service.stopping import Stopping
from channels.service.turns import Turns
from channels.service.workspaces import Workspaces
from channels.store.database import Database
from channels.store.tx import StatementHook

DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Ports:
    """The seams to the world, with their real forms. Tests hand in others."""

    clock: Clock
    rng: Rng
    ids: Ids
    hook: StatementHook | None = None  # sees every statement before it runs
    probe: Probe | None = None  # sees every call to Feishu
    agents: Mapping[str, Agent] | None = None  # answer in place of those that the settings name

    @classmethod
    def real(cls) -> "Ports":
        return cls(SystemClock(), SystemRng(), SystemIds())


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that runs in one boot."""

    context: Context
    intake: Intake
    dispatch: Dispatch
    turns: Turns
    delivery: Delivery
    repair: Repair
    missed: Missed
    quarantine: Quarantine
    liveness: Liveness
    connection: LongConnection
    approvals: Approvals
    permissions: Permissions
    desk: AccessDesk
    sessions: SessionDesk
    launching: Launching
    ledger: LedgerParts
    standing: Standing
    connected: asyncio.Event  # set by the first connection that stands


@dataclass(frozen=True, slots=True)
class Resolved:
    """What must be right before anything is touched: secrets and agents."""

    credentials: Credentials
    proxy: str | None
    agents: dict[str, Agent]


def resolve(settings: Settings, ports: Ports) -> Resolved:
    """Read the secrets and build the agents. Raises ConfigError; importing heavy agents happens here."""
    feishu = settings.feishu
    secret = resolve_secret(feishu.app_secret, "feishu.app_secret").reveal()
    return Resolved(
        credentials=Credentials(feishu.app_id, secret, feishu.domain),
        proxy=resolve_address(feishu.proxy, "feishu.proxy") or None,
        agents=dict(ports.agents) if ports.agents else build_agents(presets_from(settings), ports.clock, ports.rng),
    )


def make_context(
    settings: Settings,
    resolved: Resolved,
    ports: Ports,
    session: aiohttp.ClientSession,
    database: Database,
    clock: FlooredClock,
    owned: Owned,
) -> Context:
    """What every loop is given."""
    limits = RateLimits(clock, enabled=settings.feishu.rate_limits)
    feishu = FeishuApi(
        session,
        resolved.credentials,
        clock,
        limits,
        proxy=resolved.proxy,
        timeout_s=settings.feishu.request_timeout_s,
        probe=ports.probe,
    )
    return Context(
        database=database,
        feishu=feishu,
        clock=clock,
        ids=ports.ids,
        rng=ports.rng,
        epoch=owned.ownership.epoch,
        agents=resolved.agents,
        preferences=preferences_from(settings),
        policy=policy_from(settings),
    )


def assemble(
    settings: Settings,
    resolved: Resolved,
    ports: Ports,
    session: aiohttp.ClientSession,
    database: Database,
    clock: FlooredClock,
    owned: Owned,
    version: str,
) -> Parts:
    """Wire one boot."""
    context = make_context(settings, resolved, ports, session, database, clock, owned)
    book, connected = CardBook(), asyncio.Event()
    delivery = Delivery(context, book)
    stopping = Stopping(context, delivery.kick)
    workspaces, preparing = Workspaces(context), Preparing(context, file_limits_from(settings))
    permissions = Permissions(context, delivery.kick)
    turns = Turns(context, preparing, workspaces, book, delivery, permissions)
    stopping.tell_running = delivery.tell_running = turns.stop
    standing = Standing(context, lambda: connection.health, version, clock.monotonic(), clock.monotonic())
    cards = MissedCards(context, delivery.kick)
    faces = _faces(context, stopping, standing, workspaces, cards, permissions, delivery)
    intake = Intake(context, faces.clicks, stopping, Guiding(context, delivery.kick))
    liveness = Liveness(clock, lambda: connection.health, owned.ownership.last_alive_at)
    connection = LongConnection(
        session,
        resolved.credentials,
        intake.handle,
        clock,
        ports.rng,
        settings=connection_settings_from(settings),
        proxy=resolved.proxy,
        on_change=_noting(liveness, connected),
    )
    plan = MissedPlan(**settings.missed.model_dump())
    missed = Missed(context, intake, cards, liveness, plan, lambda: connection.health, connection.rebuild)
    quarantine = Quarantine(context, owned.in_quarantine, cards.excerpt_of, context.missed.ring)
    repair = Repair(context, delivery, quarantine.may_repair)
    quarantine.tell_repair = repair.look
    dispatch = Dispatch(context, delivery, faces.commands, Claiming(context, faces.desk), cards.excerpt_of)
    return Parts(
        context=context,
        intake=intake,
        dispatch=dispatch,
        turns=turns,
        delivery=delivery,
        repair=repair,
        missed=missed,
        quarantine=quarantine,
        liveness=liveness,
        connection=connection,
        approvals=faces.approvals,
        permissions=permissions,
        desk=faces.desk,
        sessions=faces.sessions,
        launching=Launching(context, faces.desk, delivery.kick),
        ledger=faces.ledger,
        standing=standing,
        connected=connected,
    )


@dataclass(frozen=True, slots=True)
class _Faces:
    """What people meet: buttons, commands, and the desks behind them."""

    desk: AccessDesk
    sessions: SessionDesk
    ledger: LedgerParts
    approvals: Approvals
    clicks: Clicks
    commands: Commands


def _faces(
    context: Context,
    stopping: Stopping,
    standing: Standing,
    workspaces: Workspaces,
    cards: MissedCards,
    permissions: Permissions,
    delivery: Delivery,
) -> _Faces:
    desk, sessions = AccessDesk(context), SessionDesk(context)
    approvals, archive = Approvals(context, desk, delivery.kick), ArchiveCommands(context, sessions)
    clicks = Clicks(context, stopping, delivery.kick, cards, approvals, archive, permissions)
    ledger = make_ledger(context, desk, sessions)
    commands = Commands(
        context,
        stopping,
        standing,
        SessionCommands(context, workspaces, ledger.quotas),
        AgentCommands(context),
        AccessCommands(context, desk),
        archive,
        SettlementCommands(context, ledger.desk, desk),
    )
    return _Faces(desk, sessions, ledger, approvals, clicks, commands)


def _noting(liveness: Liveness, connected: asyncio.Event) -> Callable[[ConnectionHealth], None]:
    """Who hears of every change of the connection."""

    def note(health: ConnectionHealth) -> None:
        liveness.note(health)
        if health.state is ConnectionState.CONNECTED:
            connected.set()

    return note


def preferences_from(settings: Settings) -> Preferences:
    return Preferences(
        language=settings.ui.language,
        agent=settings.agent_name,
        agent_private=settings.turns.agent_private,
        agent_group=settings.turns.agent_group,
        admins=frozenset(UserId(one) for one in settings.access.admins),
        max_running=settings.turns.max_running,
        time_limit_s=settings.turns.time_limit_s,
        drain_s=settings.turns.drain_s,
        streaming=settings.cards.streaming,
        frame_gaps_ms=settings.cards.frame_gaps_ms,
        replay_pending=settings.replay.pending,
        replay_interrupted=settings.replay.interrupted,
        recalled=settings.turns.recalled,
        base_dir=str(settings.workspace_dir),
        worktrees=settings.workspace.worktrees,
        notify_after_s=settings.cards.notify_after_s,
        route_ttl_ms=int(settings.routes.ttl_days * DAY_MS),
        tools={
            name: ToolPolicy({str(kind): action for kind, action in agent.tools.items()})
            for name, agent in settings.agents.items()
        },
        permission_timeout_ms=int(settings.turns.permission_timeout_s * 1000),
        permission_timeouts_ms={
            name: int(agent.permission_timeout_s * 1000)
            for name, agent in settings.agents.items()
            if agent.permission_timeout_s is not None
        },
    )


def policy_from(settings: Settings) -> Policy:
    return Policy(
        app_id=settings.feishu.app_id,
        dm=settings.chat.dm,
        dm_users=frozenset(UserId(one) for one in settings.chat.dm_users),
        respond_to_all=settings.chat.respond_to_all,
        allow_bots=settings.chat.allow_bots,
        topic_in_private=settings.topics.private == "topic",
        topic_in_group=settings.topics.group == "topic",
        windows=Windows(int(settings.files.together_s * 1000), int(settings.files.forward_s * 1000)),
        queue_limit=settings.turns.queue_limit,
        bot_answers=settings.chat.bot_answers,
        bot_window_ms=int(settings.chat.bot_window_s * 1000),
        access=access_policy_from(settings),
        quota=quota_policy_from(settings),
    )


def quota_policy_from(settings: Settings) -> QuotaPolicy:
    quota = settings.quota
    return QuotaPolicy(
        limits=Limits(
            turns_per_day=quota.turns_per_day or None,
            turns_per_month=quota.turns_per_month or None,
            tokens_per_day=quota.tokens_per_day or None,
            tokens_per_month=quota.tokens_per_month or None,
        ),
        tokens_per_turn=quota.tokens_per_turn,
        ttl_ms=int(quota.reservation_ttl_h * 3_600_000),
        zone=find_time_zone(quota.time_zone),
    )


def access_policy_from(settings: Settings) -> AccessPolicy:
    access = settings.access
    return AccessPolicy(
        mode=access.mode,
        admins=frozenset(UserId(one) for one in access.admins),
        request_ms=int(access.request_days * DAY_MS),
        cooldown_ms=int(access.cooldown_h * 3_600_000),
        code_ms=int(access.claim_code_minutes * 60_000),
    )


def file_limits_from(settings: Settings) -> FileLimits:
    files = settings.files
    return FileLimits(int(files.largest_mb * MEGABYTE), files.most, files.time_limit_s)


def connection_settings_from(settings: Settings) -> ConnectionSettings:
    return ConnectionSettings(**settings.connection.model_dump())
