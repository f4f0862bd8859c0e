"""History for the model: newest whole exchanges within the budget, roles alternating."""

from hypothesis import given
from hypothesis import strategies as st

from channels.agents.history import estimate_tokens, fit_history
from channels.agents.protocol import Said

SAID = st.builds(Said, st.sampled_from(["user", "assistant"]), st.text(alphabet="ab 世\n", max_size=60))


def said(*texts: str) -> list[Said]:
    """ "u:…" is a question, "a:…" an answer."""
    return [Said("user" if text[0] == "u" else "assistant", text[2:]) for text in texts]


def kept(history: list[Said], budget: int) -> list[str]:
    return [f"{entry.role[0]}:{entry.text}" for entry in fit_history(history, budget)]


def test_estimate() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "世界", "世界abcd")] == [0, 1, 1, 2, 2, 3]


def test_all_that_fits_is_kept() -> None:
    assert kept(said("u:one", "a:two", "u:three", "a:four"), 100) == ["u:one", "a:two", "u:three", "a:four"]


def test_oldest_exchange_goes_first_and_as_a_whole() -> None:
    history = said("u:" + "x" * 40, "a:short", "u:" + "y" * 40, "a:" + "z" * 40)
    assert kept(history, 21) == kept(history, 20) == ["u:" + "y" * 40, "a:" + "z" * 40]
    assert len(kept(history, 32)) == 4


def test_no_older_exchange_after_a_gap() -> None:
    history = said("u:a", "a:b", "u:" + "x" * 400, "a:c", "u:d", "a:e")
    assert kept(history, 50) == ["u:d", "a:e"]


def test_neighbours_of_one_role_are_joined_and_empty_ones_left_out() -> None:
    history = said("u:stopped at once", "a:", "u:again", "a:part one", "a:part two")
    assert kept(history, 100) == ["u:stopped at once\n\nagain", "a:part one\n\npart two"]


def test_answer_without_question_is_left_out() -> None:
    assert kept(said("a:a launch", "u:hi", "a:hello"), 100) == ["u:hi", "a:hello"]


def test_question_without_answer_at_the_end_is_kept() -> None:
    assert kept(said("u:hi", "a:hello", "u:failed"), 100) == ["u:hi", "a:hello", "u:failed"]


def test_single_too_long_exchange_is_shortened_in_the_middle() -> None:
    shortened = fit_history(said("u:write a book", "a:Chapter one" + "世" * 9000 + "the end"), 300)
    assert shortened[0].text == "write a book"
    assert shortened[1].text.startswith("Chapter one")
    assert shortened[1].text.endswith("the end")
    assert sum(estimate_tokens(entry.text) for entry in shortened) <= 300


def test_no_budget_no_history() -> None:
    assert fit_history(said("u:hi", "a:hello"), 0) == ()


@given(st.lists(SAID, max_size=12), st.integers(min_value=0, max_value=80))
def test_result_alternates_begins_with_a_question_and_fits(history: list[Said], budget: int) -> None:
    result = fit_history(history, budget)
    assert [entry.role for entry in result[::2]] == ["user"] * len(result[::2])
    assert [entry.role for entry in result[1::2]] == ["assistant"] * len(result[1::2])
    if budget >= 12:
        assert sum(estimate_tokens(entry.text) for entry in result) <= budget
