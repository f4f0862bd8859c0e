"""`channels topic …`: begin an answer that nobody's message asked for, in the running service."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Open a topic on somebody's behalf, or wake one that is there."
)

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", envvar="CHANNELS_CONFIG", help="The settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]
Text = Annotated[str, typer.Option(help="What the agent is asked; - reads it from the standard input.")]
Key = Annotated[
    str, typer.Option(help="Names this request: the same again begins nothing new, and shows how far it is.")
]


@app.command()
def start(
    user: Annotated[str, typer.Option(help="For whom: a name, a user_id or an open_id.")],
    text: Text,
    chat: Annotated[str, typer.Option(help="The group's chat_id (default: the person's private chat).")] = "",
    agent: Annotated[str, typer.Option(help="Who answers (default: whoever answers this person there).")] = "",
    key: Key = "",
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Open a topic on somebody's behalf, with that person as the one it stands for."""
    values = {"user": user, "text": _text(text), "chat": chat, "agent": agent, "key": key}
    _tell(_ask(config, "topic_start", values), as_json)


@app.command()
def wake(
    text: Text,
    thread: Annotated[str, typer.Option(help="The topic's thread_id.")] = "",
    session: Annotated[str, typer.Option(help="Or the session's id.")] = "",
    nobody: Annotated[bool, typer.Option("--nobody", help="For nobody: the turn may change no code.")] = False,
    key: Key = "",
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Let the agent go on in a topic without a message."""
    values = {"text": _text(text), "thread": thread, "session": session, "nobody": nobody, "key": key}
    _tell(_ask(config, "topic_wake", values), as_json)


def _text(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _ask(config: Path | None, operation: str, arguments: dict[str, Any]) -> Any:
    from channels.cli.control_client import call_service
    from channels.cli.running import read_settings

    return call_service(read_settings(config, os.environ).control_socket, operation, arguments, timeout_s=30.0)


def _tell(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    state = answer["outcome"] or answer["state"]
    print(f"{answer['turn']}  {state}{'  (begun before)' if answer['again'] else ''}")
    print(f"key: {answer['key']}  session: {answer['session']}  topic: {answer['thread'] or '-'}")
    if answer["card"] not in ("", "pending", "done", "superseded"):
        print(f"its card cannot be seen: {answer['card']}")
