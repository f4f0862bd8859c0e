"""An emulator in another process, and official clients in further ones."""

from collections.abc import Callable, Iterator

import pytest

from tests.conformance.processes import Control, Script

Start = Callable[..., Script]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start scripts; all are stopped at the end."""
    scripts: list[Script] = []

    def start_script(name: str, *arguments: str) -> Script:
        scripts.append(Script(name, *arguments))
        return scripts[-1]

    yield start_script
    for script in reversed(scripts):
        script.stop()


@pytest.fixture
def emulator(start: Start) -> Control:
    return Control(start("emulator_process.py").line()["url"])
