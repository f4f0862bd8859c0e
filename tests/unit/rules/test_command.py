"""Commands as people really type them (field report 31)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.command import COMMANDS, Command, UnknownCommand, parse

CASES = [
    ("/help", Command("help")),
    ("  /help  ", Command("help")),
    ("／help", Command("help")),
    ("/HELP", Command("help")),
    ("/ help", Command("help")),
    ("@bot /new", Command("new")),
    ("@bot/new", Command("new")),
    ("@_user_1 /new", Command("new")),
    ("@_user_1／stop", Command("stop")),
    ("/stop now please", Command("stop", "now please")),
    ("/stop\nnow", Command("stop", "now")),
    ("/stpo", UnknownCommand("stpo", "stop")),
    ("/xyzzy", UnknownCommand("xyzzy", None)),
    ("/etc/hosts is wrong", None),
    ("/usr/bin", None),
    ("what does /help do?", None),
    ("hello", None),
    ("", None),
    ("/", None),
    ("// a comment", None),
    ("/123", None),
    ("1/2", None),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_command_is_what_people_mean_by_one(text: str, expected: Command | UnknownCommand | None) -> None:
    assert parse(text) == expected


@given(st.text(max_size=200))
def test_any_text_parses(text: str) -> None:
    found = parse(text)
    if isinstance(found, Command):
        assert found.name in COMMANDS
    if found is not None:
        assert any(slash in text for slash in "/／")


@given(st.sampled_from(COMMANDS), st.sampled_from(["/", "／"]), st.text(alphabet=" \t", max_size=3))
def test_every_command_is_found_with_any_slash_and_space(name: str, slash: str, space: str) -> None:
    assert parse(f"{space}{slash}{name}") == Command(name)
