"""Secrets by reference: the file of settings says where a secret is, never what it is."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from channels import logs
from channels.errors import ConfigError

HOW_TO_WRITE = 'write "env:NAME" (an environment variable) or "file:PATH" (a file that holds only the secret)'


@dataclass(frozen=True, slots=True)
class Secret:
    """A resolved secret. Call `reveal()` at the last moment; every other way to look at it shows nothing."""

    _value: str = field(repr=False)

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a secret is: scheme "env" with a variable's name, or "file" with an absolute path."""

    scheme: str
    name: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.name}"


SCHEMES = ("env", "file")
SecretSource = Reference | Secret


def parse_reference(text: str, folder: Path) -> Reference | None:
    """The reference that `text` writes, file paths taken relative to `folder`; None when it is not a reference."""
    scheme, colon, name = text.partition(":")
    if not colon or scheme not in SCHEMES or not name.strip():
        return None
    name = name.strip()
    return Reference(scheme, str(folder / Path(name).expanduser()) if scheme == "file" else name)


def resolve_secret(source: SecretSource, key: str = "secret", environ: Mapping[str, str] | None = None) -> Secret:
    """The secret itself, kept out of every log from now on.

    `key` is the setting's full name for the error. Raises ConfigError when the variable or file is missing,
    unreadable or empty; the error names the place, never the content.
    """
    if isinstance(source, Secret):
        secret = source
    elif source.scheme == "env":
        secret = Secret(_from_environment(source, key, os.environ if environ is None else environ))
    else:
        secret = Secret(_from_file(source, key))
    logs.hide_value(secret.reveal())
    return secret


def resolve_address(
    source: str | SecretSource, key: str = "proxy", environ: Mapping[str, str] | None = None
) -> str | None:
    """The address of a proxy: as it stands, or from its reference when it holds a password; None when there is none."""
    return (source or None) if isinstance(source, str) else resolve_secret(source, key, environ).reveal()


def _from_environment(reference: Reference, key: str, environ: Mapping[str, str]) -> str:
    value = environ.get(reference.name, "").strip()
    if not value:
        state = "is empty" if reference.name in environ else "is not set"
        raise ConfigError(key, f'refers to "{reference}", but the environment variable {reference.name} {state}')
    return value


def _from_file(reference: Reference, key: str) -> str:
    try:
        value = Path(reference.name).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise ConfigError(key, f'refers to "{reference}", but there is no such file') from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(key, f'refers to "{reference}", but the file cannot be read: {why}') from None
    if not value:
        raise ConfigError(key, f'refers to "{reference}", but the file is empty')
    return value
