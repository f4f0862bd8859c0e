"""Logs: one set-up, the names of all events, and a processor that keeps secrets out.

Events are named `subject.past_participle` and are constants here, so that a name cannot drift between the code that
logs it and the person who searches for it. A line never holds what a person wrote. It goes to stderr: stdout belongs
to commands and their answers.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

# service life
SERVICE_STARTED: Final = "service.started"
SERVICE_READY: Final = "service.ready"
SERVICE_STOPPING: Final = "service.stopping"
SERVICE_STOPPED: Final = "service.stopped"
SERVICE_REFUSED: Final = "service.refused"
LOOP_FAILED: Final = "loop.failed"
LOOP_ENDED: Final = "loop.ended"
OWNER_RAISED: Final = "owner.raised"

# connection
CONNECTION_OPENED: Final = "connection.opened"
CONNECTION_LOST: Final = "connection.lost"
CONNECTION_REFUSED: Final = "connection.refused"
CONNECTION_REBUILT: Final = "connection.rebuilt"
FRAME_REJECTED: Final = "frame.rejected"
FRAME_ACKED: Final = "frame.acked"
ACK_FAILED: Final = "ack.failed"
QUARANTINE_ENTERED: Final = "quarantine.entered"
QUARANTINE_COMPARED: Final = "quarantine.compared"
QUARANTINE_LEFT: Final = "quarantine.left"
ANCHOR_FAILED: Final = "anchor.failed"
IDENTITY_DELAYED: Final = "identity.delayed"
TOKEN_FETCHED: Final = "token.fetched"
TOKEN_DROPPED: Final = "token.dropped"

# a message and its turn
MESSAGE_ACCEPTED: Final = "message.accepted"
MESSAGE_DUPLICATED: Final = "message.duplicated"
MESSAGE_DROPPED: Final = "message.dropped"
MESSAGE_REFUSED: Final = "message.refused"
EVENT_RECORDED: Final = "event.recorded"
EVENT_SKIPPED: Final = "event.skipped"
CARD_CLICKED: Final = "card.clicked"
MISSED_GAP_OPENED: Final = "missed.gap_opened"
MISSED_GAP_CLOSED: Final = "missed.gap_closed"
MISSED_PLACE_READ: Final = "missed.place_read"
MISSED_PLACE_DELAYED: Final = "missed.place_delayed"
MISSED_PLACE_REFUSED: Final = "missed.place_refused"
MISSED_FOUND: Final = "missed.found"
MISSED_ASKED: Final = "missed.asked"
MISSED_DECIDED: Final = "missed.decided"
ACCESS_KEPT: Final = "access.kept"
ACCESS_SHOWN: Final = "access.shown"
ACCESS_DECIDED: Final = "access.decided"
ACCESS_CHANGED: Final = "access.changed"
ACCESS_CLAIMED: Final = "access.claimed"
ACCESS_EXPIRED: Final = "access.expired"
COMMAND_ANSWERED: Final = "command.answered"
FILE_SAVED: Final = "file.saved"
FILE_FAILED: Final = "file.failed"
PERMISSION_ASKED: Final = "permission.asked"
PERMISSION_SETTLED: Final = "permission.settled"
TURN_PREPARED: Final = "turn.prepared"
TURN_ADMITTED: Final = "turn.admitted"
TURN_ENTERED: Final = "turn.entered"
TURN_FENCED: Final = "turn.fenced"
TURN_ENDED: Final = "turn.ended"
ROUTE_RETIRED: Final = "route.retired"
TURN_LAUNCHED: Final = "turn.launched"
SESSION_LEFT: Final = "session.left"
SESSION_MOVED: Final = "session.moved"
SETTLEMENT_ENDED: Final = "settlement.ended"
SETTLEMENT_UNCONFIRMED: Final = "settlement.left_unconfirmed"
SETTLEMENT_STOPPED: Final = "settlement.stopped"
SETTLEMENT_STOP_UNCONFIRMED: Final = "settlement.stop_left_unconfirmed"
SETTLEMENT_SWEPT: Final = "settlement.swept"
SETTLEMENT_CONTROLLED: Final = "settlement.controlled"
QUOTA_CHANGED: Final = "quota.changed"
SNAPSHOT_DROPPED: Final = "snapshot.dropped"
FOLDER_PLACED: Final = "folder.placed"
FOLDER_REFUSED: Final = "folder.refused"
WORKTREE_REFUSED: Final = "worktree.refused"
AGENT_FAILED: Final = "agent.failed"
AGENT_RETRIED: Final = "agent.retried"
AGENT_REFUSED: Final = "agent.refused"
AGENT_STARTED: Final = "agent.started"
AGENT_EXITED: Final = "agent.exited"
AGENT_STUCK: Final = "agent.stuck"  # it ignored a cancel and was killed
AGENT_UNREADABLE: Final = "agent.unreadable"  # it wrote something that is no message
AGENT_UNSETTABLE: Final = "agent.unsettable"  # a configured model or mode that it does not offer
ORPHANS_ENDED: Final = "orphans.ended"
ORPHANS_LEFT: Final = "orphans.left"
ORPHANS_UNSEEN: Final = "orphans.unseen"  # this system cannot show the processes of earlier boots

# what leaves
DELIVERY_SENT: Final = "delivery.sent"
DELIVERY_DELAYED: Final = "delivery.delayed"
DELIVERY_REFUSED: Final = "delivery.refused"
DELIVERY_OUTCOME_UNKNOWN: Final = "delivery.outcome_unknown"
DELIVERY_RECONCILED: Final = "delivery.reconciled"
FRAME_DROPPED: Final = "frame.dropped"
LANE_CHANGED: Final = "lane.changed"

# outside
CONTROL_OPENED: Final = "control.opened"
CONTROL_FAILED: Final = "control.failed"
WEB_OPENED: Final = "web.opened"
ADMIN_ENTERED: Final = "admin.entered"
ADMIN_LEFT: Final = "admin.left"
ADMIN_REFUSED: Final = "admin.refused"
ADMIN_FAILED: Final = "admin.failed"
SETTINGS_CHANGED: Final = "settings.changed"
SETTINGS_IGNORED: Final = "settings.ignored"
LIBRARY_LOGGED: Final = "library.logged"  # a line of somebody else's logger, its text under `text`

LEVELS: Final[Mapping[str, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
HIDDEN: Final = "***"

_SECRET_KEY = re.compile(
    r"(^|_)(secret|password|authorization|api_?key|token|ticket|cookie|credential)$", re.IGNORECASE
)
_SECRET_TEXT = re.compile(
    r"(?i:\bbearer\s+)[^\s\"']+"
    r"|(?<![\w-])[tuac]-[A-Za-z0-9._-]{12,}"  # Feishu's tenant, user and app tokens
    r"|(?<![\w-])sk-[A-Za-z0-9_-]{8,}"
    r"|(?<=://)[^/\s@\"']+:[^/\s@\"']+(?=@)"  # user and password of a proxy address
)
_SHORTEST_HIDDEN = 8  # shorter values ("secret") would black out ordinary words
_hidden_values: set[str] = set()


def hide_value(value: str) -> None:
    """From now on `value` never appears in a line, wherever it stands in it. Values under 8 characters are ignored."""
    if len(value) >= _SHORTEST_HIDDEN:
        _hidden_values.add(value)


def redact_text(text: str) -> str:
    """`text` with everything that looks like a secret, or is a known one, replaced."""
    for value in _hidden_values:
        if value in text:
            text = text.replace(value, HIDDEN)
    if "-" not in text and "://" not in text and "bearer" not in text.lower():
        return text  # nothing that the pattern could match: an id, a number, a word
    return _SECRET_TEXT.sub(HIDDEN, text)


def redact_line(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """A structlog processor: secrets out by key, by shape and by value, at any depth."""
    return {key: _redacted(key, value) for key, value in line.items()}


def configure(level: str = "info", fmt: str = "json", *, stream: TextIO | None = None) -> None:
    """Set up structlog and the standard library's logging alike; may be called again (the last call stands).

    `level` is one of LEVELS, `fmt` is "json" (one object a line) or "console". Other people's loggers pass from
    WARNING on, whatever `level` is: at INFO an HTTP client would log every address it calls.
    """
    target = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.format_exc_info,
        redact_line,
        structlog.processors.TimeStamper(fmt="iso", utc=True),  # behind the search for secrets, which costs more
    ]
    renderer = _renderer(fmt, target)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    _adopt_library_loggers(shared, renderer, target)


def get_logger(name: str) -> FilteringBoundLogger:
    """The logger of one part of the house; `name` stands in every line as `part`."""
    return cast(FilteringBoundLogger, structlog.get_logger(part=name))


def _renderer(fmt: str, target: TextIO) -> Processor:
    if fmt == "console":
        return structlog.dev.ConsoleRenderer(colors=target.isatty())
    encoder = json.JSONEncoder(ensure_ascii=False, default=str)  # one for all lines: json.dumps would make one for each
    return structlog.processors.JSONRenderer(serializer=lambda line, **_options: encoder.encode(line))


def _adopt_library_loggers(shared: list[Processor], renderer: Processor, target: TextIO) -> None:
    """Standard library loggers come out in our shape, and none keeps a handler of its own.

    lark_channel puts a handler for stdout on its logger when it is imported, which would mix its lines into the
    answers of commands. Called before that import, the handler is still to come: feishu.events takes it off again.
    """
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_library_line, *shared],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter)
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.WARNING)
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.split(".")[0] in ("Lark", "lark_channel", "lark_oapi"):
            logger.handlers[:] = []
            logger.propagate = True


def _library_line(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    record: logging.LogRecord = line["_record"]
    return {**line, "event": LIBRARY_LOGGED, "part": record.name, "text": str(line.get("event", ""))}


def _redacted(key: str, value: Any) -> Any:
    if key.startswith("_"):
        return value
    if value and _is_secret_key(key):
        return HIDDEN
    return _redacted_value(value)


@lru_cache(1024)
def _is_secret_key(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _redacted_value(value: Any) -> Any:
    match value:
        case str():
            return redact_text(value)
        case bytes():
            return f"{len(value)} bytes"
        case MutableMapping() | Mapping():
            return {str(key): _redacted(str(key), item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_redacted_value(item) for item in value]
        case BaseException():
            return redact_text(str(value))
        case _:
            return value
