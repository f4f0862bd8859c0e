"""What is asked and what must then be readable, for every kind of bot in the bench."""

import re

from channels.agents.demo_texts import filler

_QUESTION = re.compile(r"stream (\d+) characters in (\d+) ms")


def question(characters: int, duration_ms: int) -> str:
    """A question that the demo agent and the official helper's bot answer alike."""
    return f"stream {characters} characters in {duration_ms} ms"


def read_question(text: str) -> tuple[int, int]:
    """Characters and milliseconds that a question asks for."""
    found = _QUESTION.search(text)
    assert found is not None, "not a question of the bench"
    return int(found[1]), int(found[2])


def spoken_text(characters: int) -> str:
    """The answer to a question, for a bot that brings its own."""
    return filler(characters, "en")


def model_text(asked: str, characters: int) -> str:
    """What the fake model server says to `asked`."""
    echo = f"You said: {asked}. "
    return (echo * (characters // len(echo) + 1))[:characters]
