"""What `channels init` was asked for, by options or by questions, as one value."""

import getpass
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from channels.config import PLACEHOLDER, Secret, resolve_secret
from channels.config.references import HOW_TO_WRITE, parse_reference
from channels.errors import ConfigError

APP_ID = re.compile(r"cli_[A-Za-z0-9_]{1,60}")
SECRET = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of the command. `ask`: whether a person is there to be asked what is left open."""

    config: Path
    scan: bool = False
    app_id: str | None = None
    secret_from: str | None = None
    domain: str | None = None
    ask: bool = False
    doctor: bool = True
    claim_code: bool = False


@dataclass(frozen=True, slots=True)
class Present:
    """The settings file as it is: its text ("" for none), and what it says of the app ("" for nothing)."""

    text: str = ""
    app_id: str = ""
    domain: str = ""
    app_secret: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """Make a new app, beginning at `domain`."""

    domain: str


@dataclass(frozen=True, slots=True)
class UseApp:
    """Use an app that exists."""

    app_id: str
    secret: Secret = field(repr=False)
    domain: str


@dataclass(frozen=True, slots=True)
class KeepApp:
    """Leave the app as the settings have it; `domain` None leaves that too."""

    domain: str | None


Choice = Scan | UseApp | KeepApp


def read_present(config: Path) -> Present:
    """What stands at `config` now. Raises ConfigError for a file that cannot be read or is not TOML."""
    try:
        text = config.read_bytes().decode("utf-8")
        feishu = tomllib.loads(text).get("feishu", {})
    except FileNotFoundError:
        return Present()
    except OSError as error:
        raise ConfigError(str(config), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(config), "is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(config), f"is not valid TOML: {error}; mend it first") from None
    said = {key: str(value) for key, value in feishu.items()} if isinstance(feishu, dict) else {}
    app_id = said.get("app_id", "")
    app_id = "" if app_id == PLACEHOLDER else app_id
    return Present(text, app_id, said.get("domain", ""), said.get("app_secret", "") if app_id else "")


def choose(wishes: Wishes, present: Present, environ: Mapping[str, str]) -> Choice:
    """What to do. Raises ConfigError for options that contradict each other or leave something open with nobody there.

    Asks only where `wishes.ask`; KeyboardInterrupt and EOFError mean that the person has gone.
    """
    _check(wishes)
    if wishes.scan:
        return Scan(wishes.domain or present.domain or "feishu")
    if wishes.app_id or wishes.secret_from:
        return _use_app(wishes, present, environ)
    if wishes.domain and present.app_id:
        return KeepApp(wishes.domain)
    if wishes.ask:
        return _ask(wishes, present, environ)
    if present.app_id:
        return KeepApp(None)
    raise ConfigError(
        "init", "there is nobody to ask: give --scan, or --app-id and --app-secret-from (env:NAME or file:PATH)"
    )


def _check(wishes: Wishes) -> None:
    if wishes.scan and (wishes.app_id or wishes.secret_from):
        raise ConfigError("--scan", "makes a new app: leave --app-id and --app-secret-from away")
    if wishes.app_id and not APP_ID.fullmatch(wishes.app_id):
        raise ConfigError("--app-id", 'is not an app\'s id: it begins with "cli_"')


def _ask(wishes: Wishes, present: Present, environ: Mapping[str, str]) -> Choice:
    print("  1  scan a code with Feishu or Lark, and an app with all it needs is made")
    print("  2  use an app that exists (its id and secret)")
    answers = ["1", "2"]
    if present.app_id:
        print(f"  3  keep the app {present.app_id}, and only check it")
        answers.append("3")
    match _pick("Which", answers):
        case "1":
            return Scan(wishes.domain or present.domain or "feishu")
        case "2":
            return _use_app(replace(wishes, app_id=_ask_app_id(present.app_id)), present, environ)
        case _:
            return KeepApp(None)


def _use_app(wishes: Wishes, present: Present, environ: Mapping[str, str]) -> UseApp | KeepApp:
    app_id = wishes.app_id or present.app_id
    if not app_id:
        raise ConfigError("--app-id", "is missing: whose secret is it?")
    if wishes.secret_from:
        secret = _checked(_secret_from(wishes.secret_from, environ))
    elif wishes.ask:
        secret = _ask_secret()
    elif app_id == present.app_id and present.app_secret:
        return KeepApp(wishes.domain)
    else:
        raise ConfigError("--app-secret-from", f"is missing; {HOW_TO_WRITE}")
    domain = wishes.domain or (present.domain if app_id == present.app_id else "")
    if not domain:
        domain = _ask_domain() if wishes.ask else "feishu"
    return UseApp(app_id, secret, domain)


def _secret_from(text: str, environ: Mapping[str, str]) -> Secret:
    reference = parse_reference(text, Path.cwd())
    if reference is None:
        raise ConfigError("--app-secret-from", f"must not be the secret itself; {HOW_TO_WRITE}")
    return resolve_secret(reference, "--app-secret-from", environ)


def _checked(secret: Secret) -> Secret:
    if not SECRET.fullmatch(secret.reveal()):
        raise ConfigError("--app-secret-from", "what stands there is not a secret: it is one word of plain characters")
    return secret


def _ask_app_id(present: str) -> str:
    return _until(lambda: input(f"App ID{f' [{present}]' if present else ''}: ").strip() or present, APP_ID, "cli_…")


def _ask_secret() -> Secret:
    what = "App Secret (not shown): "
    secret = Secret(_until(lambda: getpass.getpass(what).strip(), SECRET, "one word of plain characters"))
    return resolve_secret(secret)


def _ask_domain() -> str:
    print("  1  Feishu (China)")
    print("  2  Lark (international)")
    return "lark" if _pick("Where is the app", ["1", "2"]) == "2" else "feishu"


def _pick(what: str, answers: list[str]) -> str:
    words = f"{what}? [{answers[0]}] "
    return _until(lambda: input(words).strip() or answers[0], re.compile("|".join(answers)), " or ".join(answers))


def _until(ask: Callable[[], str], pattern: re.Pattern[str], example: str) -> str:
    while not pattern.fullmatch(answer := ask()):
        print(f"That is not it: {example}")
    return answer


def environment_without(environ: Mapping[str, str], secret_from: str | None) -> dict[str, str]:
    """`environ` without the variable that only handed the secret over."""
    handed = (secret_from or "").removeprefix("env:")
    return {name: value for name, value in environ.items() if name != handed}
