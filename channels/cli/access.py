"""`channels access …`: who may do what, asked of and told to the running service, or to its file while none runs."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Who may use the bot, and who asks to.")

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", envvar="CHANNELS_CONFIG", help="The settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]
User = Annotated[str, typer.Argument(help="A name, a user_id, or id:… for somebody who has not written yet.")]
Request = Annotated[str, typer.Argument(help="The request's id, or the person who asks.")]
Switches = Annotated[
    list[str] | None, typer.Argument(help="chat, wiki_read, wiki_write, code_write, admin (default: chat).")
]
Hours = Annotated[float | None, typer.Option(help="For so many hours only.")]
Messages = Annotated[int | None, typer.Option(help="For so many messages only.")]


@app.command("list")
def list_people(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show who may do what."""
    answer = _ask(config, "access_list", {}, as_json)
    if answer is None:
        return
    print(f"mode: {answer['mode']}")
    for user_id in answer["admins_by_config"]:
        print(f"{user_id}  admin by the settings file")
    for person in answer["people"]:
        print(_grant_line(person))


@app.command()
def requests(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show who waits to be let in."""
    answer = _ask(config, "access_requests", {}, as_json)
    if answer is None:
        return
    for one in answer["requests"]:
        until = _moment(one["expires_at"])
        print(_plain(f"{one['request_id']}  {_who(one)}  messages: {one['messages']}  until {until}"))
    if not answer["requests"]:
        print("nobody is waiting")


@app.command()
def grant(
    user: User,
    switches: Switches = None,
    hours: Hours = None,
    messages: Messages = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Let somebody in, or give switches."""
    values = {"user": user, "switches": switches or [], "hours": hours, "messages": messages}
    answer = _ask(config, "access_grant", values, as_json)
    if answer is not None:
        print(_grant_line(answer))


@app.command()
def revoke(user: User, switches: Switches = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Take switches away, or everything where none is named."""
    answer = _ask(config, "access_revoke", {"user": user, "switches": switches or []}, as_json)
    if answer is not None:
        print(_grant_line(answer))


@app.command()
def approve(
    request: Request,
    switches: Switches = None,
    hours: Hours = None,
    messages: Messages = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Agree to a request; the messages that wait for it are answered."""
    values = {"request": request, "switches": switches or [], "hours": hours, "messages": messages}
    answer = _ask(config, "access_approve", values, as_json)
    if answer is not None:
        print(f"{_who(answer)} was let in; messages answered now: {answer['released']}")


@app.command()
def deny(request: Request, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Decline a request; the messages that wait for it stay unanswered."""
    answer = _ask(config, "access_deny", {"request": request}, as_json)
    if answer is not None:
        print(f"{_who(answer)} was declined")


@app.command("claim-code")
def claim_code(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Print a code that makes whoever sends it to the bot, in a private chat, an admin. Works once."""
    answer = _ask(config, "access_claim_code", {}, as_json)
    if answer is not None:
        print(answer["code"])
        print(f"Send this to the bot in a private chat before {_moment(answer['expires_at'])}.")


def _ask(config: Path | None, operation: str, arguments: dict[str, Any], as_json: bool) -> Any:
    """The answer; None once it was printed as JSON."""
    import json

    from channels.cli.control_client import NotRunning, call_service
    from channels.cli.running import read_settings

    settings = read_settings(config, os.environ)
    try:
        answer = call_service(settings.control_socket, operation, arguments)
    except NotRunning:
        from channels.cli.closed_access import ask_file

        answer = ask_file(settings, operation, arguments)
    if not as_json:
        return answer
    print(json.dumps(answer, ensure_ascii=False, indent=2))
    return None


def _grant_line(person: dict[str, Any]) -> str:
    words = [person["user_id"], person["name"], ", ".join(person["switches"]) or "nothing"]
    words += [f"until {_moment(person['until'])}"] if person["until"] is not None else []
    words += [f"messages left: {person['messages_left']}"] if person["messages_left"] is not None else []
    return _plain("  ".join(word for word in words if word))


def _who(person: dict[str, Any]) -> str:
    """The name with the id behind it: people choose their names themselves."""
    return _plain(f"{person['name']} ({person['user_id']})" if person["name"] else str(person["user_id"]))


def _plain(text: str) -> str:
    """One line that moves no cursor and hides nothing, whatever people have called themselves."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
