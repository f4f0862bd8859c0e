"""Errors → one line for a person, and an exit code. What is not listed here is a defect and keeps its traceback."""

from channels.errors import ChannelsError, ConfigError, Refused, StartRefused

OK, CHECK_FAILED, USAGE, REFUSED = 0, 1, 2, 3


class CheckFailed(ChannelsError):
    """A command did its work and the answer is no. The text says what was found and what to do."""


def explain(error: BaseException) -> tuple[str, int] | None:
    """The line for stderr and the exit code, or None for a defect. Of a group, the first member that has one."""
    match error:
        case BaseExceptionGroup():
            return next((found for inner in error.exceptions if (found := explain(inner))), None)
        case ConfigError():
            return f"configuration: {error}. Nothing was changed.", USAGE
        case StartRefused():
            return f"refused: {_ended(str(error))} Nothing was changed.", REFUSED
        case Refused():
            return f"refused: {error.user_text} ({error.code})", REFUSED
        case ChannelsError():
            return str(error), CHECK_FAILED
        case OSError():
            place = f" ({error.filename})" if error.filename else ""
            return f"the system said no: {error.strerror or error}{place}", CHECK_FAILED
        case _:
            return None


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
