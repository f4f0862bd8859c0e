"""`channels settlement …` and `channels quota …`: asked of and told to the running service, or its file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from channels.cli.either import ask_either, print_json

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What waits to be booked, and control over it.")
quota = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What people may use, and have used.")

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", envvar="CHANNELS_CONFIG", help="The settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]
Key = Annotated[str, typer.Argument(help="The key, as `channels settlement status` shows it.")]
User = Annotated[str, typer.Argument(help="A name, a user_id, or id:… for somebody who has not written yet.")]
Generation = Annotated[
    int | None, typer.Option(help="The control generation that you have seen; without it nothing is tried.")
]
LIMITS = ("turns_per_day", "turns_per_month", "tokens_per_day", "tokens_per_month")


@app.command()
def status(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show what waits, what has ended, and who is stopped. Changes nothing, whatever the file is like."""
    answer = ask_either(config, "settlement_status", {})
    if as_json:
        print_json(answer)
        return
    print(f"{'paused' if answer['paused'] else 'running'}  generation: {answer['generation']}")
    for one in answer["pending"]:
        error = f"  {one['last_error']}" if one["last_error"] else ""
        handle, tried = f"{one['key']}  {one['payload_hash']}", f"attempts: {one['attempts']}"
        print(f"pending  {handle}  {one['state']}  {tried}  until {_moment(one['deadline'])}{error}")
    for one in answer["history"]:
        print(f"ended    {one['key']}  {one['state']}  {one['way'] or '-'}  {_moment(one['retired_at'])}")
    for one in answer["stops"]:
        print(f"stopped  {one['session_hash']}  {one['reason']}")
    for one in answer["owed_stops"]:
        print(f"stopping {one['session_hash']}  {one['state']}  submissions: {one['submissions']}  {one['why']}")


@app.command()
def apply(
    key: Key,
    payload_hash: Annotated[str, typer.Argument(help="Its payload hash, from the same status.")],
    generation: Generation = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Try one settlement now; one that has ended is only read back."""
    arguments = {"key": key, "payload_hash": payload_hash, "generation": generation}
    answer = ask_either(config, "settlement_apply", arguments)
    if as_json:
        print_json(answer)
        return
    before = " before" if answer["duplicate"] else ""
    print(f"{key}  {answer['fact']['state']}{before}")


@app.command()
def stop(
    session: Annotated[str | None, typer.Option(help="The session's id.")] = None,
    key: Annotated[str | None, typer.Option(help="A settlement of the session.")] = None,
    payload_hash: Annotated[str | None, typer.Option(help="The payload hash that goes with the key.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Stop exactly one session for ever: by its id, or by a key and its payload hash; never by both."""
    given = {"session_id": session, "key": key, "payload_hash": payload_hash}
    arguments = {name: value for name, value in given.items() if value is not None}
    _say(ask_either(config, "settlement_stop", arguments), as_json, "stopped", "was stopped already")


@app.command()
def pause(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Book nothing until somebody resumes; what waits is kept, deadlines run on."""
    _say(ask_either(config, "settlement_pause", {}), as_json, "paused", "was paused already")


@app.command()
def resume(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Go on after a pause."""
    _say(ask_either(config, "settlement_resume", {}), as_json, "resumed", "was not paused")


@quota.command("list")
def list_accounts(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show the default, who has limits of their own, and what was used this month."""
    answer = ask_either(config, "quota_list", {})
    if as_json:
        print_json(answer)
        return
    print(f"default  {_limits(answer['default'])}")
    for one in answer["people"]:
        print(_account(one))
    used = answer["usage"]["month"]
    print(f"this month altogether: turns {used['turns']}, tokens {used['input_tokens'] + used['output_tokens']}")


@quota.command()
def show(user: User, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show one person's limits and use."""
    _tell(ask_either(config, "quota_show", {"user": user}), as_json)


@quota.command("set")
def set_limits(
    user: User,
    turns_per_day: Annotated[int | None, typer.Option(min=0, help="Questions in a day; 0: no limit.")] = None,
    turns_per_month: Annotated[int | None, typer.Option(min=0, help="Questions in a month; 0: no limit.")] = None,
    tokens_per_day: Annotated[int | None, typer.Option(min=0, help="Tokens in a day; 0: no limit.")] = None,
    tokens_per_month: Annotated[int | None, typer.Option(min=0, help="Tokens in a month; 0: no limit.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Set limits for one person; what is not named stays as it is."""
    given = (turns_per_day, turns_per_month, tokens_per_day, tokens_per_month)
    arguments = {name: value for name, value in zip(LIMITS, given, strict=True) if value is not None}
    _tell(ask_either(config, "quota_set", {"user": user, **arguments}), as_json)


@quota.command()
def clear(user: User, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Let the settings decide for one person again."""
    _tell(ask_either(config, "quota_clear", {"user": user}), as_json)


def _say(answer: dict[str, Any], as_json: bool, done: str, before: str) -> None:
    if as_json:
        print_json(answer)
        return
    ended = f"  settlements that ended with it: {answer['retired']}" if answer["retired"] else ""
    print(f"{done if answer['changed'] else before}  generation: {answer['generation']}{ended}")


def _tell(account: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(account)
    else:
        print(_account(account))


def _account(one: dict[str, Any]) -> str:
    used = one["used_this_month"]
    own = "own limits" if any(value is not None for value in one["own"].values()) else "default"
    tokens = used["input_tokens"] + used["output_tokens"]
    who = f"{one['user_id'] or '(nobody)'}  {one['name']}".rstrip()
    return f"{who}  {own}: {_limits(one['limits'])}  this month: turns {used['turns']}, tokens {tokens}"


def _limits(limits: dict[str, Any]) -> str:
    return ", ".join(f"{name} {'no limit' if limits[name] is None else limits[name]}" for name in LIMITS)


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
