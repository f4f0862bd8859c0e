"""The command line against the service of a house: the same process, another thread, a settings file of its own."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from typer.testing import CliRunner, Result

from channels.cli.commands import app
from channels.cli.faults import explain
from tests.integration.house import House, settings_of


async def run_command(house: House, *arguments: str) -> Result:
    """What `channels ARGUMENTS --config FILE` did; faults are in `exception`, as `channels.cli.main` gets them."""
    file = house.folder / "channels.toml"
    file.write_text(toml_of(settings_of(house.emulator.url, house.folder, **house.sections)))

    def invoke() -> Result:
        return CliRunner().invoke(app, [*arguments, "--config", str(file)])

    return await asyncio.to_thread(invoke)


async def output_of(house: House, *arguments: str) -> str:
    """The same where it has to succeed: what it printed."""
    done = await run_command(house, *arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


async def json_of(house: House, *arguments: str) -> Any:
    """What it printed with --json."""
    return json.loads(await output_of(house, *arguments, "--json"))


async def refusal_of(house: House, *arguments: str) -> tuple[str, int]:
    """The same where it has to fail in an expected way: the line for people, and the exit code."""
    done = await run_command(house, *arguments)
    explained = explain(done.exception) if done.exception is not None else None
    assert explained is not None, (done.output, done.exception)
    return explained


def toml_of(settings: Mapping[str, Any]) -> str:
    """Settings as a file."""
    lines = []
    for name, section in settings.items():
        nested = {key: value for key, value in section.items() if isinstance(value, dict)}
        lines += [f"[{name}]"] if len(nested) < len(section) else []
        lines += [f"{key} = {json.dumps(value)}" for key, value in section.items() if key not in nested]
        for inner, values in nested.items():
            lines += [f"[{name}.{inner}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines)
