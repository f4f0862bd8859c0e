"""What a copy of the domain file holds, in words for people."""

from datetime import UTC, datetime

from channels.store.copies import CopyFacts


def moment(at_ms: int | None) -> str:
    """A moment for people, in UTC; "never" for none."""
    if at_ms is None:
        return "never"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def describe(facts: CopyFacts) -> str:
    """One line: size, version, how far it had come, what is in it."""
    report = facts.report
    open_turns = sum(report.turns.get(state, 0) for state in ("queued", "entered", "unknown"))
    waiting = sum(count for count, _ in report.inbox.values())
    return (
        f"{facts.size_bytes:,} bytes, file version {facts.version}, owner epoch {facts.anchor.epoch}, "
        f"last connected {moment(facts.alive_at)}, {report.sessions} sessions, {report.routes} routes, "
        f"{open_turns} open turns, {waiting} messages waiting"
    )
