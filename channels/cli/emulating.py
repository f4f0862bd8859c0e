"""`channels emulator`: the Feishu Open Platform emulator alone, for a service in another process."""

import asyncio
from typing import TYPE_CHECKING

from channels.cli.demo import start_emulator
from channels.cli.signals import stop_on_signals

if TYPE_CHECKING:
    from channels.emulator import Emulator


def run_emulator(host: str, port: int, *, time_scale: float, rate_limits: bool) -> None:
    """Run until a signal. Raises ConfigError when the port is taken."""
    from channels.emulator import Emulator, EmulatorSettings

    settings = EmulatorSettings(time_scale=time_scale, rate_limits=rate_limits)
    asyncio.run(_run(Emulator(settings), host, port))


async def _run(emulator: "Emulator", host: str, port: int) -> None:
    stop = asyncio.Event()
    await start_emulator(emulator, host, port, port)
    try:
        with stop_on_signals(stop):
            settings = emulator.settings
            print(f"The emulator's API and chat page: {emulator.url}")
            print(f'app_id = "{settings.app_id}", app_secret "{settings.app_secret}", domain = "{emulator.url}"')
            print("Ctrl-C ends it.", flush=True)
            await stop.wait()
    finally:
        await emulator.stop()
