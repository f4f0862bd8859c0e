"""Fixtures: the whole service with the fake agent in subprocesses, and what that agent says about itself."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from tests.conformance.agents import fake_acp
from tests.conformance.agents.acp_signals import Signals


@pytest_asyncio.fixture
async def signals(tmp_path: Path) -> AsyncIterator[Signals]:
    async with Signals(tmp_path / "signals") as made:
        yield made


def acp_sections(folder: Path, signals: Signals, **changes: Any) -> dict[str, dict[str, Any]]:
    """The sections of the settings that have the fake agent answer, under the name "demo" that the house knows."""
    home = folder / "agent"
    home.mkdir(exist_ok=True)
    agent = {
        "kind": "acp",
        "command": [sys.executable, "-I", "-S", str(fake_acp.__file__)],
        "env": {"FAKE_ACP_HOME": str(home), "FAKE_ACP_SIGNALS": str(signals.path)},
        "cancel_timeout_s": 5.0,
    }
    return {"agents": {"demo": agent | changes}, "cards": {"frame_gaps_ms": [0, 100]}}
