"""What the running service tells the outside: health, figures, status."""

from collections.abc import Iterator, Sequence
from typing import Any

from channels.app.agent_figures import agent_numbers, agents_at_work
from channels.app.building import Parts
from channels.errors import Refused
from channels.service.settlement_desk import status_json
from channels.service.settling_schedule import marks
from channels.store.transactions.boot import Report
from channels.store.transactions.missed import MissedReport, report_missed
from channels.store.transactions.quarantine import Standing, read_standing
from channels.web.operations import Health, Number

STARTING = Health(live=True, ready=False, reasons=("starting",))


class Figures:
    """`web.operations.Operations` over the parts of one boot; before they exist the service is starting."""

    def __init__(self) -> None:
        self.parts: Parts | None = None

    def health(self) -> Health:
        if self.parts is None:
            return STARTING
        reasons = self.parts.standing.reasons()
        return Health(live=not self.parts.standing.failed_loops, ready=not reasons, reasons=reasons)

    async def status(self) -> dict[str, Any]:
        """Everything about this boot, from one moment, as JSON values."""
        if self.parts is None:
            return {"state": "starting"}
        parts, standing = self.parts, self.parts.standing
        report, now = await standing.read(), parts.context.now()
        reasons = standing.reasons()
        return {
            "state": "ready" if not reasons else "degraded",
            "reasons": list(reasons),
            "version": standing.version,
            "uptime_s": standing.uptime_ms() // 1000,
            "owner_epoch": report.epoch,
            "bot": {"name": parts.context.bot_name, "open_id": parts.context.policy.bot_open_id},
            "connection": self._connection(parts),
            "inbox": _waiting(report.inbox, now),
            "outbox": _waiting(report.outbox, now),
            "turns": report.turns | {"running": parts.turns.running},
            "sessions": report.sessions,
            "routes": report.routes,
            "snapshots": report.snapshots,
            "missed": _missed(await parts.context.database.read(report_missed), parts.context.clock.wall_ms()),
            "restored": _restored(await parts.context.database.read(read_standing), parts.context.clock.wall_ms()),
            "settlement": await _settlement(parts),
            "agents": agents_at_work(parts.context.agents),
            "commits": report.commits,
            "api_calls": dict(parts.context.feishu.counts),
        }

    def numbers(self) -> Sequence[Number]:
        return tuple(self._numbers(self.parts)) if self.parts is not None else ()

    def _connection(self, parts: Parts) -> dict[str, Any]:
        health, now_s = parts.connection.health, parts.context.clock.monotonic()
        heard = health.last_heard_at
        return {
            "state": str(health.state),
            "last_heard_s_ago": round(now_s - heard, 1) if heard is not None else None,
            "connections": health.connections,
            "attempts": health.attempts,
            "fatal": f"{health.fatal.code} {health.fatal.msg}" if health.fatal else None,
            "last_loss": health.last_loss or None,
            "frames": health.frames,
            "acks_ok": health.acks_ok,
            "acks_failed": health.acks_failed,
        }

    def _numbers(self, parts: Parts) -> Iterator[Number]:
        health = parts.connection.health
        yield Number("connected", float(parts.standing.connected))
        yield Number("frames_total", health.frames, kind="counter")
        yield Number("acks_total", health.acks_ok, {"result": "ok"}, kind="counter")
        yield Number("acks_total", health.acks_failed, {"result": "failed"}, kind="counter")
        yield Number("messages_accepted_total", parts.intake.accepted, kind="counter")
        yield Number("messages_duplicated_total", parts.intake.duplicates, kind="counter")
        yield Number("turns_running", parts.turns.running)
        yield from agent_numbers(parts.context.agents)
        yield from _settlement_numbers(parts)
        for name, count in sorted(parts.context.feishu.counts.items()):
            yield Number("api_calls_total", count, {"call": name}, kind="counter")
        if parts.standing.last_report is not None:
            yield from _report_numbers(parts.standing.last_report, parts.context.now())


async def _settlement(parts: Parts) -> dict[str, Any]:
    """How settlement stands, in short; `channels settlement status` shows all of it."""
    try:
        shown = status_json(await parts.ledger.desk.status())
    except Refused as refusal:
        return {"readable": False, "why": refusal.code}
    states = [one["state"] for one in shown["pending"]]
    return {
        "readable": True,
        "paused": shown["paused"],
        "generation": shown["generation"],
        "pending": len(states),
        "unconfirmed": states.count("unconfirmed"),
        "stops": len(shown["stops"]),
        "unconfirmed_stops": sum(one["state"] == "unconfirmed" for one in shown["owed_stops"]),
    }


def _settlement_numbers(parts: Parts) -> Iterator[Number]:
    """As the schedule of this process knows it, from memory."""
    schedule = parts.ledger.settling.schedule
    states = list(marks(schedule).values())
    yield Number("settlement_paused", float(schedule.paused))
    for state in ("waits", "unconfirmed", "held_back"):
        yield Number("settlement_pending", states.count(state), {"state": state})
    yield Number("settlement_stops_unconfirmed", sum(task.due_at is None for task in schedule.stops.values()))


def _report_numbers(report: Report, now: int) -> Iterator[Number]:
    yield Number("owner_epoch", report.epoch)
    yield Number("commits_total", report.commits, kind="counter")
    yield Number("sessions", report.sessions)
    yield Number("snapshots", report.snapshots)
    for table, waiting in (("inbox", report.inbox), ("outbox", report.outbox)):
        for state, (count, oldest) in waiting.items():
            yield Number(f"{table}_rows", count, {"state": state})
            yield Number(f"{table}_oldest_age_seconds", max(0, now - oldest) / 1000, {"state": state})


def _missed(report: MissedReport, wall_ms: int) -> dict[str, Any]:
    """What is still being read, what cannot be read and why, and what people have not decided yet."""
    return {
        "gaps": [
            {
                "reason": gap.reason,
                "since_s_ago": max(0, wall_ms - gap.from_ms) // 1000,
                "places": {state: counts.get(state, 0) for state in ("open", "read", "refused")},
            }
            for gap, counts in report.gaps
        ],
        "unreadable": [
            {"place": one.container, "chat_id": one.chat_id, "for_good": one.state == "refused", "why": one.error}
            for one in report.troubles
        ],
        "undecided": [
            {"chat_id": chat_id, "messages": count, "oldest_s": max(0, wall_ms - oldest) // 1000}
            for chat_id, count, oldest in report.batches
        ],
    }


def _restored(standing: Standing | None, wall_ms: int) -> dict[str, Any] | None:
    """Whether this file was put back from a backup, and what is not compared with history yet; None: it never was."""
    if standing is None:
        return None
    found = standing.quarantine
    words = (
        "this file was put back: what people wrote before is compared with Feishu's history before anything is said, "
        "and what has no answer there is asked about on a card"
        if found.is_open
        else "this file was put back; everything from before is compared with history"
    )
    return {
        "in_quarantine": found.is_open,
        "words": words,
        "why": found.why,
        "since_s_ago": max(0, wall_ms - found.since_ms) // 1000,
        "left_to_compare": {
            "messages": standing.messages,
            "answers_to_send": standing.intents,
            "turns": standing.turns,
            "gaps": standing.gaps,
        },
    }


def _waiting(rows: dict[str, tuple[int, int]], now: int) -> dict[str, Any]:
    return {
        state: {"count": count, "oldest_s": max(0, now - oldest) // 1000} for state, (count, oldest) in rows.items()
    }
