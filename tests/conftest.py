"""For all tests: the long folders come first, and nothing is left behind that raises when it is collected."""

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
# What takes longest for one test comes first: side by side, nobody then waits at the end for a single one.
FIRST = ("simulation", "bench", "crash", "browser", "conformance", "integration")
LEFT_BEHIND = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(HERE).parts[0], len(FIRST)))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """lark_channel makes an event loop when it is imported and never closes it."""
    client = sys.modules.get("lark_channel.ws.client")
    loop = getattr(client, "loop", None)
    if loop is not None and not loop.is_running():
        loop.close()
    told = getattr(session.config, "workeroutput", None)
    if told is not None:
        told["left_behind"] = left_behind()
    if session.config.stash.get(LEFT_BEHIND, []) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def left_behind() -> list[str]:
    """What raises when it is collected now. pytest looks for it too, but later: in a worker nobody hears it then."""
    found: list[str] = []
    usual = sys.unraisablehook
    sys.unraisablehook = lambda raised: found.append(f"{raised.exc_value!r} in {raised.object!r}")
    try:
        while gc.collect() and len(found) < 100:  # what a finaliser frees is collected in the next round
            pass
    finally:
        sys.unraisablehook = usual
    return found


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist has ended."""
    node.config.stash.setdefault(LEFT_BEHIND, []).extend(getattr(node, "workeroutput", {}).get("left_behind", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(LEFT_BEHIND, []):
        terminalreporter.write_line(f"ERROR left behind by the tests of a worker: {line}", red=True)
