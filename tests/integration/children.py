"""Starting, waiting for and killing `child` processes from a test; the emulator stays in the test's own process."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.integration.child import KillPoint

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 30.0


class Child:
    """One service process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(
        cls,
        folder: Path,
        settings: dict[str, Any],
        *kill: KillPoint,
        ready: bool = True,
        trace: Path | None = None,
        asking: bool = False,
    ) -> "Child":
        """Start it on these settings; `ready` waits until it is connected (or dead). `asking`: an agent that asks."""
        file = folder / "child.json"
        file.write_text(json.dumps(settings))
        arguments = [part for point in kill for part in ("--kill", str(point))]
        if trace is not None:
            arguments += ["--trace", str(trace)]
        arguments += ["--asking"] if asking else []
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.integration.child",
            str(file),
            *arguments,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        child = cls(process)
        if ready:
            assert process.stdout is not None
            async with asyncio.timeout(LIMIT_S):
                await process.stdout.readline()
        return child

    async def died(self) -> None:
        """Wait until it was killed by SIGKILL."""
        async with asyncio.timeout(LIMIT_S):
            code = await self.process.wait()
        assert code == -signal.SIGKILL, f"ended with {code}"

    async def kill(self) -> None:
        """SIGKILL, now."""
        self.process.send_signal(signal.SIGKILL)
        await self.died()

    async def stop(self) -> None:
        """Let it end cleanly; kill it when it does not."""
        if self.process.returncode is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            try:
                async with asyncio.timeout(LIMIT_S):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
