"""What only an agent in a subprocess has: permissions, files, terminals, loading, and every way of failing."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from channels.agents.acp.agent import AcpAgent
from channels.agents.acp.host import LOGGED_CHARACTERS
from channels.agents.presets import AcpPreset, ProcessLimits
from channels.agents.protocol import (
    Attachment,
    KeepsProcesses,
    MarksProcesses,
    PermissionAnswer,
    PermissionQuestion,
    Said,
    TurnRequest,
)
from channels.ids import SessionId, TurnId, UserId
from channels.logs import AGENT_EXITED
from channels.rules.agent_event import (
    AgentEvent,
    Ended,
    ModelReported,
    Outcome,
    ReasoningDelta,
    SessionOpened,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
)
from tests.conformance.agents.acp_signals import Signals
from tests.conformance.agents.rigs import fake_preset

SOON_S = 20


class Bench:
    """A folder, the fake agent's signals, and agents on it. `turn` numbers the turns by itself."""

    def __init__(self, folder: Path, signals: Signals) -> None:
        self.home, self.signals = folder, signals
        self.folder = folder / "session"
        self.folder.mkdir()
        self.agents: list[AcpAgent] = []
        self._turns = 0

    def agent(self, *options: str, **fields: Any) -> AcpAgent:
        self.agents.append(AcpAgent(self.preset(*options, **fields)))
        return self.agents[-1]

    def preset(self, *options: str, **fields: Any) -> AcpPreset:
        return fake_preset(self.home, self.signals, *options, **fields)

    def turn(self, text: str, session: str = "one", **fields: Any) -> TurnRequest:
        self._turns += 1
        request = TurnRequest(
            TurnId(f"turn-{self._turns}"), SessionId(session), text, UserId("user-1"), folder=self.folder
        )
        return replace(request, **fields)

    async def ask(
        self, agent: AcpAgent, text: str, session: str = "one", limit_s: float = SOON_S, **fields: Any
    ) -> list[AgentEvent]:
        async with asyncio.timeout(limit_s):
            return [event async for event in agent.run(self.turn(text, session, **fields))]


@asynccontextmanager
async def bench_in(folder: Path) -> AsyncIterator[Bench]:
    async with Signals(folder / "signals") as signals:
        bench = Bench(folder, signals)
        yield bench
        for agent in bench.agents:
            await agent.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_in(tmp_path) as made:
        yield made


class Person:
    """A gate that answers as told, and remembers what it was asked."""

    def __init__(self, *answers: PermissionAnswer) -> None:
        self.answers: asyncio.Queue[PermissionAnswer] = asyncio.Queue()
        for answer in answers:
            self.give(answer)
        self.asked: list[PermissionQuestion] = []
        self.is_asked = asyncio.Event()
        self.has_right = True

    async def ask(self, question: PermissionQuestion) -> PermissionAnswer:
        self.asked.append(question)
        self.is_asked.set()
        return await self.answers.get()

    async def allows(self, kind: str) -> bool:
        return self.has_right

    def give(self, answer: PermissionAnswer) -> None:
        self.answers.put_nowait(answer)


YES = PermissionAnswer(True, "yes-once")
NO = PermissionAnswer(False, "no-once", "denied")


