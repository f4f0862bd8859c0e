"""What the READMEs show about access works as it stands there, in both languages the same."""

import re
import shlex
from pathlib import Path

import pytest

from tests.integration.access.gate import APPROVAL, KEPT, answered, asked, command, command_line
from tests.integration.conftest import OpenHouse
from tests.integration.house import House
from tests.integration.web.visitor import PAGE

ROOT = Path(__file__).resolve().parents[3]
READMES = ("README.md", "README.zh.md")
HEADINGS = {"README.md": "## Who may use it", "README.zh.md": "## 谁可以用"}


def chapter(readme: str) -> str:
    text = (ROOT / readme).read_text(encoding="utf-8")
    start = text.index(HEADINGS[readme])
    return text[start : text.index("\n## ", start)]


def typed(readme: str) -> list[list[str]]:
    """The command lines, without what is said about them."""
    lines = re.findall(r"^channels .*$", chapter(readme), re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def said(readme: str) -> list[str]:
    """The commands of the table for chats."""
    return re.findall(r"^\| `(/[^`]+)` \|", chapter(readme), re.MULTILINE)


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house(**APPROVAL, **PAGE)


def test_both_show_the_same() -> None:
    assert typed("README.md") == typed("README.zh.md")
    assert said("README.md") == said("README.zh.md")
    assert {line[1] for line in typed("README.md")} == {
        *("list", "grant", "revoke", "requests", "approve", "deny", "claim-code", "link")
    }


async def test_every_command_line_works(house: House) -> None:
    strangers = {name: house.world.add_person(name).name for name in ("Carol", "Dave")} | {"Bob": "Bob"}
    house.sections["access"] = {"mode": "approval", "admins": ["u_zhang_san"]}
    await house.restart()
    written = {name: house.say("hello", name) for name in strangers}
    await command(house, "/grant", mentions=["Alice"])
    await house.held(KEPT, 3)
    await asked(house, count=3)
    for line in typed("README.md"):
        done = await command_line(house, *line[1:], group=line[0])
        assert done.exit_code == 0, (line, done.output, done.exception)
        assert done.stdout, line
    await answered(house, written["Bob"])
    await answered(house, written["Dave"])
    assert await house.rows("SELECT user_id, code_write FROM access_users WHERE user_id = 'u_alice'") == [
        ("u_alice", 0)
    ]


async def test_every_command_of_a_chat_works(house: House) -> None:
    for text in said("README.md"):
        plain = text.replace("@Bob ", "").replace("@Bob", "").strip()
        answer = await command(house, plain, mentions=["Alice"] if "@Bob" in text else [])
        assert answer and "do not understand" not in answer and "Please name" not in answer, (text, answer)
    assert await house.one("SELECT count(*) FROM web_logins") == 1
    assert await house.one("SELECT count(*) FROM audit WHERE action IN ('grant', 'revoke')") == 4
