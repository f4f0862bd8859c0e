"""What an agent says of itself: `initialize` alone, in a process of its own."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

LIMIT_S = 120.0
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "feishu-channels-tests", "version": "0"},
    },
}


async def introduce(command: list[str], environment: dict[str, str], folder: Path) -> dict[str, Any]:
    """Its protocol version, capabilities and name, and how long that took."""
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        limit=2**24,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        async with asyncio.timeout(LIMIT_S):
            async for line in process.stdout:
                if line.startswith(b"{") and "result" in (said := json.loads(line)):
                    return _card(said["result"], time.monotonic() - started)
        raise RuntimeError(f"it ended without saying anything: {command[0]}")
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _card(result: dict[str, Any], seconds: float) -> dict[str, Any]:
    return {
        "protocol_version": result.get("protocolVersion"),
        "says": result.get("agentInfo") or {},
        "capabilities": result.get("agentCapabilities") or {},
        "login_methods": [each.get("id") for each in result.get("authMethods") or ()],
        "initialize_s": round(seconds, 1),
    }
