"""`channels demo`: emulator, service and demo agent in one process, on the loopback, with nothing set up."""

import asyncio
import errno
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from channels import logs
from channels.cli.conversation import Answer, ask, find_speaker
from channels.cli.faults import CheckFailed
from channels.cli.running import Serve
from channels.cli.signals import stop_on_signals
from channels.config import Secret, Settings, build_settings
from channels.errors import ConfigError

if TYPE_CHECKING:
    from channels.emulator import Emulator

ADMIN = "u_zhang_san"  # of the emulator's people
HOST, USUAL_PORT = "127.0.0.1", 8790
_READY_LIMIT_S = 20.0
_DRAIN_S = 1.0  # nobody waits for a demo to end


@dataclass(frozen=True, slots=True)
class Demo:
    """What the command line asked for. `data` None: a temporary folder; `port` None: the usual one or any."""

    say: str | None = None
    port: int | None = None
    data: Path | None = None
    user: str | None = None
    language: str = "zh"
    wait_s: float = 30.0
    verbose: bool = False


def usual_language(environ: Mapping[str, str]) -> str:
    """The language of this terminal's user: zh where the locale is Chinese, else en."""
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


def run_demo(demo: Demo) -> None:
    """Run until a signal, or until the answer to `demo.say` is printed. Raises CheckFailed when none comes."""
    logs.configure("info" if demo.verbose else "error", "console")
    from channels.app import serve  # before the loop runs: lark_channel would break a running one
    from channels.emulator import Emulator

    with _data_folder(demo.data) as folder:
        answer = asyncio.run(_run(demo, folder, Emulator(), serve))
    if answer is None:
        return
    print(answer.text)
    if answer.failed:
        raise CheckFailed("the turn ended with a failure; the text above says which.")


def demo_settings(url: str, folder: Path, secret: Secret, language: str) -> Settings:
    """The demo agent and the emulator at `url`, with an admin; everything else by default, and the environment is not
    asked."""
    values: dict[str, Any] = {
        "feishu": {"app_id": "cli_emulator", "app_secret": secret, "domain": url},
        "store": {"path": str(folder / "channels.db")},
        "ui": {"language": language},
        "access": {"admins": [ADMIN]},
        "agents": {"demo": {"kind": "demo"}},
        "turns": {"drain_s": _DRAIN_S},
        "web": {"enabled": False},
    }
    return build_settings(values, folder)


async def _run(demo: Demo, folder: Path, emulator: "Emulator", serve: Serve) -> Answer | None:
    speaker = find_speaker(emulator, demo.user)
    await start_emulator(emulator, HOST, demo.port, USUAL_PORT)
    try:
        settings = demo_settings(emulator.url, folder, Secret(emulator.settings.app_secret), demo.language)
        stop, ready = asyncio.Event(), asyncio.Event()
        with stop_on_signals(stop):
            # no TaskGroup: a failing question must not cancel the service, which stops in its own order
            serving = asyncio.create_task(serve(settings, stop=stop, ready=lambda _what: ready.set()))
            try:
                await _wait_until_ready(ready, serving)
                return await _converse(demo, emulator, speaker, stop)
            finally:
                stop.set()
                await serving
    finally:
        await emulator.stop()


async def _converse(demo: Demo, emulator: "Emulator", speaker: str, stop: asyncio.Event) -> Answer | None:
    if demo.say is not None:
        return await ask(emulator, demo.say, speaker, demo.wait_s)
    print(f"Open {emulator.url} and write to the bot. Say `demo` (演示) to it: it answers with what it can show.")
    print("Ctrl-C ends it.", flush=True)
    await stop.wait()
    return None


async def _wait_until_ready(ready: asyncio.Event, serving: asyncio.Task[None]) -> None:
    """Until the service is connected; when it ends instead, its own error is the one that counts."""
    waiting = asyncio.create_task(ready.wait())
    done, _ = await asyncio.wait({waiting, serving}, timeout=_READY_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if serving in done:
        serving.result()
    if not done:
        raise CheckFailed(f"the service was not ready within {_READY_LIMIT_S:g} s; --verbose shows its log.")


async def start_emulator(emulator: "Emulator", host: str, port: int | None, usual: int) -> None:
    """Listen on `port`, or on the usual one and else on any. Raises ConfigError when an asked-for port is taken."""
    try:
        await emulator.start(host, usual if port is None else port)
    except OSError as error:
        await emulator.stop()
        if error.errno != errno.EADDRINUSE:
            raise
        if port is not None:
            raise ConfigError("--port", f"{port} is in use by another program; choose another one (0: any)") from None
        await emulator.start(host, 0)


@contextmanager
def _data_folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="channels-demo-") as name:
        yield Path(name)
