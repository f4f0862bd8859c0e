"""Settings changed in their text: what was asked is changed, and every other line stays as it is."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.cli.init_example import ACTIVE, WITHOUT_EXAMPLE, fresh_settings
from channels.cli.init_toml import comment_out, set_values
from channels.config import build_settings
from channels.errors import ConfigError

EXAMPLE = (Path(__file__).resolve().parents[3] / "config" / "example.toml").read_text(encoding="utf-8")
KEYS = ("feishu.app_id", "feishu.app_secret", "feishu.domain")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
changes = st.dictionaries(st.sampled_from((*KEYS, "feishu.proxy", "ui.language", "new.key")), texts, min_size=1)


def value_of(text: str, key: str) -> Any:
    found: Any = tomllib.loads(text)
    for part in key.split("."):
        found = found[part]
    return found


class TestSet:
    @given(changes, st.booleans(), st.booleans())
    @settings(deadline=None, max_examples=40)
    def test_the_example_keeps_every_other_line(self, values: dict[str, str], fresh: bool, crlf: bool) -> None:
        before = fresh_settings() if fresh else EXAMPLE
        before = before.replace("\n", "\r\n") if crlf else before
        after = set_values(before, values)
        wanted = tomllib.loads(before)
        for key, value in values.items():
            section, name = key.split(".")
            wanted.setdefault(section, {})[name] = value
        assert tomllib.loads(after) == wanted
        names = {key.partition(".")[2] for key in values}
        kept = [line for line in before.split("\n") if line.strip("# ").partition(" =")[0] not in names]
        remaining = iter(after.split("\n"))
        assert [line for line in kept if line not in remaining] == [], "a line is gone or moved"
        assert not crlf or all(line.endswith("\r") for line in after.split("\n")[:-1])

    @given(changes)
    @settings(deadline=None, max_examples=20)
    def test_twice_is_once(self, values: dict[str, str]) -> None:
        once = set_values(EXAMPLE, values)
        assert set_values(once, values) == once

    def test_a_comment_behind_the_value_stays(self) -> None:
        text = "[feishu]\n  app_id=\"cli_a#b\"   # the bot # of sales\ndomain = 'lark'\n"
        assert set_values(text, {"feishu.app_id": "cli_c"}) == text.replace("cli_a#b", "cli_c")

    def test_a_commented_default_becomes_the_setting(self) -> None:
        text = '[feishu]\n# Where.\n# domain = "feishu"\n[ui]\n# domain = "no"\n'
        assert set_values(text, {"feishu.domain": "lark"}) == text.replace('# domain = "feishu"', 'domain = "lark"')

    def test_prose_that_looks_like_a_setting_stays(self) -> None:
        text = "[feishu]\n# domain = the place where Feishu is\n"
        assert set_values(text, {"feishu.domain": "lark"}) == '[feishu]\ndomain = "lark"\n' + text.partition("\n")[2]

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", '[feishu]\napp_id = "x"\n'),
            ("# mine", '# mine\n\n[feishu]\napp_id = "x"\n'),
            ("[ui]\nlanguage = 'en'", "[ui]\nlanguage = 'en'\n\n[feishu]\napp_id = \"x\"\n"),
            ('feishu.app_id = "y"\n', 'feishu.app_id = "x"\n'),
            ('feishu.domain = "lark"\n[ui]\n', 'feishu.app_id = "x"\nfeishu.domain = "lark"\n[ui]\n'),
            ('[ "feishu" ] # who\n"app_id" = """y\nz"""\n', '[ "feishu" ] # who\n"app_id" = "x"\n'),
            ("[feishu]", '[feishu]\napp_id = "x"\n'),
            ('[a]\nb = """\n[feishu]\napp_id = 1\n"""\n[feishu]\n', None),
            ("[a]\nb = [\n  1,\n]\n[feishu]\ndomain = 'lark'\n\n# next\n[ui]\n", None),
            (
                '[feishu]\nnote = """\n# app_id = 1\n"""\n',
                '[feishu]\nnote = """\n# app_id = 1\n"""\napp_id = "x"\n',
            ),
            ("[[a]]\n[[a]]\nb.c = 1\n[feishu]\n", None),
        ],
    )
    def test_other_ways_of_writing(self, before: str, after: str | None) -> None:
        found = set_values(before, {"feishu.app_id": "x"})
        if after is not None:
            assert found == after
        assert value_of(found, "feishu.app_id") == "x"

    @pytest.mark.parametrize(
        "text", ['feishu = {app_id = "y"}\n', "feishu = 3\n", "[feishu]\napp_id =\n", "[feishu]\n[feishu]\n"]
    )
    def test_what_cannot_be_edited_is_refused(self, text: str) -> None:
        with pytest.raises(ConfigError):
            set_values(text, {"feishu.app_id": "x"})


class TestFresh:
    def test_only_what_was_asked_is_set_and_every_default_stands_as_a_comment(self) -> None:
        found = tomllib.loads(fresh_settings())
        assert {f"feishu.{key}" for key in found.pop("feishu")} == set(KEYS)
        assert found.pop("agents") == {"demo": {"kind": "demo"}}
        assert set(found) >= {"store", "web", "log"}
        assert not any(found.values()), "a default is set"
        assert [line for line in EXAMPLE.split("\n") if line.strip()] == [
            line if example == line else line.removeprefix("# ")
            for example, line in zip(
                [line for line in EXAMPLE.split("\n") if line.strip()],
                [line for line in fresh_settings().split("\n") if line.strip()],
                strict=True,
            )
        ]

    def test_it_is_read_as_the_defaults(self, tmp_path: Path) -> None:
        values = {"feishu.app_id": "cli_a", "feishu.app_secret": "file:s", "feishu.domain": "lark"}
        found = build_settings(tomllib.loads(set_values(fresh_settings(), values)), tmp_path)
        wanted = build_settings(
            {
                "feishu": {"app_id": "cli_a", "app_secret": "file:s", "domain": "lark"},
                "agents": {"demo": {"kind": "demo"}},
            },
            tmp_path,
        )
        assert found == wanted

    def test_without_the_example_there_is_still_a_file_that_starts(self, tmp_path: Path) -> None:
        values = {"feishu.app_id": "cli_a", "feishu.app_secret": "file:s", "feishu.domain": "lark"}
        assert build_settings(tomllib.loads(set_values(WITHOUT_EXAMPLE, values)), tmp_path).feishu.domain == "lark"

    def test_commenting_out_takes_whole_statements(self) -> None:
        text = "[a]\nb = [\n  1,\n]\nc = 2\n[agents.x]\nd = 1\n"
        assert comment_out(text, frozenset({"a.c"})) == "[a]\n# b = [\n#   1,\n# ]\nc = 2\n# [agents.x]\n# d = 1\n"

    def test_what_is_kept_is_in_the_example(self) -> None:
        for key in ACTIVE:
            value_of(EXAMPLE, key)
