"""The service's status → figures for people: groups of label, value and tone. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from channels.web.admin.words import Words, span

QUIET_LIMIT_S = 180.0  # the platform pings every two minutes
OLD_S = 60
OUTBOX = "/admin/outbox?state="


@dataclass(frozen=True, slots=True)
class Figure:
    """`key` is stable, so that a page can put a new value in its place; `tone` is good, warn, bad or plain; behind
    `link` is what was counted."""

    key: str
    label: str
    value: str
    tone: str = "plain"
    link: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    figures: tuple[Figure, ...]


def health_groups(status: Mapping[str, Any], words: Words) -> tuple[Group, ...]:
    """Everything the health page shows. While the service starts there is one figure only."""
    if status.get("state") == "starting":
        return (Group(words["service"], (Figure("state", words["state"], words["state_starting"], "warn"),)),)
    return (
        Group(words["service"], _service(status, words)),
        Group(words["connection"], _connection(status["connection"], words)),
        Group(words["messages"], _messages(status, words)),
        Group(words["recovery"], _recovery(status, words)),
        *([Group(words["agents"], agents)] if (agents := _agents(status.get("agents", {}), words)) else []),
    )


def _service(status: Mapping[str, Any], words: Words) -> tuple[Figure, ...]:
    ready = status["state"] == "ready"
    return (
        Figure("state", words["state"], words[f"state_{status['state']}"], "good" if ready else "bad"),
        Figure("bot", words["bot"], status["bot"]["name"] or "–"),
        Figure("uptime", words["uptime"], span(status["uptime_s"], words)),
        Figure("epoch", words["epoch"], str(status["owner_epoch"])),
        Figure("version", words["version"], status["version"]),
    )


def _connection(connection: Mapping[str, Any], words: Words) -> tuple[Figure, ...]:
    state, heard = str(connection["state"]), connection["last_heard_s_ago"]
    connected = state == "connected"
    quiet = heard is None or heard > QUIET_LIMIT_S
    return (
        Figure("connection", words["state"], words.get(f"link_{state}", state), "good" if connected else "bad"),
        Figure("heard", words["heard"], _ago(heard, words), "warn" if quiet else "plain"),
        Figure("frames", words["frames"], str(connection["frames"])),
        Figure("connections", words["connections"], str(connection["connections"])),
        Figure("loss", words["loss"], str(connection["fatal"] or connection["last_loss"] or "–")),
    )


def _messages(status: Mapping[str, Any], words: Words) -> tuple[Figure, ...]:
    inbox, outbox, turns = status["inbox"], status["outbox"], status["turns"]
    undecided = [waiting for state, waiting in inbox.items() if state != "queued"]  # a turn has those: told below
    unknown, pending = outbox.get("unknown", {}).get("count", 0), outbox.get("pending")
    return (
        Figure("inbox", words["inbox"], _waiting(undecided, words), _age_tone(inbox.get("accepted"))),
        Figure("outbox", words["outbox"], _waiting([pending], words), _age_tone(pending), f"{OUTBOX}pending"),
        Figure("unknown", words["unknown_deliveries"], str(unknown), "bad" if unknown else "good", f"{OUTBOX}unknown"),
        Figure("running", words["running"], str(turns.get("running", 0))),
        Figure("queued", words["queued"], str(turns.get("queued", 0))),
        Figure("sessions", words["sessions"], str(status["sessions"])),
    )


def _recovery(status: Mapping[str, Any], words: Words) -> tuple[Figure, ...]:
    missed, restored = status["missed"], status["restored"]
    unreadable = len(missed["unreadable"])
    undecided = sum(one["messages"] for one in missed["undecided"])
    inside = restored is not None and restored["in_quarantine"]
    left = sum(restored["left_to_compare"].values()) if inside else 0
    return (
        Figure(
            "quarantine",
            words["quarantine"],
            words["quarantine_in"].format(left) if inside else words["no"],
            "warn" if inside else "good",
        ),
        Figure("gaps", words["gaps"], str(len(missed["gaps"])), "warn" if missed["gaps"] else "good"),
        Figure("unreadable", words["unreadable"], str(unreadable), "warn" if unreadable else "good"),
        Figure("undecided", words["undecided"], str(undecided), "warn" if undecided else "good"),
        Figure("snapshots", words["snapshots"], str(status["snapshots"])),
        *_settlement(status.get("settlement"), words),
    )


def _agents(agents: Mapping[str, Any], words: Words) -> tuple[Figure, ...]:
    """Those that keep processes."""
    return tuple(
        Figure(
            f"agent_{name}",
            name,
            words["agent_figures"].format(len(one["processes"]), one["memory_bytes"] // 1_000_000, one["waiting"]),
            "warn" if one["waiting"] else "plain",
        )
        for name, one in agents.items()
        if "processes" in one
    )


def _settlement(settlement: Mapping[str, Any] | None, words: Words) -> tuple[Figure, ...]:
    if settlement is None:
        return ()
    if not settlement["readable"]:
        return (Figure("settlement", words["settlement"], str(settlement["why"]), "bad"),)
    said = words["is_paused"] if settlement["paused"] else words["is_running"]
    uneasy = settlement["paused"] or settlement["unconfirmed"] or settlement["unconfirmed_stops"]
    text = words["settlement_figure"].format(said, settlement["pending"])
    return (Figure("settlement", words["settlement"], text, "warn" if uneasy else "good"),)


def _waiting(rows: Any, words: Words) -> str:
    counted = [row for row in rows if row]
    count = sum(row["count"] for row in counted)
    if not count:
        return "0"
    return words["oldest"].format(count, span(max(row["oldest_s"] for row in counted), words))


def _age_tone(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "good"
    return "warn" if row["oldest_s"] > OLD_S else "plain"


def _ago(seconds: float | None, words: Words) -> str:
    return "–" if seconds is None else words["ago"].format(span(int(seconds), words))


def as_json(groups: Sequence[Group], reasons: Sequence[str]) -> dict[str, Any]:
    """What the page's script puts in place."""
    figures = {one.key: {"value": one.value, "tone": one.tone} for group in groups for one in group.figures}
    return {"figures": figures, "reasons": list(reasons)}
