"""`channels init`: from nothing, or from an app that exists, to settings that run.

Nothing is written before everything is known: cancelled, refused, expired or killed until then leaves no trace. Then
the secret goes into a file of its own, the settings name it, doctor looks at all of it.
"""

import asyncio
import os
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from channels import logs
from channels.cli.checking import check_place
from channels.cli.doctor import examine
from channels.cli.doctor_words import AUTH_FAILED, WRONG_DOMAIN, explain_fatal
from channels.cli.faults import CheckFailed
from channels.cli.init_choices import (
    APP_ID,
    SECRET,
    Choice,
    KeepApp,
    Present,
    Scan,
    UseApp,
    Wishes,
    choose,
    environment_without,
    read_present,
)
from channels.cli.init_example import fresh_settings
from channels.cli.init_files import Writing, secret_name, sweep, write
from channels.cli.init_qr import draw
from channels.cli.init_toml import set_values
from channels.config import Secret, Settings, build_settings, resolve_address, resolve_secret
from channels.config.keys import environment_name
from channels.errors import ConfigError
from channels.feishu.api import new_session
from channels.feishu.credentials import Credentials
from channels.feishu.discovery import discover
from channels.feishu.reconnect import Fatal
from channels.feishu.registration import RegistrationFailed, register_app

# What Feishu says for certain of an id, a secret or a platform: 514 where it connects, the others with the token.
_CERTAIN = frozenset({AUTH_FAILED, WRONG_DOMAIN, 10003, 10012, 10014})
_NOTHING = "nothing was changed"


