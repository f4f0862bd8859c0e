"""Which messages are one question."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.ids import MessageId
from channels.rules.gathering import Waiting, Windows, hold_until, together

WINDOWS = Windows(together_ms=2_000, forward_ms=3_000, longest_ms=15_000, most=5)


def sent(name: str, at_ms: int) -> Waiting:
    return Waiting(MessageId(name), at_ms, at_ms)


@pytest.mark.parametrize(
    ("message_type", "until"),
    [("image", 3_000), ("file", 3_000), ("media", 3_000), ("merge_forward", 4_000)]
    + [(kind, None) for kind in ("text", "post", "audio", "sticker", "interactive", "location", "share_chat")],
)
def test_what_waits_and_how_long(message_type: str, until: int | None) -> None:
    assert hold_until(message_type, 1_000, 1_000, [], WINDOWS) == until


def test_what_is_looked_at_late_waits_for_nothing_but_what_lies_there() -> None:
    assert hold_until("image", 1_000, 60_000, [], WINDOWS) == 60_000


def test_no_row_of_pictures_waits_for_ever() -> None:
    first = sent("first", 0)
    assert hold_until("image", 14_500, 14_500, [first], WINDOWS) == 15_000


def test_a_full_question_waits_no_more() -> None:
    company = [sent(str(number), number) for number in range(4)]
    assert hold_until("image", 10, 10, company[:3], WINDOWS) is not None
    assert hold_until("image", 10, 10, company, WINDOWS) is None


def test_neighbours_within_the_window_go_together() -> None:
    row = [sent("a", 0), sent("b", 2_900), sent("c", 5_800), sent("late", 9_000)]
    assert together(row[0], row, WINDOWS, closes=False) == ("b", "c")
    assert together(row[1], row, WINDOWS, closes=False) == ("a", "c")
    assert together(row[3], row, WINDOWS, closes=False) == ()


def test_words_take_what_came_before_and_nothing_after() -> None:
    row = [sent("a", 0), sent("b", 500), sent("after", 1_500)]
    assert together(sent("words", 1_000), row, WINDOWS, closes=True) == ("a", "b")


def test_words_long_after_take_nothing() -> None:
    assert together(sent("words", 10_000), [sent("a", 0)], WINDOWS, closes=True) == ()


def test_messages_of_one_moment_are_told_apart_by_their_ids() -> None:
    row = [sent("b", 0), sent("a", 0)]
    assert together(row[0], row, WINDOWS, closes=False) == ("a",)


@given(st.lists(st.integers(0, 30_000), max_size=12), st.integers(0, 30_000), st.booleans())
def test_what_goes_together_is_bounded_in_order_and_near(times: list[int], at: int, closes: bool) -> None:
    row = [sent(f"m{number:02}", time) for number, time in enumerate(times)]
    one = sent("one", at)
    found = together(one, row, WINDOWS, closes=closes)
    assert len(found) <= WINDOWS.most and len(set(found)) == len(found) and "one" not in found
    by_name = {each.message_id: each.create_time_ms for each in row}
    spoken = [by_name[name] for name in found]
    assert spoken == sorted(spoken)
    assert not closes or all(time <= at for time in spoken)
    chain = sorted([*spoken, at])
    if len(found) < WINDOWS.most:
        assert all(later - earlier <= WINDOWS.widest_ms for earlier, later in pairwise(chain))
