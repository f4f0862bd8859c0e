"""What is asked and what must then be readable, for every kind of bot in the bench."""

import re

from channels.agents.demo_texts import filler

LAST_WORDS = "Here it ends."
_QUESTION = re.compile(r"stream (\d+) characters in (\d+) ms")


def question(characters: int, duration_ms: int) -> str:
    """A question that the demo agent and the official helper's bot answer alike."""
    return f"stream {characters} characters in {duration_ms} ms"


def read_question(text: str) -> tuple[int, int]:
    """Characters and milliseconds that a question asks for."""
    found = _QUESTION.search(text)
    assert found is not None, "not a question of the bench"
    return int(found[1]), int(found[2])


def demo_text(characters: int) -> str:
    """What the demo agent answers to a question."""
    return filler(characters, "en").strip()


def helper_text(characters: int) -> str:
    """What the official helper's bot answers. Its helper loses deltas that repeat what stands before them, so that
    only LAST_WORDS, sent as one piece, are sure to be readable in the end."""
    return filler(max(0, characters - len(LAST_WORDS)), "en") + LAST_WORDS


def model_text(asked: str, characters: int) -> str:
    """What the fake model server says to `asked`."""
    echo = f"You said: {asked}. "
    return (echo * (characters // len(echo) + 1))[:characters].strip()
