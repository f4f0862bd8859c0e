"""What waits for a turn is joined, keeps its order, and is bounded."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from channels.agents.acp.feed import FULL_CHARACTERS, PIECE_CHARACTERS, TurnFeed
from channels.rules.agent_event import (
    AgentEvent,
    PlanUpdated,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)


def drained(feed: TurnFeed) -> list[AgentEvent]:
    events = []
    while (event := feed.take()) is not None:
        events.append(event)
    return events


def filled(*events: AgentEvent, room: int = 1_000) -> TurnFeed:
    feed = TurnFeed(room)
    for event in events:
        feed.put(event)
    return feed


def test_deltas_are_joined_and_thoughts_stay_thoughts() -> None:
    feed = filled(TextDelta("a"), ReasoningDelta("1"), TextDelta("b"), ReasoningDelta("2"))
    assert drained(feed) == [TextDelta("ab"), ReasoningDelta("12")]


def test_words_before_and_after_a_call_stay_apart() -> None:
    called = ToolCalled("t", "look")
    assert drained(filled(TextDelta("a"), called, TextDelta("b"))) == [TextDelta("a"), called, TextDelta("b")]


def test_the_newest_state_of_a_tool_and_of_the_plan_counts() -> None:
    feed = filled(
        ToolUpdated("t", ToolStatus.RUNNING, "one", "d"),
        PlanUpdated((("x", "pending"),)),
        UsageReported(1),
        ToolUpdated("u", ToolStatus.RUNNING),
        ToolUpdated("t", ToolStatus.DONE),
        PlanUpdated((("x", "completed"),)),
        UsageReported(2),
    )
    assert drained(feed) == [
        ToolUpdated("t", ToolStatus.DONE, "one", "d"),
        PlanUpdated((("x", "completed"),)),
        UsageReported(2),
        ToolUpdated("u", ToolStatus.RUNNING),
    ]


def test_an_answer_beyond_its_room_is_cut_there_and_thoughts_are_only_cut() -> None:
    feed = filled(ReasoningDelta("x" * 1_500), TextDelta("y" * 900), room=1_000)
    assert not feed.overflowed
    feed.put(TextDelta("z" * 200))
    assert feed.overflowed
    assert drained(feed) == [ReasoningDelta("x" * 1_000), TextDelta("y" * 900 + "z" * 100)]


def test_long_words_come_in_pieces() -> None:
    feed = filled(TextDelta("x" * (PIECE_CHARACTERS * 2 + 1)), room=10**9)
    assert [len(event.text) for event in drained(feed) if isinstance(event, TextDelta)] == [
        PIECE_CHARACTERS,
        PIECE_CHARACTERS,
        1,
    ]


def test_it_says_when_it_is_full_and_when_not_any_more() -> None:
    feed = filled(TextDelta("x" * (FULL_CHARACTERS + 1)), room=10**9)
    assert feed.is_full
    feed.take()
    assert not feed.is_full
    drained(feed)
    for number in range(12):
        feed.put(ToolUpdated(f"t{number}", ToolStatus.RUNNING, "y" * 100_000))
    assert feed.is_full
    for number in range(12):
        feed.put(ToolUpdated(f"t{number}", ToolStatus.RUNNING, "y"))
    assert not feed.is_full


pieces = st.one_of(
    st.builds(TextDelta, st.text(max_size=5)),
    st.builds(ReasoningDelta, st.text(max_size=5)),
    st.builds(ToolCalled, st.sampled_from("ab"), st.text(max_size=3)),
    st.builds(ToolUpdated, st.sampled_from("ab"), st.sampled_from(ToolStatus), st.text(max_size=3)),
    st.none(),
)


@given(st.lists(pieces))
def test_nothing_that_was_said_is_lost_or_turned_round(events: list[AgentEvent | None]) -> None:
    """None: the turn takes what is there."""
    feed, got = TurnFeed(10_000), list[AgentEvent]()
    for event in events:
        if event is None:
            got += drained(feed)
        else:
            feed.put(event)
    got += drained(feed)
    for kind in (TextDelta, ReasoningDelta):
        said = [event.text for event in events if isinstance(event, kind)]
        heard = [event.text for event in got if isinstance(event, kind)]
        assert "".join(said) == "".join(heard)
    for tool_id in "ab":
        states = [event for event in events if isinstance(event, ToolUpdated) and event.tool_id == tool_id]
        shown = [event for event in got if isinstance(event, ToolUpdated) and event.tool_id == tool_id]
        assert (states[-1].status if states else None) == (shown[-1].status if shown else None)
    assert not feed.is_full


async def test_a_wait_ends_with_the_next_event() -> None:
    feed = TurnFeed(100)
    waiting = asyncio.create_task(feed.changed())
    await asyncio.sleep(0)
    feed.put(TextDelta("x"))
    async with asyncio.timeout(5):
        await waiting