def set_up(wishes: Wishes, environ: Mapping[str, str]) -> None:
    """Ask or scan, write, examine. Raises CheckFailed and ConfigError; which of them says whether files changed."""
    logs.configure("error", "console")
    try:
        plan = _prepare(wishes, environ)
    except (KeyboardInterrupt, EOFError):
        raise CheckFailed(f"cancelled: {_NOTHING}.") from None
    try:
        _carry_out(plan)
        _note_environment(plan.values, environ)
        if wishes.doctor:
            print(flush=True)
            examine(wishes.config, environ, invariants=False, as_json=False)
    except KeyboardInterrupt:
        raise CheckFailed("cancelled; the settings are written, `channels doctor` checks them.") from None
    finally:
        say_next(wishes)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was decided: the settings to change, and the whole text that they make."""

    config: Path
    choice: UseApp | KeepApp
    values: dict[str, str]
    text: str
    is_new: bool


def _prepare(wishes: Wishes, environ: Mapping[str, str]) -> _Plan:
    """Everything up to the files; changes nothing."""
    config = wishes.config
    if not config.resolve().parent.is_dir():
        raise CheckFailed(f"the folder {config.resolve().parent} is not there; make it first.")
    check_place("--config", config.resolve())  # before an app is made, not after
    present = read_present(config)
    if wishes.ask:
        print(f"Setting up {config}. Nothing is written before the end; Ctrl-C leaves everything as it is.")
    while True:
        choice = _with_app(choose(wishes, present, environ))
        values = _values(choice, present, config)
        text = set_values(present.text or fresh_settings(), values)
        settings = _read_back(text, config, environment_without(environ, wishes.secret_from))
        refusal = _refusal(choice, settings, environ)
        if not refusal:
            return _Plan(config, choice, values, text, not present.text)
        if not wishes.ask:
            raise CheckFailed(f"{refusal}; {_NOTHING}.")
        print(f"{refusal}. Once more, or Ctrl-C:")
        wishes = replace(wishes, app_id=None, secret_from=None)


def _with_app(choice: Choice) -> UseApp | KeepApp:
    """A scan becomes the app that came out of it."""
    match choice:
        case Scan(domain):
            print("Asking for a code …", flush=True)
            try:
                app = asyncio.run(register_app(domain, _show_link))
            except RegistrationFailed as failure:
                raise CheckFailed(f"no app was made: {failure}; {_NOTHING}.") from None
            if not APP_ID.fullmatch(app.app_id) or not SECRET.fullmatch(app.app_secret):
                raise CheckFailed(f"no app was made: Feishu gave something else than an id and a secret; {_NOTHING}.")
            print(f"The app is made: {app.app_id} ({app.domain}).")
            return UseApp(app.app_id, resolve_secret(Secret(app.app_secret)), app.domain)
        case UseApp() | KeepApp():
            return choice
        case _:
            assert_never(choice)


def _show_link(link: str, lifetime_s: int) -> None:
    columns = shutil.get_terminal_size().columns
    if lines := draw(link, columns) if sys.stdout.isatty() else []:
        print("\n".join(lines))
    elif sys.stdout.isatty():
        print(f"(This terminal has {columns} columns: a wider one would show a code to scan.)")
    print(f"Scan the code with Feishu or Lark, or open this link; it is good for {lifetime_s // 60} minutes:\n{link}")
    print("Waiting until you have allowed it there … (Ctrl-C gives up)", flush=True)


def _values(choice: UseApp | KeepApp, present: Present, config: Path) -> dict[str, str]:
    """The settings to change: only those that were asked for, and that are not so already."""
    match choice:
        case KeepApp(domain):
            wanted = {"feishu.domain": domain} if domain else {}
        case UseApp(app_id, _, domain):
            reference = f"file:{secret_name(config.resolve(), app_id)}"
            wanted = {"feishu.app_id": app_id, "feishu.app_secret": reference, "feishu.domain": domain}
        case _:
            assert_never(choice)
    domain_now = present.domain or ("feishu" if present.app_id else "")
    said = {"app_id": present.app_id, "app_secret": present.app_secret, "domain": domain_now}
    return {key: value for key, value in wanted.items() if said[key.removeprefix("feishu.")] != value}


def _read_back(text: str, config: Path, environ: Mapping[str, str]) -> Settings:
    """What the service would read. Raises ConfigError for what it would refuse."""
    try:
        return build_settings(tomllib.loads(text), config.resolve().parent, environ)
    except ConfigError as error:
        raise ConfigError(error.key, f"{error.why} (in {config})") from None


def _refusal(choice: UseApp | KeepApp, settings: Settings, environ: Mapping[str, str]) -> str:
    """What Feishu says for certain against this app; "" also where it cannot be asked: doctor says more."""
    if not isinstance(choice, UseApp):
        return ""
    credentials = Credentials(choice.app_id, choice.secret.reveal(), choice.domain)
    proxy = resolve_address(settings.feishu.proxy, "feishu.proxy", environ)
    found = asyncio.run(_ask_feishu(credentials, settings.feishu.request_timeout_s, proxy))
    if found is None or found.code not in _CERTAIN:
        return ""
    return f"Feishu refuses this app with {found.code}, {found.msg}: {explain_fatal(found)}"


async def _ask_feishu(credentials: Credentials, timeout_s: float, proxy: str | None) -> Fatal | None:
    async with new_session() as session:
        found = await discover(session, credentials, timeout_s=timeout_s, proxy=proxy)
    return found if isinstance(found, Fatal) else None


def _carry_out(plan: _Plan) -> None:
    config = plan.config.resolve()
    match plan.choice:
        case UseApp(app_id, secret, _):
            place = config.with_name(secret_name(config, app_id))
            removed = write(Writing(config, plan.text, place, secret.reveal()))
            print(f"The secret is in {place}, which only this user may read.")
        case KeepApp():
            removed = write(Writing(config, plan.text)) if plan.values else sweep(config, plan.text)
        case _:
            assert_never(plan.choice)
    what = f"changed: {', '.join(plan.values)}" if plan.values else "nothing to change"
    print(f"The settings are in {plan.config} ({'new; every default is there as a comment' if plan.is_new else what}).")
    for each in removed:
        print(f"{each.name} was removed: the settings do not name it any more.")


def _note_environment(values: Mapping[str, str], environ: Mapping[str, str]) -> None:
    for key in values:
        if (variable := environment_name(key)) in environ:
            print(f"Note: the environment variable {variable} is set, and wins over {key} in the file.")


def say_next(wishes: Wishes) -> None:
    """What a person does after this command."""
    config = os.fspath(wishes.config)
    print(f"\nStart the bot (or restart it):  channels run --config {config}")
    if wishes.claim_code:
        print(f"Become its admin:  channels access claim-code --config {config}  and send the code to the bot")
