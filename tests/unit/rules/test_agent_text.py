"""Halves of characters in what an agent says."""

from hypothesis import given
from hypothesis import strategies as st

from channels.rules.agent_event import (
    Ended,
    ModelReported,
    Outcome,
    PlanUpdated,
    ReasoningDelta,
    SessionOpened,
    SlotAwaited,
    TextDelta,
    ToolCalled,
    ToolStatus,
    ToolUpdated,
    UsageReported,
)
from channels.rules.agent_text import WholeText, whole

FIRST, SECOND, SMILE, LOST = "\ud83d", "\ude00", "\U0001f600", "\ufffd"


def test_halves_that_meet_are_one_character_and_others_are_marked() -> None:
    assert whole(f"a{FIRST}{SECOND}b") == f"a{SMILE}b"
    assert whole(f"a{FIRST}b") == f"a{LOST}b"
    assert whole(f"{SECOND}{FIRST}") == f"{LOST}{LOST}"


def test_a_half_at_the_end_of_a_delta_waits_for_the_next_of_its_kind() -> None:
    run = WholeText()
    assert run.mend(TextDelta(f"a{FIRST}")) == TextDelta("a")
    assert run.mend(ReasoningDelta("meanwhile")) == ReasoningDelta("meanwhile")
    assert run.mend(TextDelta(f"{SECOND}b")) == TextDelta(f"{SMILE}b")
    assert run.mend(TextDelta("c")) == TextDelta("c")


def test_every_text_of_every_event() -> None:
    run, bad = WholeText(), f"x{SECOND}"
    good = f"x{LOST}"
    assert run.mend(ToolCalled(bad, bad, bad, bad, bad)) == ToolCalled(good, good, good, good, good)
    assert run.mend(ToolUpdated(bad, ToolStatus.DONE, bad, bad)) == ToolUpdated(good, ToolStatus.DONE, good, good)
    assert run.mend(PlanUpdated(((bad, "pending"),))) == PlanUpdated(((good, "pending"),))
    lost = run.mend(Ended(Outcome.FAILED, bad, lost_session=True))
    assert lost == Ended(Outcome.FAILED, good, lost_session=True)
    assert run.mend(ModelReported(bad)) == ModelReported(good)
    assert run.mend(SessionOpened(bad)) == SessionOpened(good)
    assert run.mend(SlotAwaited(3)) == SlotAwaited(3)
    assert run.mend(UsageReported(1, 2, 3)) == UsageReported(1, 2, 3)


@given(st.lists(st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010)), max_size=6))
def test_whatever_comes_can_be_kept(deltas: list[str]) -> None:
    run = WholeText()
    for delta in deltas:
        mended = run.mend(TextDelta(delta))
        assert isinstance(mended, TextDelta)
        mended.text.encode()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 100))
def test_a_text_that_was_cut_between_halves_comes_together(text: str, place: int) -> None:
    pairs = text.encode("utf-16-le")
    cut = min(2 * place, len(pairs))
    run, said = WholeText(), ""
    for part in (pairs[:cut], pairs[cut:]):
        mended = run.mend(TextDelta(part.decode("utf-16-le", "surrogatepass")))
        assert isinstance(mended, TextDelta)
        said += mended.text
    assert said == text
