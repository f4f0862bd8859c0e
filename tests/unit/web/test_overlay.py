"""What admins may set over the settings file is named alike everywhere: code, schema, page, words, example, READMEs."""

import re
from pathlib import Path

import pytest

from channels.config.keys import known_keys
from channels.service.overlay import KEYS
from channels.web.admin.setting import FIELDS
from channels.web.admin.words import words_of

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = (ROOT / "config" / "example.toml").read_text(encoding="utf-8")
SCHEMA = "".join(path.read_text() for path in sorted((ROOT / "channels" / "store" / "schema").glob("*.sql")))
PAGE = (ROOT / "channels" / "web" / "templates" / "settings.html").read_text(encoding="utf-8")
MARK = "admin page"


def overlaid_in_example() -> set[str]:
    """Keys of the example above which the comment says that the admin page may set them."""
    found, section, comment = set(), "", ""
    for line in EXAMPLE.splitlines():
        if header := re.fullmatch(r"\[([a-z._]+)\]", line):
            section, comment = header[1], ""
        elif key := re.match(r"(?:# )?([a-z_]+) = ", line):
            found |= {f"{section}.{key[1]}"} if f"sets on the {MARK}" in comment else set()
            comment = ""
        else:
            comment += " " + line.removeprefix("#").strip()
    return found


def test_every_one_is_a_setting() -> None:
    assert set(KEYS) <= set(known_keys())


def test_the_page_the_file_and_the_example_know_the_same() -> None:
    assert set(FIELDS.values()) == set(KEYS)
    (check,) = re.findall(r"CHECK \(key IN \(([^)]*)\)\)", SCHEMA)
    assert set(re.findall(r"'([^']+)'", check)) == set(KEYS)
    assert overlaid_in_example() == set(KEYS)


@pytest.mark.parametrize("field", FIELDS)
def test_each_has_its_place_and_its_words_on_the_page(field: str) -> None:
    assert f'name="{field}"' in PAGE
    for language in ("zh", "en"):
        assert words_of(language)[field] and words_of(language)[f"{field}_hint"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_readmes_name_it(readme: str, key: str) -> None:
    section, name = key.split(".")
    text = (ROOT / readme).read_text(encoding="utf-8")
    chapter = text[text.index("`/web`") :]
    assert f"`[{section}] {name}`" in chapter
