"""Errors → one line for a person, and an exit code. What is not listed here is a defect and keeps its traceback."""

import errno
import sys

from channels.errors import ChannelsError, ConfigError, Refused, StartRefused

OK, CHECK_FAILED, USAGE, REFUSED = 0, 1, 2, 3
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
_PASSING_SQLITE = frozenset({10, 13})  # SQLITE_IOERR, SQLITE_FULL


class CheckFailed(ChannelsError):
    """A command did its work and the answer is no. The text says what was found and what to do."""


def explain(error: BaseException) -> tuple[str, int] | None:
    """The line for stderr and the exit code, or None for a defect. Of a group, the first member that has one."""
    match error:
        case BaseExceptionGroup():
            return next((found for inner in error.exceptions if (found := explain(inner))), None)
        case ConfigError():
            return f"configuration: {error}. Nothing was changed.", USAGE
        case StartRefused() if _may_pass(error.__cause__):  # whoever supervises us has to try again
            return f"cannot start: {_ended(str(error))}", CHECK_FAILED
        case StartRefused():
            return f"refused: {_ended(str(error))} Nothing was changed.", REFUSED
        case Refused():
            return f"refused: {error.user_text} ({error.code})", REFUSED
        case ChannelsError():
            return str(error), CHECK_FAILED
        case OSError():
            place = f" ({error.filename})" if error.filename else ""
            return f"the system said no: {error.strerror or error}{place}", CHECK_FAILED
        case Exception() if _is_sqlite(error) and _may_pass(error):
            return f"the disk does not take the domain file ({error}): free some room and start again.", CHECK_FAILED
        case _:
            return None


def _may_pass(cause: BaseException | None) -> bool:
    """Whether the disk is at fault, and may be well again without anybody changing anything here."""
    match cause:
        case OSError():
            return cause.errno in _PASSING
        case Exception() if _is_sqlite(cause):
            return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _PASSING_SQLITE
        case _:
            return False


def _is_sqlite(error: BaseException) -> bool:
    """Whether it is SQLite's; a command that never imported it (`--help`) should not have to."""
    sqlite3 = sys.modules.get("sqlite3")
    return sqlite3 is not None and isinstance(error, sqlite3.Error)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
