"""A small campaign within pytest, and the harness's own promises."""

import ast
import json
from pathlib import Path

import pytest

import channels
from channels.feishu.api import FeishuApi
from tests.crash import points
from tests.crash.campaign import SIZES, Campaign
from tests.crash.children import WarmParent
from tests.crash.points import all_points, call_names, statement_names
from tests.crash.reach import NOT_REACHED, not_reached, points_of
from tests.crash.record import Record, write_record
from tests.crash.storm import rage

SEED = 1


@pytest.mark.timeout(180)
async def test_a_small_campaign_finds_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    size = SIZES["small"]
    parent = await WarmParent.start()
    try:
        campaign = Campaign(parent, size, SEED, lines.append)
        await campaign.record()
        done = await campaign.kill_once()
        twice = await campaign.kill_twice(size.k2)
        storm = await rage(parent, size.k3, SEED)
    finally:
        await parent.stop()
    assert sum(len(result.died_at) for result in done) >= 20, lines
    assert any(len(result.died_at) == 2 for result in twice), lines
    assert storm.kills == size.k3
    record = Record.of(campaign, storm, "small", 0)
    assert record.values["violations"] == [], lines
    written = write_record(record, tmp_path / "crash.json")
    assert json.loads(written.read_text())["kills"] == record.values["kills"]
    with pytest.raises(FileExistsError):
        write_record(record, written)


def test_the_list_of_statements_is_made_from_the_source() -> None:
    """Every SQL constant that a table module hands to its Tx is in the list."""
    store = Path(str(channels.__file__)).parent / "store"
    missing = []
    for path in store.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            is_tx = isinstance(node.func.value, ast.Name) and node.func.value.id == "tx"
            if is_tx and node.func.attr in ("execute", "row", "rows") and isinstance(node.args[0], ast.Name):
                name = node.args[0].id
                if name.isupper() and f"{path.stem}.{name}" not in statement_names():
                    missing.append(f"{path.stem}.{name}")
    assert missing == []


def test_every_call_of_the_api_is_in_the_list() -> None:
    assert {"reply_message", "update_card", "add_reaction", "list_messages"} <= call_names()
    assert all(hasattr(FeishuApi, name) for name in call_names())


def test_every_excuse_names_something() -> None:
    assert [name for name in NOT_REACHED if not points_of(name)] == []
    assert not_reached() < all_points()
    assert all(reason.strip() for reason in NOT_REACHED.values())


def test_unknown_statements_have_a_name_of_their_own() -> None:
    assert points.name_of_statement("SELECT 1 FROM nowhere").startswith("unknown: ")
    assert points.name_of_statement("COMMIT") == "COMMIT"
