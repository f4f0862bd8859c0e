"""For all tests: one thing that an imported library leaves open."""

import sys

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    """lark_channel makes an event loop when it is imported and never closes it."""
    client = sys.modules.get("lark_channel.ws.client")
    loop = getattr(client, "loop", None)
    if loop is not None and not loop.is_running():
        loop.close()
