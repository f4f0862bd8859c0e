"""One warm parent for all tests of a module that fork from it: it imports for a second before it can."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.crash.children import WarmParent


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def parent() -> AsyncIterator[WarmParent]:
    started = await WarmParent.start()
    yield started
    await started.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who uses it runs in its loop."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "parent" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)
