"""An emulator alone in its process: prints its URL as one JSON line, runs until standard input ends."""

import asyncio
import json
import sys

from channels.emulator import Emulator, EmulatorSettings


async def main() -> None:
    emulator = Emulator(EmulatorSettings())
    url = await emulator.start()
    emulator.sockets.behaviour.client_config |= {"ReconnectNonce": 1, "ReconnectInterval": 1}
    sys.stdout.write(json.dumps({"url": url}) + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await emulator.stop()


if __name__ == "__main__":
    asyncio.run(main())