def words(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def end(events: list[AgentEvent]) -> Ended:
    last = events[-1]
    assert isinstance(last, Ended)
    return last


def reference(events: list[AgentEvent]) -> str:
    return next(event.reference for event in events if isinstance(event, SessionOpened))


def statuses(events: list[AgentEvent], tool_id: str) -> list[ToolStatus]:
    return [event.status for event in events if isinstance(event, ToolUpdated) and event.tool_id == tool_id]


def test_it_keeps_and_marks_processes() -> None:
    agent: object = AcpAgent(AcpPreset("fake", ("true",)))
    assert isinstance(agent, KeepsProcesses)
    assert isinstance(agent, MarksProcesses)


class TestSession:
    async def test_a_session_goes_on_in_its_process(self, bench: Bench) -> None:
        agent = bench.agent()
        first = await bench.ask(agent, "plain")
        again = await bench.ask(agent, "history", reference=reference(first))
        assert json.loads(words(again)) == ["plain"]
        assert not any(isinstance(event, SessionOpened) for event in again)
        assert bench.signals.count("started") == 1

    async def test_two_sessions_have_a_process_each_and_their_own_folder(self, bench: Bench) -> None:
        agent, other = bench.agent(), bench.home / "other"
        other.mkdir()
        first = json.loads(words(await bench.ask(agent, "folder", "one")))
        second = json.loads(words(await bench.ask(agent, "folder", "two", folder=other)))
        assert first["cwd"] == first["session"] == str(bench.folder)
        assert second["cwd"] == second["session"] == str(other)
        assert first["pid"] != second["pid"]
        assert {figure.session_id for figure in agent.processes()} == {"one", "two"}
        assert all(figure.memory_bytes > 100_000 for figure in agent.processes())

    async def test_shared_sessions_have_one_process(self, bench: Bench) -> None:
        agent = bench.agent(shared=True)
        both = await asyncio.gather(bench.ask(agent, "folder", "one"), bench.ask(agent, "folder", "two"))
        assert len({json.loads(words(events))["pid"] for events in both}) == 1
        assert len({reference(events) for events in both}) == 2
        assert [figure.session_id for figure in agent.processes()] == [""]

    async def test_two_sessions_of_one_name_are_not_mixed_up(self, bench: Bench) -> None:
        """What one of them does would be asked of the other one's person."""
        agent = bench.agent("--one-name", shared=True)
        assert words(await bench.ask(agent, "plain", "one")) == "Hello there."
        last = end(await bench.ask(agent, "plain", "two"))
        assert last.outcome is Outcome.FAILED
        assert "one id" in last.error
        assert words(await bench.ask(agent, "plain", "one")) == "Hello there."

    async def test_who_waits_for_a_start_that_fails_does_not_wait_for_another(self, bench: Bench) -> None:
        agent = bench.agent("--silent-start", shared=True, limits=ProcessLimits(start_s=1.0))
        several = await asyncio.gather(*(bench.ask(agent, "plain", f"session-{number}") for number in range(8)))
        assert {end(events).error for events in several} == {end(several[0]).error}
        assert "was not ready" in end(several[0]).error
        assert bench.signals.count("started") == 1

    async def test_an_old_session_is_loaded_and_its_past_not_shown_again(self, bench: Bench) -> None:
        first = await bench.ask(bench.agent(), "plain")
        again = await bench.ask(bench.agent(), "history", reference=reference(first))
        assert json.loads(words(again)) == ["plain"]
        assert "REPLAYED" not in words(again)
        assert not any(isinstance(event, SessionOpened) for event in again)

    @pytest.mark.parametrize("option", ["", "--slow-load", "--dying-load"])
    async def test_a_failed_load_says_so_and_keeps_the_reference(self, bench: Bench, option: str) -> None:
        limits = ProcessLimits(load_s=0.3 if option == "--slow-load" else 20)
        agent = bench.agent(*filter(None, [option]), limits=limits)
        events = await bench.ask(agent, "plain", reference="s-of-yesterday", history=(Said("user", "before"),))
        assert end(events).outcome is Outcome.FAILED
        assert end(events).lost_session
        assert len(events) == 1  # no new session was opened in silence
        if option == "":
            fresh = await bench.ask(agent, "history")
            assert reference(fresh) != "s-of-yesterday"
            assert end(fresh).outcome is Outcome.COMPLETED

    async def test_without_loading_it_is_told_what_was_said_and_says_so(self, bench: Bench) -> None:
        past = (Said("user", "My name is Ada."), Said("assistant", "Hello Ada."))
        agent = bench.agent("--no-load")
        events = await bench.ask(agent, "Who am I? blocks", reference="s-of-yesterday", history=past)
        assert words(events).startswith("> The agent fake cannot go on")
        text = json.loads(words(events).partition("\n\n")[2].removesuffix("see the blocks"))[0]["text"]
        assert "User: My name is Ada." in text
        assert "You: Hello Ada." in text
        assert text.endswith("Who am I? blocks")
        assert reference(events) != "s-of-yesterday"

    @pytest.mark.parametrize("shared", [False, True])
    async def test_a_session_moves_to_another_folder(self, bench: Bench, shared: bool) -> None:
        agent, other = bench.agent(shared=shared), bench.home / "other"
        other.mkdir()
        told = reference(await bench.ask(agent, "plain"))
        moved = json.loads(words(await bench.ask(agent, "folder", reference=told, folder=other)))
        assert moved["session"] == str(other)
        assert shared or moved["cwd"] == str(other)
        again = await bench.ask(agent, "history", reference=told, folder=other)
        assert json.loads(words(again)) == ["plain", "folder"]

    async def test_where_it_cannot_move_it_is_told_what_was_said(self, bench: Bench) -> None:
        agent, other = bench.agent(), bench.home / "other"
        other.mkdir()
        told = reference(await bench.ask(agent, "plain"))
        for kept in (bench.home / "agent").iterdir():
            kept.unlink()  # as agents do that keep sessions by folder: this one is not known elsewhere
        past = (Said("user", "plain"), Said("assistant", "Hello there."))
        events = await bench.ask(agent, "folder", reference=told, folder=other, history=past)
        assert words(events).startswith("> The agent fake cannot go on")
        assert reference(events) != told
        assert end(events).outcome is Outcome.COMPLETED

    async def test_a_session_that_is_left_gives_its_process_back(self, bench: Bench) -> None:
        agent = bench.agent()
        await bench.ask(agent, "plain")
        await agent.leave(SessionId("one"))
        async with asyncio.timeout(SOON_S):
            await bench.signals.heard("gone")

    async def test_an_idle_process_ends_and_its_session_is_loaded_again(self, bench: Bench) -> None:
        agent = bench.agent(limits=ProcessLimits(idle_s=0.05, grace_s=1.0))
        first = await bench.ask(agent, "plain")
        await bench.signals.heard("gone")
        again = await bench.ask(agent, "history", reference=reference(first))
        assert json.loads(words(again)) == ["plain"]
        assert bench.signals.count("started") == 2

    async def test_one_that_ignores_the_request_to_end_is_killed(self, bench: Bench) -> None:
        agent = bench.agent("--deaf", limits=ProcessLimits(idle_s=0.05, grace_s=0.1))
        await bench.ask(agent, "plain")
        await bench.signals.heard("gone")


class TestChoices:
    @pytest.mark.parametrize(("wanted", "name"), [("m-2", "Model Two"), ("model two", "Model Two"), ("", "Model One")])
    async def test_the_model_is_chosen_and_reported(self, bench: Bench, wanted: str, name: str) -> None:
        events = await bench.ask(bench.agent("--choices", model=wanted), "plain")
        assert [event.model for event in events if isinstance(event, ModelReported)] == [name]
        told = [line for line in bench.signals.lines if "set_config_option" in line]
        assert len(told) == (1 if wanted else 0)
        assert all('"configId": "llm"' in line and '"value": "m-2"' in line for line in told)

    async def test_older_agents_are_told_in_their_way(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent("--old-choices", model="m-2", mode="code"), "plain")
        assert [event.model for event in events if isinstance(event, ModelReported)] == ["Model Two"]
        told = " ".join(bench.signals.lines)
        assert 'session/set_model {"modelId": "m-2"' in told
        assert 'session/set_mode {"modeId": "code"' in told

    async def test_a_model_that_is_not_offered_is_no_failure(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent("--choices", model="m-9"), "plain")
        assert end(events).outcome is Outcome.COMPLETED
        assert [event.model for event in events if isinstance(event, ModelReported)] == ["Model One"]

    async def test_a_model_that_changes_in_the_middle_is_reported(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent("--choices"), "switch")
        assert [event.model for event in events if isinstance(event, ModelReported)] == ["Model One", "Model Two"]


class TestPermission:
    async def test_allowed_by_a_person(self, bench: Bench) -> None:
        person, events = Person(), list[AgentEvent]()
        async with asyncio.timeout(SOON_S):
            async for event in bench.agent().run(bench.turn("permission", gate=person)):
                events.append(event)
                if isinstance(event, ToolUpdated) and event.status is ToolStatus.ASKING:
                    person.give(YES)
        assert '"optionId": "yes-once"' in words(events)
        assert statuses(events, "p1") == [
            ToolStatus.PENDING,
            ToolStatus.ASKING,
            ToolStatus.RUNNING,
            ToolStatus.DONE,
        ]
        question = person.asked[0]
        assert (question.kind, question.arguments) == ("execute", "make all")
        assert [option.kind for option in question.options] == ["allow_once", "allow_always", "reject_once"]

    async def test_denied_stays_denied(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "permission", gate=Person(NO))
        assert '"optionId": "no-once"' in words(events)
        assert statuses(events, "p1")[-1] is ToolStatus.DENIED

    async def test_after_more_calls_than_are_shown_a_person_is_asked_all_the_same(self, bench: Bench) -> None:
        person = Person(YES)
        events = await bench.ask(bench.agent(), "busy", gate=person)
        assert words(events) == 'outcome {"outcome": "selected", "optionId": "yes-once"}'
        assert (person.asked[0].title, person.asked[0].arguments) == ("Run make", "make all")
        assert len([event for event in events if isinstance(event, ToolCalled)]) <= 500

    async def test_without_a_gate_everything_is_refused(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "permission")
        assert '"optionId": "no-once"' in words(events)

    async def test_a_stop_while_a_person_is_asked_is_told_as_cancelled(self, bench: Bench) -> None:
        agent, person = bench.agent(), Person()
        request = bench.turn("permission", gate=person)
        async with asyncio.timeout(SOON_S):
            run = asyncio.create_task(_collect(agent, request))
            await person.is_asked.wait()
            await agent.stop(request.turn_id)
            assert end(await run).outcome is Outcome.STOPPED
            await bench.signals.rested()  # the agent got an answer, or it would still wait

    async def test_a_write_is_asked_about_with_its_diff(self, bench: Bench) -> None:
        (bench.folder / "made.txt").write_text("one\n")
        person = Person(YES)
        events = await bench.ask(bench.agent(), "write", gate=person)
        assert words(events) == "wrote True"
        assert (bench.folder / "made.txt").read_text() == "one\ntwo\n"
        assert person.asked[0].kind == "edit"
        assert person.asked[0].paths == ("made.txt",)
        assert "+two" in person.asked[0].diff
        called = next(event for event in events if isinstance(event, ToolCalled))
        assert statuses(events, called.tool_id)[-1] is ToolStatus.DONE

    async def test_a_denied_write_changes_nothing(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "write", gate=Person(NO))
        assert words(events) == "wrote False"
        assert not (bench.folder / "made.txt").exists()

    async def test_nobody_is_asked_twice_for_one_edit(self, bench: Bench) -> None:
        person = Person(YES)
        events = await bench.ask(bench.agent(), "edit", gate=person)
        assert words(events) == "yes-once True"
        assert len(person.asked) == 1
        assert (bench.folder / "made.txt").read_text() == "one\n"

    async def test_always_covers_later_writes_of_the_session(self, bench: Bench) -> None:
        agent, person = bench.agent(), Person(PermissionAnswer(True, "yes-always"))
        first = await bench.ask(agent, "edit", gate=person)
        again = await bench.ask(agent, "write", gate=person, reference=reference(first))
        assert words(again) == "wrote True"
        assert len(person.asked) == 1

    async def test_always_ends_with_the_right_to_it(self, bench: Bench) -> None:
        agent, person = bench.agent(), Person(PermissionAnswer(True, "yes-always"), NO)
        first = await bench.ask(agent, "edit", gate=person)
        (bench.folder / "made.txt").unlink()
        person.has_right = False
        again = await bench.ask(agent, "write", gate=person, reference=reference(first))
        assert words(again) == "wrote False"
        assert not (bench.folder / "made.txt").exists()

    async def test_a_permission_covers_the_files_that_were_shown_and_no_others(self, bench: Bench) -> None:
        person = Person(YES, NO)
        assert words(await bench.ask(bench.agent(), "strays", gate=person)) == "wrote False"
        assert [question.paths for question in person.asked] == [("made.txt",), ("other.txt",)]
        assert not (bench.folder / "other.txt").exists()

    async def test_one_permission_is_no_permission_for_the_next_edit(self, bench: Bench) -> None:
        agent, person = bench.agent(), Person(YES, NO)
        first = await bench.ask(agent, "edit", gate=person)
        again = await bench.ask(agent, "write", gate=person, reference=reference(first))
        assert words(again) == "wrote False"
        assert len(person.asked) == 2


class TestFiles:
    async def test_what_lies_inside_is_read_and_nothing_else(self, bench: Bench) -> None:
        secret = bench.home / "secret.txt"
        secret.write_text("secret")
        (bench.folder / "in.txt").write_text("inside")
        (bench.folder / "link.txt").symlink_to(secret)
        (bench.folder / "up").symlink_to(bench.home)
        text = f"in.txt link.txt up/secret.txt ../secret.txt {secret} /etc/passwd read"
        said = words(await bench.ask(bench.agent(), text)).strip().split("\n")
        assert json.loads(said[0]) == {"content": "inside"}
        assert len(said) == 6
        assert all("outside" in json.loads(line)["message"] for line in said[1:])

    async def test_a_folder_that_was_replaced_is_not_the_sessions(self, bench: Bench) -> None:
        """Not even by a link that stands where the folder stood when the turn began."""
        (bench.home / "secret.txt").write_text("secret")
        said = words(await bench.ask(bench.agent(), "swaps", gate=Person(YES, YES)))
        assert "secret" not in said.replace("secret.txt", "")
        assert said.endswith("wrote False")
        assert not (bench.home / "made.txt").exists()


class TestTerminal:
    async def test_it_is_not_offered_unless_configured(self, bench: Bench) -> None:
        person = Person(YES)
        events = await bench.ask(bench.agent(), "terminal", gate=person)
        assert "not offered" in words(events)
        assert person.asked == []

    async def test_a_command_runs_in_the_folder_behind_the_gate(self, bench: Bench) -> None:
        person = Person(YES)
        events = await bench.ask(bench.agent(terminal=True), "terminal", gate=person)
        assert words(events) == "0 'one\\ntwo'"
        assert (person.asked[0].kind, person.asked[0].arguments) == ("execute", "printf one\\ntwo")
        last = [event for event in events if isinstance(event, ToolUpdated) and event.tool_id == "x1"][-1]
        assert (last.status, last.output) == (ToolStatus.DONE, "one\ntwo")

    async def test_a_permission_covers_the_very_command_that_was_shown(self, bench: Bench) -> None:
        person = Person(YES, NO)
        assert words(await bench.ask(bench.agent(terminal=True), "smuggles", gate=person)) == "ran False"
        assert person.asked[1].arguments == "echo one #\ntouch smuggled"
        assert not (bench.folder / "smuggled").exists()

    async def test_always_runs_commands_only_while_the_right_is_there(self, bench: Bench) -> None:
        agent, person = bench.agent(terminal=True), Person(PermissionAnswer(True, "yes-always"), NO)
        first = await bench.ask(agent, "permission", gate=person)
        assert "0 " in words(await bench.ask(agent, "terminal", gate=person, reference=reference(first)))
        person.has_right = False
        again = await bench.ask(agent, "terminal", gate=person, reference=reference(first))
        assert "not allowed" in words(again)
        assert len(person.asked) == 2

    async def test_a_command_does_not_get_the_agents_keys(self, bench: Bench) -> None:
        preset = bench.preset(terminal=True)
        agent = bench.agent(terminal=True, env=(*preset.env, ("OPENAI_API_KEY", "key-of-the-agent")))
        said = words(await bench.ask(agent, "printenv", gate=Person(YES)))
        assert "PATH=" in said
        assert "key-of-the-agent" not in said

    async def test_a_denied_command_does_not_run(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(terminal=True), "terminal", gate=Person(NO))
        assert words(events).startswith("refused")

    async def test_a_command_ends_with_its_turn(self, bench: Bench) -> None:
        agent = bench.agent(terminal=True)
        request = bench.turn("sleeper", gate=Person(YES))
        async with asyncio.timeout(SOON_S):
            run = asyncio.create_task(_collect(agent, request))
            pid = int((await bench.signals.heard("sleeping")).split()[2])
            await agent.stop(request.turn_id)
            await run
            await _over(pid)


class TestPrompt:
    async def test_everything_is_a_link_for_an_agent_that_takes_no_more(self, bench: Bench) -> None:
        blocks = await self._blocks(bench)
        assert [block["type"] for block in blocks] == ["text", "resource_link", "resource_link"]
        assert blocks[1]["uri"] == (bench.folder / "dot.png").as_uri()
        assert blocks[2]["name"] == "notes.md"

    async def test_pictures_and_texts_go_along_where_they_are_taken(self, bench: Bench) -> None:
        blocks = await self._blocks(bench, "--image", "--embedded")
        assert [block["type"] for block in blocks] == ["text", "image", "resource"]
        assert (blocks[1]["mimeType"], blocks[1]["data"]) == ("image/png", len(PNG))
        assert blocks[2]["resource"]["text"] == "# Notes"

    async def _blocks(self, bench: Bench, *options: str) -> list[dict[str, Any]]:
        picture, notes = bench.folder / "dot.png", bench.folder / "notes.md"
        picture.write_bytes(PNG)
        notes.write_text("# Notes")
        attachments = (
            Attachment("image", "dot.png", picture, len(PNG)),
            Attachment("file", "notes.md", notes, 7),
            Attachment("file", "gone.bin", None, 9, "too large"),
        )
        events = await bench.ask(bench.agent(*options), "blocks", attachments=attachments)
        found: list[dict[str, Any]] = json.loads(words(events).removesuffix("see the blocks"))
        return found


PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")


class TestEnds:
    @pytest.mark.parametrize(
        ("text", "outcome", "piece"),
        [
            ("refusal", Outcome.FAILED, "declines"),
            ("requests", Outcome.FAILED, "used up the steps"),
            ("length", Outcome.MAX_TOKENS, ""),
            ("failure", Outcome.FAILED, "reported an error: Internal error"),
        ],
    )
    async def test_reasons(self, bench: Bench, text: str, outcome: Outcome, piece: str) -> None:
        last = end(await bench.ask(bench.agent(), text))
        assert last.outcome is outcome
        assert piece in last.error
        assert "1234567890" not in last.error

    async def test_a_crash_is_a_sentence_and_the_next_message_loads_the_session(self, bench: Bench) -> None:
        agent = bench.agent()
        first = await bench.ask(agent, "plain")
        events = await bench.ask(agent, "crash", reference=reference(first))
        assert words(events) == "I was about"
        assert "ended unexpectedly" in end(events).error
        assert "Traceback" not in end(events).error
        assert not end(events).lost_session
        again = await bench.ask(agent, "history", reference=reference(first))
        assert json.loads(words(again)) == ["plain"]

    async def test_its_last_words_are_kept_for_the_owner(self, bench: Bench) -> None:
        """In the log, and not more of them than somebody reads."""
        with capture_logs() as lines:
            await bench.ask(bench.agent(), "crash")
            await bench.ask(bench.agent("--dying-start"), "plain")
        crashed, unready = [line for line in lines if line["event"] == AGENT_EXITED]
        assert crashed["stderr"].endswith("the fake agent breaks on purpose")
        assert len(crashed["stderr"]) == LOGGED_CHARACTERS
        assert (crashed["code"], unready["code"]) == (3, 1)
        assert unready["stderr"] == "cannot start: no reason"

    async def test_a_closed_output_ends_the_turn(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "closing")
        assert "ended unexpectedly" in end(events).error
        await bench.signals.heard("gone")

    async def test_a_stop_is_a_word_and_the_process_stays(self, bench: Bench) -> None:
        agent = bench.agent()
        told = reference(await bench.ask(agent, "plain"))
        request = bench.turn("endless", reference=told)
        async with asyncio.timeout(SOON_S):
            async for event in agent.run(request):
                if isinstance(event, TextDelta):
                    await agent.stop(request.turn_id)
            await bench.signals.rested()
        again = await bench.ask(agent, "history", reference=told)
        assert json.loads(words(again)) == ["plain", "endless"]
        assert (bench.signals.count("started"), bench.signals.count("gone")) == (1, 0)

    async def test_one_that_ignores_cancel_is_killed_and_the_next_message_works(self, bench: Bench) -> None:
        agent = bench.agent(limits=ProcessLimits(cancel_s=0.2))
        first = await bench.ask(agent, "plain")
        request = bench.turn("stubborn", reference=reference(first))
        events: list[AgentEvent] = []
        async with asyncio.timeout(SOON_S):
            async for event in agent.run(request):
                events.append(event)
                await agent.stop(request.turn_id)
        assert end(events).outcome is Outcome.STOPPED
        again = await bench.ask(agent, "history", reference=reference(first))
        assert json.loads(words(again)) == ["plain"]
        assert bench.signals.count("gone") == 1

    async def test_in_a_shared_process_the_others_are_not_killed_along(self, bench: Bench) -> None:
        agent = bench.agent(shared=True, limits=ProcessLimits(cancel_s=0.1))
        silent, stubborn = bench.turn("silent", "quiet"), bench.turn("stubborn", "other")
        async with asyncio.timeout(SOON_S):
            quiet = asyncio.create_task(_collect(agent, silent))
            await bench.signals.heard("prompt")
            async for event in agent.run(stubborn):
                if isinstance(event, TextDelta):
                    await agent.stop(stubborn.turn_id)
            while len(agent.processes()) < 2:  # the old one is retired, and a new one serves
                await bench.ask(agent, "plain", "third")
            assert not quiet.done()
            await agent.stop(silent.turn_id)
            assert end(await quiet).outcome is Outcome.STOPPED
            await bench.signals.heard("gone")

    async def test_silence_is_a_failure_in_time(self, bench: Bench) -> None:
        agent = bench.agent(limits=ProcessLimits(first_s=0.3))
        last = end(await bench.ask(agent, "silent"))
        assert "said nothing for 0.3 seconds" in last.error
        await bench.signals.rested()

    async def test_work_of_which_nothing_is_shown_is_no_silence(self, bench: Bench) -> None:
        agent = bench.agent(limits=ProcessLimits(first_s=0.5, between_s=0.5))
        assert words(await bench.ask(agent, "murmurs")) == "Ready."

    async def test_silence_while_a_person_thinks_is_none(self, bench: Bench) -> None:
        agent, person = bench.agent(limits=ProcessLimits(first_s=0.3, between_s=0.3)), Person()
        request = bench.turn("permission", gate=person)
        run = asyncio.create_task(_collect(agent, request))
        async with asyncio.timeout(SOON_S):
            await person.is_asked.wait()
            done, _ = await asyncio.wait({run}, timeout=1.0)
            assert not done
            await agent.stop(request.turn_id)
            await run


class TestStart:
    async def test_a_program_that_is_not_there(self, bench: Bench) -> None:
        agent = bench.agent(command=("no-such-agent-program", "acp"))
        last = end(await bench.ask(agent, "plain"))
        assert "`no-such-agent-program` cannot be run" in last.error
        assert agent.processes() == ()

    @pytest.mark.parametrize(
        ("option", "piece"),
        [
            ("--silent-start", "was not ready within 0.5 seconds"),
            ("--dying-start", "ended before it was ready"),
            ("--other-version", "does not speak a version"),
            ("--login", "asks for a login"),
        ],
    )
    async def test_a_start_that_fails_is_a_sentence(self, bench: Bench, option: str, piece: str) -> None:
        start_s = 0.5 if option == "--silent-start" else 20
        agent = bench.agent(option, limits=ProcessLimits(start_s=start_s))
        last = end(await bench.ask(agent, "plain"))
        assert piece in last.error
        assert not last.lost_session
        await bench.signals.heard("gone")
        zh = end(await bench.ask(agent, "plain", language="zh"))
        assert zh.error.endswith("。")

    async def test_a_stop_during_the_start_leaves_no_process(self, bench: Bench) -> None:
        agent = bench.agent("--silent-start")
        request = bench.turn("plain")
        async with asyncio.timeout(SOON_S):
            run = asyncio.create_task(_collect(agent, request))
            await bench.signals.heard("started")
            await agent.stop(request.turn_id)
            assert end(await run).outcome is Outcome.STOPPED
            await bench.signals.heard("gone")

    async def test_only_what_is_configured_is_in_its_environment(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FEISHU_APP_SECRET", "not for agents")
        found = json.loads(words(await bench.ask(bench.agent(), "environment")))
        own = {"FAKE_ACP_HOME", "FAKE_ACP_SIGNALS", "CHANNELS_AGENT_OF"}
        assert set(found) - own <= {"PATH", "HOME", "LANG", "TMPDIR", "TERM", "LC_CTYPE"}
        assert found["TERM"] == "dumb"


class TestFloods:
    async def test_one_that_asks_and_takes_no_answer_is_ended(self, bench: Bench) -> None:
        (bench.folder / "large.txt").write_text("x" * 8_000_000)
        agent = bench.agent()
        events = await bench.ask(agent, "unhearing")
        assert "took none of it" in end(events).error
        assert words(events) == "Let me see."
        await bench.signals.heard("gone")
        assert words(await bench.ask(agent, "plain", reference=reference(events))) == "Hello there."

    async def test_a_command_that_writes_without_end_holds_up_nobody(self, bench: Bench) -> None:
        agent = bench.agent(terminal=True)
        babbling, person = bench.turn("babble", gate=Person(YES)), Person(YES)
        async with asyncio.timeout(SOON_S), aclosing(agent.run(babbling)) as events:
            async for event in events:
                if isinstance(event, ToolUpdated) and event.output:
                    assert set(event.output.split()) == {"y"}
                    assert len(event.output) <= 2_000
                    break
            assert words(await bench.ask(agent, "permission", "two", gate=person)).startswith("outcome")

    async def test_garbage_between_messages_is_left(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "garbage")
        assert words(events) == "Still here."
        assert end(events).outcome is Outcome.COMPLETED

    async def test_thousands_of_updates_arrive_joined_and_whole(self, bench: Bench) -> None:
        agent, events = bench.agent(), []
        async with asyncio.timeout(SOON_S):
            async for event in agent.run(bench.turn("many")):
                events.append(event)
                await asyncio.sleep(0.005)  # a reader that is slower than the writer
        assert words(events) == "a" * 5_000
        assert sum(len(event.text) for event in events if isinstance(event, ReasoningDelta)) == 5_000
        assert statuses(events, "t1")[-1] is ToolStatus.DONE
        assert len(events) < 5_000

    async def test_an_update_that_is_too_large_is_left_out(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "monster")
        assert words(events) == "After it."
        assert end(events).outcome is Outcome.COMPLETED

    async def test_a_message_that_is_too_large_ends_the_turn(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "abyss")
        assert "too large" in end(events).error
        await bench.signals.heard("gone")

    async def test_an_answer_without_end_is_cut(self, bench: Bench) -> None:
        agent = bench.agent(max_answer_characters=5_000)
        events = await bench.ask(agent, "endless")
        assert end(events).outcome is Outcome.MAX_TOKENS
        assert len(words(events)) == 5_000
        await bench.signals.rested()


async def test_close_leaves_no_process(bench: Bench) -> None:
    agent = bench.agent()
    async with asyncio.timeout(SOON_S):
        run = asyncio.create_task(_collect(agent, bench.turn("family")))
        await bench.signals.until(lambda lines: bench.signals.count("child") == 2)
        children = [int(line.split()[2]) for line in bench.signals.lines if " child " in line]
        await agent.close()
        assert end(await run).outcome is Outcome.FAILED
        for pid in children:
            await _over(pid)


async def _collect(agent: AcpAgent, request: TurnRequest) -> list[AgentEvent]:
    return [event async for event in agent.run(request)]


async def _over(pid: int) -> None:
    """Until the process is gone."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(watched, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)
