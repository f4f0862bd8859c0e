"""The reply card through a turn: what it shows, when it streams, and what streaming alone can reach."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.cards.card import ANSWER_ELEMENT, CARD_BYTES, CARD_ELEMENTS, Button, Card, card_size, elements_of
from channels.cards.notice import notice_card, text_message
from channels.cards.paging import PAGE_BYTES
from channels.cards.reply import TEMPLATES, reply_cards
from channels.cards.texts import texts
from channels.rules.agent_event import Ended, Outcome, TextDelta, ToolStatus, UsageReported
from channels.rules.turn import RUNNING, Phase, Tool, View, advance
from tests.unit.cards.answers import ANSWERS, NASTY, long_answer
from tests.unit.cards.samples import PLAN, TOOLS, cards, views

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def body(card: Card) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(card.json)
    return value


def element(card: Card, element_id: str) -> dict[str, Any] | None:
    return next((part for part in elements_of(body(card)) if part.get("element_id") == element_id), None)


def with_answer(card: Card, answer: str) -> dict[str, Any]:
    """The card after `answer` was streamed into it."""
    value = body(card)
    for part in value["body"]["elements"]:
        if part.get("element_id") == ANSWER_ELEMENT:
            part["content"] = answer
    return value


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_header_says_the_phase_in_its_colour(phase: Phase, language: str) -> None:
    header = body(reply_cards(View("t", phase=phase), language)[0])["header"]
    assert header["title"]["content"] == getattr(texts(language), f"phase_{phase}")
    assert header["template"] == TEMPLATES[phase]


@pytest.mark.parametrize("phase", list(Phase))
def test_a_card_streams_and_can_be_stopped_while_the_turn_runs(phase: Phase) -> None:
    card = reply_cards(View("turn_7", phase=phase, answer="x"), "en")[0]
    running = phase in RUNNING
    assert body(card)["config"]["streaming_mode"] is running
    assert ("streaming_config" in body(card)["config"]) is running
    button = element(card, "buttons_1")
    assert (button is not None) is running
    if button:
        assert button["behaviors"] == [{"type": "callback", "value": {"do": "stop", "turn": "turn_7"}}]
        assert button["type"] == "danger"


def test_streaming_the_text_reaches_every_card_of_the_same_frame() -> None:
    view = View("t")
    last: Card | None = None
    frames: set[str] = set()
    for delta in [
        "你好",
        "，**这是",
        "一个**回答",
        "。\n\n| a |",
        " b |\n|---|---|\n",
        "| 1 | 2 |\n\n```py\nx",
        "\n```\n完",
    ]:
        view = advance(view, TextDelta(delta))
        (card,) = reply_cards(view, "zh")
        if last is not None:
            assert card.frame == last.frame
            assert with_answer(last, card.answer) == body(card)
        frames.add(card.frame)
        last = card
    (ended,) = reply_cards(advance(view, Ended(Outcome.COMPLETED)), "zh")
    assert len(frames) == 1
    assert ended.frame not in frames


@SLOW
@given(st.one_of(ANSWERS, NASTY), st.one_of(ANSWERS, NASTY), st.sampled_from(list(Phase)))
def test_equal_frames_differ_in_the_answer_only(one: str, two: str, phase: Phase) -> None:
    for first, second in zip(
        reply_cards(View("t", phase=phase, answer=one), "en"),
        reply_cards(View("t", phase=phase, answer=two), "en"),
        strict=False,
    ):
        if first.frame == second.frame:
            assert with_answer(first, second.answer) == body(second)
        else:
            assert with_answer(first, second.answer) != body(second)


def test_usage_and_time_do_not_change_a_running_card() -> None:
    """Each change of the frame is a call; what only the footer shows waits for the end."""
    view = View("t", phase=Phase.REPLYING, answer="x", agent="demo")
    later = replace(view, usage=UsageReported(10, 20, 5), duration_ms=5_000)
    assert reply_cards(view, "en") == reply_cards(later, "en")


def test_reasoning_is_open_while_thinking_and_folded_afterwards() -> None:
    thinking = reply_cards(View("t", reasoning="hm"), "en")[0]
    replying = reply_cards(View("t", phase=Phase.REPLYING, reasoning="hm", answer="x"), "en")[0]
    assert (element(thinking, "reasoning") or {})["expanded"] is True
    assert (element(replying, "reasoning") or {})["expanded"] is False


def test_of_a_long_reasoning_the_end_is_shown() -> None:
    card = reply_cards(View("t", reasoning="开头" + "想一想。" * 3_000 + "结尾"), "zh")[0]
    shown = next(
        part["content"]
        for part in elements_of(element(card, "reasoning"))
        if part["tag"] == "plain_text" and len(part["content"]) > 50
    )
    assert shown.startswith(texts("zh").reasoning_cut)
    assert shown.endswith("结尾")


def test_tools_are_lines_and_the_latest_ones_are_shown() -> None:
    many = tuple(
        Tool(f"t{number}", f"Read {number}", "read", "x" * 90, ToolStatus.DONE, "y" * 90) for number in range(100)
    )
    shown = json.dumps(element(reply_cards(View("t", tools=many), "en")[0], "tools"), ensure_ascii=False)
    assert "Read 99" in shown
    assert "Read 1 " not in shown
    assert "earlier" in shown


def test_what_agents_write_in_tools_and_plans_is_never_markdown() -> None:
    hostile = "<at id=all></at> **x** ![i](https://a.b)"
    view = View(
        "t",
        reasoning=hostile,
        tools=(Tool("t1", hostile, "read", hostile, ToolStatus.DONE, hostile),),
        plan=((hostile, "pending"),),
    )
    for part in elements_of(body(reply_cards(view, "en")[0])):
        assert part["tag"] != "markdown"


def test_a_failed_turn_keeps_its_text_and_says_what_to_do() -> None:
    view = View(
        "t", phase=Phase.FAILED, outcome=Outcome.FAILED, answer="half an answer", error="No model. <at id=all></at>"
    )
    (card,) = reply_cards(view, "en")
    shown = json.dumps(body(card), ensure_ascii=False)
    words = texts("en")
    for sentence in ("half an answer", "No model.", words.kept, words.failed_do):
        assert sentence in shown
        assert sentence in card.text
    assert "<at" not in shown


def test_parts_after_the_first_have_no_panels_and_a_number() -> None:
    view = View(
        "t",
        phase=Phase.DONE,
        outcome=Outcome.COMPLETED,
        answer=long_answer(size=60_000),
        reasoning="hm",
        tools=TOOLS,
        plan=PLAN,
        agent="demo",
    )
    drawn = reply_cards(view, "en")
    assert len(drawn) > 3
    for number, card in enumerate(drawn):
        assert ("header" in body(card)) is (number == 0)
        assert (element(card, "reasoning") is not None) is (number == 0)
        assert (element(card, "tools") is not None) is (number == 0)
        assert (element(card, "part") is not None) is (number > 0)
        assert (element(card, "continues") is not None) is (number < len(drawn) - 1)
        assert (element(card, "footer") is not None) is (number == len(drawn) - 1)


def test_only_the_last_part_streams_and_earlier_ones_are_complete() -> None:
    """A page that was left is sent once more and then rests until the turn ends; middle pages even beyond that."""
    text = long_answer(size=60_000)
    running = reply_cards(View("t", phase=Phase.REPLYING, answer=text[:20_000]), "en")
    later = reply_cards(View("t", phase=Phase.REPLYING, answer=text[:24_000]), "en")
    ended = reply_cards(View("t", phase=Phase.DONE, outcome=Outcome.COMPLETED, answer=text), "en")
    assert len(running) > 2
    assert [body(card)["config"]["streaming_mode"] for card in running] == [False] * (len(running) - 1) + [True]
    assert later[: len(running) - 1] == running[:-1]
    assert ended[1 : len(running) - 1] == running[1:-1]


@SLOW
@given(st.one_of(ANSWERS, NASTY), st.sampled_from(list(Phase)), st.integers(1, 30))
def test_no_card_is_over_budget_however_full(text: str, phase: Phase, times: int) -> None:
    full = '"\\\n字' * 3_000
    view = View(
        "turn_" + "x" * 35,
        phase=phase,
        answer="\n\n".join([text] * times),
        reasoning=full,
        tools=tuple(Tool(f"t{number}", full, "read", full, ToolStatus.DONE, full, full) for number in range(60)),
        plan=tuple((full, "pending") for _ in range(60)),
        usage=UsageReported(10**9, 10**9, 10**9),
        duration_ms=10**8,
        agent="a" * 60,
        model="字" * 60,
        unread=(full,),
        notes=(full,),
        lacks_right=True,
        lost_session=True,
        error=full,
    )
    buttons = tuple(Button("继续回答", {"do": "continue", "turn": "turn_" + "x" * 35}) for _ in range(3))
    for card in reply_cards(view, "zh", buttons=buttons):
        assert card_size(card.json) <= CARD_BYTES
        assert len(list(elements_of(body(card)))) <= CARD_ELEMENTS


def test_the_fullest_page_and_the_fullest_panels_fit_one_card() -> None:
    full = '"\\\n字' * 3_000
    view = View(
        "turn_" + "x" * 35,
        phase=Phase.FAILED,
        answer="```\n" + ('"' * 99 + "\n") * ((PAGE_BYTES - 100) // 399) + "```",
        reasoning=full,
        tools=tuple(Tool(f"t{number}", full, "read", full, ToolStatus.DONE, full, full) for number in range(60)),
        plan=tuple((full, "pending") for _ in range(60)),
        error=full,
        agent="a" * 60,
        model="字" * 60,
        unread=(full,),
        notes=(full,),
        lacks_right=True,
        lost_session=True,
        usage=UsageReported(10**9, 10**9, 10**9),
    )
    buttons = tuple(Button("继续回答", {"do": "continue", "turn": "turn_" + "x" * 35}) for _ in range(3))
    (card,) = reply_cards(view, "zh", buttons=buttons)
    assert CARD_BYTES - 3_000 < card_size(card.json) <= CARD_BYTES


def test_extra_buttons_stand_after_stop() -> None:
    (card,) = reply_cards(View("t"), "en", buttons=(Button("Continue", {"do": "continue", "turn": "t"}, "primary"),))
    assert [part["text"]["content"] for part in elements_of(body(card)) if part["tag"] == "button"] == [
        "Stop",
        "Continue",
    ]


OFFER = (Button("Continue", {"do": "continue", "turn": "t"}, "primary"),)


@pytest.mark.parametrize(("size", "told"), [(100, "interrupted_offer"), (60_000, "interrupted_offer_above")])
def test_an_offer_stands_above_the_footer_and_the_note_tells_where_it_is(size: int, told: str) -> None:
    words = texts("en")
    view = View("t", phase=Phase.INTERRUPTED, outcome=Outcome.INTERRUPTED, answer=long_answer(1, 1, size), agent="demo")
    drawn = reply_cards(view, "en", buttons=OFFER)
    assert (len(drawn) > 1) == (size > 100)
    note = f"{words.interrupted_note} {words.kept} {getattr(words, told)}"
    assert [note in card.text for card in drawn] == [False] * (len(drawn) - 1) + [True]
    ids = [part.get("element_id") for part in body(drawn[0])["body"]["elements"]]
    assert None in ids[-2:] and ids[-1] in ("footer", "continues")  # the row of buttons has no id of its own
    assert words.interrupted_do in reply_cards(view, "en")[-1].text


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nBoth are `x | y`.", "Both are x | y."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("You said:\n\n> hello\n> world\n\n---\n\n- one\n- two\n  - three", "You said: hello world one two three"),
        ("1. one\n2. two", "1. one 2. two"),
    ],
)
def test_the_chat_list_shows_no_signs_of_tables_quotations_and_lists(answer: str, line: str) -> None:
    view = View("t", phase=Phase.DONE, outcome=Outcome.COMPLETED, answer=answer)
    assert body(reply_cards(view, "en")[0])["config"]["summary"]["content"] == line


def test_the_chat_list_shows_the_state_and_then_the_answer() -> None:
    view = View("t", phase=Phase.REPLYING, answer="# Title\n\n**bold** text")
    assert body(reply_cards(view, "en")[0])["config"]["summary"]["content"] == "Replying…"
    done = replace(view, phase=Phase.DONE, outcome=Outcome.COMPLETED)
    assert body(reply_cards(done, "en")[0])["config"]["summary"]["content"] == "Title bold text"
    failed = replace(view, phase=Phase.FAILED, outcome=Outcome.FAILED)
    assert (
        body(reply_cards(failed, "en")[0])["config"]["summary"]["content"] == "[Something went wrong] Title bold text"
    )


def test_the_same_view_gives_the_same_bytes() -> None:
    for view in views("zh").values():
        assert reply_cards(view, "zh") == reply_cards(view, "zh")


def test_half_a_surrogate_and_control_characters_do_not_break_a_card() -> None:
    (card,) = reply_cards(View("t", phase=Phase.REPLYING, answer="a\ud83d\x00b"), "en")
    assert card.json.encode()
    assert card.answer == "a\ufffdb"


def test_a_text_message_mentions_nobody() -> None:
    card = notice_card("t", 'hello <at user_id="all"></at>', language="en")
    content = text_message(card)[1]
    assert "<at" not in content
    assert "</at" not in content


def test_every_card_has_both_languages() -> None:
    assert list(cards("zh")) == list(cards("en"))


def test_a_notice_that_is_too_long_is_cut_between_blocks() -> None:
    card = notice_card("t" * 500, "\n\n".join(["*" * 3_000, "```\n" + "x\n" * 3_000 + "```"] * 4), language="en")
    assert card_size(card.json) <= CARD_BYTES
    shown = (element(card, "body") or {})["content"]
    assert shown.endswith("…")
    assert shown.count("```") % 2 == 0
