"""For all tests: the long folders come first, and one thing that an imported library leaves open."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# What takes longest for one test comes first: side by side, nobody then waits at the end for a single one.
FIRST = ("simulation", "bench", "crash", "browser", "conformance", "integration")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(HERE).parts[0], len(FIRST)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """lark_channel makes an event loop when it is imported and never closes it."""
    client = sys.modules.get("lark_channel.ws.client")
    loop = getattr(client, "loop", None)
    if loop is not None and not loop.is_running():
        loop.close()
