"""`channels demo --help` lists what the demo agent understands, from the agent's own table."""

from typing import Any

from typer.core import TyperCommand


class DemoCommand(TyperCommand):
    """A command whose help ends with the demo's words; they are read only when somebody asks."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from channels.agents.demo_words import DEMO_WORDS

        with formatter.section("Words that show something (anywhere in a message, combinable)"):
            formatter.write_dl([(f"{word.example_en} / {word.example_zh}", word.shows_en) for word in DEMO_WORDS])
