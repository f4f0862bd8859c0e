"""Secrets come from where the settings say, show themselves nowhere, and are missed by name."""

from pathlib import Path

import pytest

from channels import logs
from channels.config import Reference, Secret, resolve_address, resolve_secret
from channels.config.references import parse_reference
from channels.errors import ConfigError

VALUE = "hunter2-hunter2-hunter2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env:NAME", Reference("env", "NAME")),
        ("file:secret", Reference("file", "/etc/channels/secret")),
        ("file:/run/secret", Reference("file", "/run/secret")),
        ("file: ", None),
        ("env", None),
        ("http://host", None),
        (VALUE, None),
    ],
)
def test_only_two_schemes_are_references(text: str, expected: Reference | None) -> None:
    assert parse_reference(text, Path("/etc/channels")) == expected


def test_a_secret_shows_itself_nowhere() -> None:
    secret = Secret(VALUE)
    assert VALUE not in f"{secret} {secret!r} {[secret]}"
    assert secret.reveal() == VALUE


def test_from_the_environment() -> None:
    assert resolve_secret(Reference("env", "NAME"), "feishu.app_secret", {"NAME": f" {VALUE}\n"}).reveal() == VALUE


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(VALUE + "\n")
    assert resolve_secret(Reference("file", str(file))).reveal() == VALUE


def test_a_resolved_secret_never_reaches_a_log() -> None:
    resolve_secret(Reference("env", "NAME"), environ={"NAME": "only-for-this-test-9"})
    assert "only-for-this-test-9" not in logs.redact_text("token only-for-this-test-9 leaked")


@pytest.mark.parametrize(
    ("content", "words"), [(None, "no such file"), (b"", "is empty"), (b"\n\n", "is empty"), (b"\xff\xfe", "not text")]
)
def test_a_file_without_a_secret_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as caught:
        resolve_secret(Reference("file", str(file)), "feishu.app_secret")
    assert caught.value.key == "feishu.app_secret"
    assert str(file) in caught.value.why


def test_a_folder_is_not_a_secret(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve_secret(Reference("file", str(tmp_path)))


@pytest.mark.parametrize(("environ", "words"), [({}, "is not set"), ({"NAME": " "}, "is empty")])
def test_a_missing_variable_is_named(environ: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=f"NAME {words}"):
        resolve_secret(Reference("env", "NAME"), "agents.gpt.api_key", environ)


def test_an_address_stands_as_it_is_or_comes_from_a_reference() -> None:
    assert resolve_address("") is None
    assert resolve_address("http://proxy:3128") == "http://proxy:3128"
    assert resolve_address(Reference("env", "PROXY"), environ={"PROXY": "http://u:p@h:1"}) == "http://u:p@h:1"
