"""The bots of a bench and how they are started."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.processes import Bot, Stage, bot, stage
from tests.bench.sizes import Sizes

_SETTINGS = """
[feishu]
app_id = "cli_emulator"
app_secret = "file:secret"
domain = "{url}"
rate_limits = false

[store]
path = "{name}.db"

[turns]
max_running = {max_running}

[agents.{agent}]
{agent_lines}

[web]
port = 0
"""


@dataclass(slots=True)
class Ring:
    """Two stages, so that both sides may stay connected while they take turns, and a folder for files and logs."""

    folder: Path
    ours: Stage
    theirs: Stage
    _names: Iterator[int]

    @contextmanager
    def service(self, *, max_running: int = 64, model_url: str = "") -> Iterator[Bot]:
        """`channels run` as an operator starts it, on a new domain file; with the demo agent, or a model's endpoint."""
        name = f"ours-{next(self._names)}"
        lines = f'kind = "openai"\nbase_url = "{model_url}"\nmodel = "fake"' if model_url else 'kind = "demo"'
        (self.folder / "secret").write_text("secret")
        file = self.folder / f"{name}.toml"
        file.write_text(
            _SETTINGS.format(
                url=self.ours.url,
                name=name,
                max_running=max_running,
                agent="model" if model_url else "demo",
                agent_lines=lines,
            )
        )
        command = ("-m", "channels", "run", "--config", str(file))
        with bot(self.ours, *command, log=self.folder / f"{name}.log") as running:
            yield running

    @contextmanager
    def official(self, script: str = "official_ws") -> Iterator[Bot]:
        """One of the official clients' scripts."""
        command = ("-m", f"tests.bench.{script}", self.theirs.url)
        with bot(self.theirs, *command, log=self.folder / f"{script}.log") as running:
            yield running


Measure = Callable[[Ring, Sizes], Iterator[Figure]]


@contextmanager
def ring(folder: Path) -> Iterator[Ring]:
    """Both emulators, started and empty."""
    with ExitStack() as open_stages:
        ours, theirs = (open_stages.enter_context(stage()) for _ in range(2))
        yield Ring(folder, ours, theirs, count(1))


def say(line: str) -> None:
    """What the bench is doing now, for whoever waits: on stderr, since stdout belongs to the table."""
    print(line, file=sys.stderr, flush=True)
