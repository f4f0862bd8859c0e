"""Real agents that do something otherwise than one would read the protocol. Each was seen in `make agents`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.rules.agent_event import AgentEvent, Outcome, ToolCalled, ToolStatus, ToolUpdated, UsageReported
from tests.conformance.agents.test_acp import NO, YES, Bench, Person, bench_in, end, reference, statuses, words


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_in(tmp_path) as made:
        yield made


def called(events: list[AgentEvent], tool_id: str) -> ToolCalled:
    """The call as it was announced last."""
    return [event for event in events if isinstance(event, ToolCalled) and event.tool_id == tool_id][-1]


def usage(events: list[AgentEvent]) -> UsageReported:
    return next(event for event in reversed(events) if isinstance(event, UsageReported))


class TestCalls:
    async def test_calls_without_any_status_are_done_when_the_agent_goes_on(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "untold", gate=Person(YES))
        assert words(events) == "yes-once"
        assert [statuses(events, one)[-1] for one in ("u1", "u2")] == [ToolStatus.DONE, ToolStatus.DONE]
        assert end(events).outcome is Outcome.COMPLETED

    async def test_a_permission_under_another_id_is_about_the_call_with_the_same_file(self, bench: Bench) -> None:
        person = Person(NO)
        events = await bench.ask(bench.agent(), "untold", gate=person)
        assert {event.tool_id for event in events if isinstance(event, ToolCalled)} == {"u1", "u2"}
        assert statuses(events, "u2")[-1] is ToolStatus.DENIED
        (question,) = person.asked
        assert (question.tool_id, question.title, question.paths) == ("u2", "write: made.txt", ("made.txt",))
        assert "+two" in question.diff
        assert question.arguments == ""  # the diff says it all

    async def test_what_a_rewritten_file_holds_is_shown_to_who_is_asked(self, bench: Bench) -> None:
        (bench.folder / "made.txt").write_text("one\n")
        person = Person(YES)
        events = await bench.ask(bench.agent(), "rewrite", gate=person)
        (question,) = person.asked
        assert (question.kind, question.title) == ("edit", "Write made.txt")
        assert "--- made.txt" in question.diff
        assert "-one" in question.diff
        assert len(person.asked) == 1
        last = [event for event in events if isinstance(event, ToolUpdated)][-1]
        assert (last.tool_id, last.status, last.output) == ("w1", ToolStatus.DONE, "written")

    async def test_a_file_outside_of_the_folder_is_not_read_for_it(self, bench: Bench) -> None:
        (bench.folder / "made.txt").symlink_to(bench.home / "secret.txt")
        (bench.home / "secret.txt").write_text("secret\n")
        person = Person(NO)
        await bench.ask(bench.agent(), "rewrite", gate=person)
        assert "secret" not in person.asked[0].diff

    async def test_a_command_is_shown_as_it_would_be_run(self, bench: Bench) -> None:
        person = Person(YES)
        events = await bench.ask(bench.agent(), "aborts", gate=person)
        assert person.asked[0].arguments == f"make {bench.folder}"
        assert called(events, "c1").arguments == f"make {bench.folder}"


class TestEnds:
    async def test_a_no_that_ends_the_whole_turn_is_no_stop(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "aborts", gate=Person(NO))
        assert statuses(events, "c1")[-1] is ToolStatus.DENIED
        assert end(events).outcome is Outcome.COMPLETED

    async def test_one_that_breaks_off_by_itself_says_so(self, bench: Bench) -> None:
        events = await bench.ask(bench.agent(), "wavers")
        assert words(events) == "I had"
        assert end(events).outcome is Outcome.FAILED
        assert "by itself" in end(events).error

    async def test_tokens_of_the_session_become_those_of_the_turn(self, bench: Bench) -> None:
        agent = bench.agent(adds_up=True)
        first = await bench.ask(agent, "sums")
        again = await bench.ask(agent, "sums", reference=reference(first))
        assert [usage(events) for events in (first, again)] == [UsageReported(100, 10), UsageReported(100, 10)]

    async def test_tokens_beside_the_protocol_count(self, bench: Bench) -> None:
        assert usage(await bench.ask(bench.agent(), "quota")) == UsageReported(300, 30)


class TestLoading:
    async def test_a_past_that_is_repeated_late_is_not_in_the_next_answer(self, bench: Bench) -> None:
        first = await bench.ask(bench.agent(), "plain")
        again = await bench.ask(bench.agent("--late-replay"), "patient", reference=reference(first))
        assert words(again) == "Hello."

    async def test_a_load_that_loads_nothing_is_a_failed_load(self, bench: Bench) -> None:
        agent = bench.agent("--empty-load")
        for _ in range(2):  # it stays one
            events = await bench.ask(agent, "plain", reference="s-gone")
            assert end(events).outcome is Outcome.FAILED
            assert end(events).lost_session
        fresh = await bench.ask(agent, "plain")
        assert words(fresh) == "Hello there."
        assert reference(fresh) != "s-gone"

    async def test_a_session_without_a_past_may_be_loaded_in_silence(self, bench: Bench) -> None:
        run = bench.agent().run(bench.turn("silent"))
        async with asyncio.timeout(20):
            first = [await anext(run)]
            await run.aclose()
        again = await bench.ask(bench.agent(), "plain", reference=reference(first))
        assert words(again) == "Hello there."
