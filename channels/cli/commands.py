"""Every command, its options and its help. The work is done by the module that each command imports when it runs."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from channels.cli.access import app as access
from channels.cli.demo_words import DemoCommand
from channels.cli.faults import explain
from channels.cli.importing import no_collector
from channels.cli.sessions import app as sessions
from channels.cli.settlement import app as settlement
from channels.cli.settlement import quota
from channels.cli.topic import app as topic

DEMO_PORT, EMULATOR_PORT = 8790, 8800

app = typer.Typer(
    name="channels",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Connect a Feishu (Lark) bot to AI agents: no message lost, none answered twice, no dead card.",
    epilog="Exit codes: 0 ok, 1 a check failed, 2 usage or configuration, 3 refused.",
)

web = typer.Typer(no_args_is_help=True, help="The admin page.")
app.add_typer(web, name="web")
app.add_typer(access, name="access")
app.add_typer(sessions, name="sessions")
app.add_typer(settlement, name="settlement")
app.add_typer(quota, name="quota")
app.add_typer(topic, name="topic")

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="CHANNELS_CONFIG",
        help="The settings file (config/example.toml shows every key). Without one, CHANNELS_* variables alone count.",
    ),
]


def main() -> None:
    """Run one command and leave with its exit code; an expected fault is one line on stderr."""
    try:
        app()
    except Exception as error:
        explained = explain(error)
        if explained is None:
            raise
        line, code = explained
        print(f"channels: {line}", file=sys.stderr)
        sys.exit(code)


def _say_version(asked: bool) -> None:
    if asked:
        from channels import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_say_version)
    ] = False,
) -> None: ...


@app.command()
def run(config: ConfigFile = None) -> None:
    """Run the service until SIGTERM or Ctrl-C; a second signal leaves at once."""
    with no_collector():
        from channels.cli.running import run_service

    run_service(config, os.environ)


@app.command(cls=DemoCommand)
def demo(
    say: Annotated[str | None, typer.Option(help="Say TEXT to the bot, print its answer and leave.")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help=f"Port of the chat page (default: {DEMO_PORT}, or any free one)."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder for the domain file. Without it a temporary one, removed at the end.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Who speaks with --say: a name of the demo's people.")] = None,
    language: Annotated[
        str | None, typer.Option(help="zh or en: language of the cards (default: zh where LANG is Chinese).")
    ] = None,
    wait: Annotated[float, typer.Option(min=1, help="Seconds that --say waits for the answer.")] = 30.0,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the log.")] = False,
) -> None:
    """Try the whole product with no account, no key and no network: a chat page on which the bot answers."""
    from channels.cli.demo import Demo, run_demo, usual_language

    run_demo(
        Demo(
            say=say,
            port=port,
            data=data,
            user=user,
            language=language or usual_language(os.environ),
            wait_s=wait,
            verbose=verbose,
        )
    )


@app.command()
def init(
    config: Annotated[
        Path, typer.Option("--config", "-c", envvar="CHANNELS_CONFIG", help="The settings file to make or to change.")
    ] = Path("channels.toml"),
    scan: Annotated[bool, typer.Option("--scan", help="Make a new app by scanning a code.")] = False,
    app_id: Annotated[str | None, typer.Option(help="Use this app.")] = None,
    app_secret_from: Annotated[
        str | None, typer.Option(help="Where its secret is now: env:NAME or file:PATH. It is copied to a file (0600).")
    ] = None,
    domain: Annotated[str | None, typer.Option(help="feishu, lark, or an address that speaks the same API.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    check: Annotated[bool, typer.Option("--doctor/--no-doctor", help="Check everything at the end.")] = True,
) -> None:
    """Make a bot: by scanning a code, or with an app that exists. Run again, it changes only what is asked."""
    from channels.cli.init import set_up
    from channels.cli.init_choices import Wishes

    wishes = Wishes(
        config=config,
        scan=scan,
        app_id=app_id,
        secret_from=app_secret_from,
        domain=domain,
        ask=not yes and sys.stdin.isatty(),
        doctor=check,
        claim_code=has_group("access"),
    )
    set_up(wishes, os.environ)


def has_group(name: str) -> bool:
    """Whether there are commands `channels NAME …`."""
    return any(
        name in (each.name, each.typer_instance and each.typer_instance.info.name) for each in app.registered_groups
    )


@app.command("check-config")
def check_config(
    config: ConfigFile = None,
    show: Annotated[bool, typer.Option("--show", help="Print every setting as it will be used.")] = False,
) -> None:
    """Check the settings, the secrets they refer to and the places they name. Changes nothing."""
    from channels.cli.checking import check_settings

    check_settings(config, os.environ, show=show)


@app.command()
def status(
    config: ConfigFile = None,
    socket: Annotated[
        Path | None, typer.Option(help="The control socket, instead of finding it by the settings.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Ask the running service how it is."""
    from channels.cli.asking import show_status

    show_status(config, socket, os.environ, as_json=as_json)


@app.command()
def doctor(
    config: ConfigFile = None,
    invariants: Annotated[
        bool, typer.Option("--invariants", help="Also ask the domain file everything that must hold of it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Check the whole set-up: what is wrong, and how to mend it. Changes nothing; exit code 1 when a check fails."""
    from channels.cli.doctor import examine

    examine(config, os.environ, invariants=invariants, as_json=as_json)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy goes; a file that exists is never overwritten.")],
    config: ConfigFile = None,
) -> None:
    """Copy the domain file, checked, while the service runs or while none does."""
    from channels.cli.backup import back_up

    back_up(config, file, os.environ)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="The copy to put back.")],
    config: ConfigFile = None,
) -> None:
    """Put a copy back in the place of the domain file, which is kept; the service must be stopped."""
    from channels.cli.restore import restore as put_back

    put_back(config, file, os.environ)


@web.command("link")
def web_link(
    config: ConfigFile = None,
    user: Annotated[str | None, typer.Option(help="user_id of the admin who will open it (default: you).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Print a link that logs one person in at the admin page, once."""
    from channels.cli.web_link import show_link

    show_link(config, user, os.environ, as_json=as_json)


@app.command()
def emulator(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port (0: any free one).")] = EMULATOR_PORT,
    time_scale: Annotated[
        float, typer.Option(min=0, max=10, help="Multiplies the waits before redelivery (0.01: 15 s become 0.15 s).")
    ] = 1.0,
    rate_limits: Annotated[bool, typer.Option(help="Keep to the platform's rate limits.")] = True,
) -> None:
    """Run the Feishu Open Platform emulator alone, with its chat page."""
    from channels.cli.emulating import run_emulator

    run_emulator(host, port, time_scale=time_scale, rate_limits=rate_limits)
