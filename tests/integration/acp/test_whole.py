"""An agent in a subprocess behind the whole service: restarts, kills, and many people at once."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from channels.agents.acp.orphans import end_orphans
from channels.agents.acp.watchdog import find_marked
from channels.agents.protocol import ProcessMark
from channels.rules.turn import Phase
from tests.conformance.agents.acp_signals import Signals
from tests.conformance.agents.test_acp_orphans import alive, over
from tests.integration import cards_seen
from tests.integration.acp.conftest import acp_sections
from tests.integration.children import Child
from tests.integration.conftest import OpenHouse
from tests.integration.gate.asking import ADMIN, ADMINS, WORDS, asked, finished, press
from tests.integration.house import House, settings_of
from tests.integration.test_launches import ended, wake

REFERENCE = "SELECT agent_reference FROM sessions"
DB_UUID = "SELECT db_uuid FROM meta"
PEOPLE, PLACES = 100, 10
LIMIT_S = 100


def card_of(house: House, message_id: str) -> dict[str, Any]:
    return house.card(house.replies(message_id)[0].message_id)


def buttons(card: dict[str, Any]) -> list[str]:
    return [
        behaviour["value"]["do"]
        for part in cards_seen.parts(card)
        for behaviour in part.get("behaviors", ())
        if "do" in behaviour.get("value", {})
    ]


async def test_a_conversation_goes_on_after_a_restart(open_house: OpenHouse, signals: Signals, tmp_path: Path) -> None:
    house = await open_house(**acp_sections(tmp_path, signals))
    first, reply = await house.ask("Remember the blue door. plain")
    assert cards_seen.answer(house.card(reply.message_id)) == "Hello there."
    await house.restart()
    second, _ = await house.ask("What was it? history", thread_id=reply.thread_id)
    card = house.assert_answered_once(second)
    assert json.loads(cards_seen.answer(card)) == ["Remember the blue door. plain"]
    assert signals.count("started") == 2
    house.assert_answered_once(first)


async def test_a_session_that_cannot_be_loaded_is_kept_and_begun_afresh_by_a_press(
    open_house: OpenHouse, signals: Signals, tmp_path: Path
) -> None:
    house = await open_house(**acp_sections(tmp_path, signals))
    _, reply = await house.ask("plain")
    reference = await house.one(REFERENCE)
    await house.stop()
    (tmp_path / "agent" / f"{reference}.json").rename(tmp_path / "away.json")
    await house.start()
    message_id, _ = await house.ask("history", thread_id=reply.thread_id)
    card = card_of(house, message_id)
    assert cards_seen.phase(card) is Phase.FAILED
    assert "could not load this session again" in cards_seen.words(card)
    assert buttons(card) == ["fresh"]
    assert await house.one(REFERENCE) == reference
    (tmp_path / "away.json").rename(tmp_path / "agent" / f"{reference}.json")
    again, _ = await house.ask("history", thread_id=reply.thread_id)  # tried once more: the same session
    assert json.loads(cards_seen.answer(card_of(house, again))) == ["plain"]
    await house.stop()
    (tmp_path / "agent" / f"{reference}.json").unlink()
    await house.start()
    lost, answer = await house.ask("history", thread_id=reply.thread_id)
    value = next(
        one["value"] for part in cards_seen.parts(card_of(house, lost)) for one in part.get("behaviors", ()) if one
    )
    await house.world.click("Alice", answer.message_id, value)
    await house.held("SELECT count(*) FROM turns WHERE state = 'ended'", 5)
    await house.quiet()
    assert await house.one(REFERENCE) not in ("", reference)


async def test_always_ends_with_the_right_to_change_code(
    open_house: OpenHouse, signals: Signals, tmp_path: Path
) -> None:
    """Also of what the agent hands over without asking; and nobody's turn has no such right."""
    house = await open_house(**acp_sections(tmp_path, signals), **ADMINS)
    await house.ask("/grant id:u_alice code_write", ADMIN)
    message_id = house.say("edit")
    card = await asked(house, message_id)
    await press(house, card, WORDS.allow_always)
    await finished(house, message_id)
    thread = house.replies(message_id)[0].thread_id
    made = _made_in(tmp_path)
    again, _ = await house.ask("write", thread_id=thread)
    assert cards_seen.answer(house.assert_answered_once(again)) == "wrote True"
    assert made.read_text() == "one\ntwo\n"
    made.unlink()
    woken = await wake(house, "write", thread=thread, nobody=True)
    await ended(house, woken)
    assert not made.exists()
    await house.shown(house.say("/revoke id:u_alice code_write", ADMIN))
    again, _ = await house.ask("write", thread_id=thread)
    assert "wrote False" in cards_seen.answer(house.card(house.replies(again)[0].message_id))
    assert not made.exists()


