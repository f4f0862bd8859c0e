"""What aiohttp's HTTP machinery logs, without what peers do wrong: what is no request gets its 400 and no traceback.

Anybody who reaches the port could fill the log otherwise (tests/unit/outside/test_health_web.py).
"""

import logging

from aiohttp.http_exceptions import HttpProcessingError


def http_log(name: str) -> logging.Logger:
    """The logger for one server's machinery."""
    found = logging.getLogger(f"channels.http.{name}")
    if not found.filters:
        found.addFilter(_is_ours)
    return found


def _is_ours(record: logging.LogRecord) -> bool:
    fault = record.exc_info[1] if record.exc_info else None
    return not isinstance(fault, HttpProcessingError)
