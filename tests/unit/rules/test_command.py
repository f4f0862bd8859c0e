"""Commands as people really type them (field report 31)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.command import ADMIN_COMMANDS, CHINESE, COMMANDS, SESSIONLESS, Command, UnknownCommand, parse

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
    ("/stop\u3000now", Command("stop", "now")),
    ("/resume 2", Command("resume", "2")),
    ("/resume2", Command("resume", "2")),
    ("/resume", Command("resume")),
    ("/cd ../src", Command("cd", "../src")),
    ("/cd a folder", Command("cd", "a folder")),
    ("/停止", Command("stop")),
    ("／新对话", Command("new")),
    ("@bot/恢复 3", Command("resume", "3")),
    ("/恢复3", Command("resume", "3")),
    ("/stpo", UnknownCommand("stpo", "stop")),
    ("/session", UnknownCommand("session", "sessions")),
    ("/useage", UnknownCommand("useage", "usage")),
    ("/xyzzy", UnknownCommand("xyzzy", None)),
    ("/价格是多少", None),
    ("/价格", None),
    ("/停止吧朋友们", None),
    ("/python3 is what I use", None),
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


@given(
    st.sampled_from([*COMMANDS, *CHINESE]),
    st.sampled_from(["/", "／"]),
    st.text(alphabet=" \t\u3000", max_size=3),
    st.sampled_from(["", "@bot", "@bot ", "@_user_1 "]),
)
def test_every_command_is_found_with_any_slash_space_and_mention(
    name: str, slash: str, space: str, mention: str
) -> None:
    assert parse(f"{space}{mention}{slash}{name}{space}") == Command(CHINESE.get(name, name))


@given(st.sampled_from(COMMANDS), st.text(alphabet="ab 12\n/", max_size=20))
def test_what_follows_a_blank_is_handed_on(name: str, rest: str) -> None:
    assert parse(f"/{name} {rest}") == Command(name, rest.strip())


def test_the_words_are_those_of_commands() -> None:
    assert set(CHINESE.values()) <= {*COMMANDS, *ADMIN_COMMANDS}
    assert {*COMMANDS, *ADMIN_COMMANDS} >= SESSIONLESS