@pytest.mark.parametrize("watched", [True, False])
async def test_killed_while_a_tool_runs(open_house: OpenHouse, signals: Signals, tmp_path: Path, watched: bool) -> None:
    """No process is left, the tool is not run again, the card says what nobody knows and offers to go on. Not watched:
    the watchdog is killed first, and the agent is stopped so that it notices nothing; then the next boot ends it."""
    house = await open_house(start=False, **acp_sections(tmp_path, signals))
    child = await Child.start(house.folder, settings_of(house.emulator.url, house.folder, **house.sections))
    message_id = house.say("Please toil")
    async with asyncio.timeout(LIMIT_S):
        await signals.until(lambda _: signals.count("child") == 2)
    agent = int(signals.lines[0].split()[0])
    family = [agent, *(int(line.split()[2]) for line in signals.lines if line.split()[1] == "child")]
    await house.seen(lambda: "I begin." in cards_seen.answer(card_of(house, message_id)))
    await house.seen(lambda: "Rebuild everything" in cards_seen.words(card_of(house, message_id)))
    if not watched:
        for pid in family:
            os.kill(pid, signal.SIGSTOP)
        for pid in _watchdogs(child.process.pid):
            os.kill(pid, signal.SIGKILL)
    await child.kill()
    async with asyncio.timeout(LIMIT_S):
        for pid in family if watched else ():
            await over(pid)
    assert [alive(pid) for pid in family] == [not watched] * 3
    await house.start()
    assert [alive(pid) for pid in family] == [False] * 3
    await house.done(message_id)
    assert len(house.replies(message_id)) == 1
    assert house.ledger.reactions(message_id) == []
    card = card_of(house, message_id)
    assert cards_seen.phase(card) is Phase.INTERRUPTED
    assert cards_seen.answer(card) == "I begin."
    assert "Rebuild everything. It was not run again" in cards_seen.words(card)
    assert buttons(card) == ["continue"]
    assert signals.count("prompt") == 1
    assert find_marked(f"{await house.one(DB_UUID)}:") == {}


async def test_a_clean_stop_leaves_no_process(open_house: OpenHouse, signals: Signals, tmp_path: Path) -> None:
    house = await open_house(**acp_sections(tmp_path, signals))
    await house.ask("plain")
    mark = f"{await house.one(DB_UUID)}:"
    assert find_marked(mark)
    await house.stop()
    assert find_marked(mark) == {}
    assert end_orphans(ProcessMark(mark.rstrip(":"), 99)).ended == 0


async def test_a_hundred_people_on_ten_processes(open_house: OpenHouse, signals: Signals, tmp_path: Path) -> None:
    sections = acp_sections(tmp_path, signals, max_processes=PLACES)
    house = await open_house(**sections, turns={"drain_s": 0.0, "max_running": PEOPLE})
    people = [f"Person {number}" for number in range(PEOPLE)]
    for name in people:
        house.world.add_person(name)
    asked = {name: house.say(f"{name} plain", name) for name in people}
    for message_id in asked.values():
        await house.answered(message_id, LIMIT_S)
    for message_id in asked.values():
        card = house.assert_answered_once(message_id)
        assert cards_seen.answer(card) == "Hello there."
    alive_now = most = 0
    for line in signals.lines:
        alive_now += {"started": 1, "gone": -1}.get(line.split()[1], 0)
        most = max(most, alive_now)
    assert most <= PLACES
    assert signals.count("prompt") == PEOPLE


def _made_in(folder: Path) -> Path:
    """The file that the fake agent writes."""
    return next(folder.rglob("made.txt"))


def _watchdogs(parent: int) -> list[int]:
    """Children of this process that are watchdogs."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if len(fields) > 1 and fields[1] == str(parent) and b"watchdog.py" in command:
            found.append(int(entry.name))
    return found
