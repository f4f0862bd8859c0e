"""`channels sessions …`: conversations, looked at, put away and deleted."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from channels.cli.either import ask_either, print_json

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Conversations: look, archive, delete.")

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", envvar="CHANNELS_CONFIG", help="The settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]
SessionArgument = Annotated[str, typer.Argument(help="The session's id, as `channels sessions list` shows it.")]

SAID = {"user/message": "person", "assistant/message": "agent"}


@app.command("list")
def list_sessions(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many at most.")] = 50,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the latest active conversations."""
    answer = _ask(config, "session_list", {"limit": limit}, as_json)
    if answer is None:
        return
    for one in answer["sessions"]:
        tokens = one["input_tokens"] + one["output_tokens"]
        mark = "  archived" if one["archived_at"] is not None else ""
        begin = " ".join(one["began_with"].split())[:60]
        print(
            f"{one['session_id']}  {_moment(one['last_at'])}  {one['user_id']}  {one['agent']}  "
            f"answers: {one['turns']}, tokens: {tokens}{mark}  {begin}"
        )
    if not answer["sessions"]:
        print("there is no conversation yet")


@app.command()
def show(session: SessionArgument, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show one conversation and the end of its log."""
    answer = _ask(config, "session_show", {"session": session}, as_json)
    if answer is None:
        return
    state = "deleted" if answer["deleted_at"] else "archived" if answer["archived_at"] else "open"
    print(f"{answer['session_id']}  {answer['user_id']}  {answer['agent']}  {state}  {answer['folder'] or '-'}")
    if answer["earlier"]:
        print("…")
    for entry in answer["log"]:
        text = f": {entry['body'].get('text', '')}" if entry["kind"] in SAID else ""
        print(f"{entry['number']}  {_moment(entry['at'])}  {SAID.get(entry['kind'], entry['kind'])}{text}")


@app.command()
def archive(session: SessionArgument, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Put a conversation away: its log stays, and it takes no more questions."""
    answer = _ask(config, "session_archive", {"session": session}, as_json)
    if answer is not None:
        print(f"{session} is archived" if answer["changed"] else f"{session} was archived already")


@app.command()
def unarchive(session: SessionArgument, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Take a conversation out again."""
    answer = _ask(config, "session_unarchive", {"session": session}, as_json)
    if answer is not None:
        print(f"{session} may be gone on with" if answer["changed"] else f"{session} was not archived")


@app.command()
def delete(
    session: SessionArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Delete what was said in a conversation, for good. Files in its folder and what was used stay."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("nobody can be asked here: give --yes to delete", param_hint="--yes")
        typer.confirm(f"Delete everything that was said in {session}? It cannot be brought back", abort=True)
    answer = _ask(config, "session_delete", {"session": session}, as_json)
    if answer is not None:
        print(f"{session} is deleted")


def _ask(config: Path | None, operation: str, arguments: dict[str, Any], as_json: bool) -> Any:
    """The answer; None once it was printed as JSON."""
    answer = ask_either(config, operation, arguments)
    if not as_json:
        return answer
    print_json(answer)
    return None


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
