"""Time zones by name, as the machine's own list has them; UTC is always there."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def find_time_zone(name: str) -> tzinfo:
    """Raises ValueError for a name that this machine does not know."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"no time zone {name!r} on this machine") from error


def is_time_zone(name: str) -> bool:
    try:
        find_time_zone(name)
    except ValueError:
        return False
    return True
