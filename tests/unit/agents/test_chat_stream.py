"""Bytes to chunks to events, cut anywhere, odd in every way."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.agents.chat_answer import Answer
from channels.agents.chat_stream import Chunk, DamagedStream, SseReader, ThinkSplitter, read_chunk
from channels.agents.failures import BrokenStream, EmptyAnswer, Failure, Filtered, ServerSaid
from channels.rules.agent_event import Outcome, ReasoningDelta, TextDelta, UsageReported

STREAM = ': hello\r\n\r\nevent: x\ndata: {"a":\ndata: "世"}\n\nid: 1\ndata:second\r\n\r\ndata: third'.encode()
EVENTS = ['{"a":\n"世"}', "second", "third"]


def read(*pieces: bytes) -> list[str]:
    reader = SseReader()
    found = [data for piece in pieces for data in reader.feed(piece)]
    return [*found, *reader.finish()]


@given(st.lists(st.integers(min_value=0, max_value=len(STREAM)), max_size=20))
def test_events_do_not_depend_on_the_cuts(cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(STREAM)]
    assert read(*[STREAM[a:b] for a, b in pairwise(bounds)]) == EVENTS


def test_line_without_end_is_refused() -> None:
    reader = SseReader()
    with pytest.raises(DamagedStream):
        for _ in range(40):
            list(reader.feed(b"x" * 65536))


def test_event_without_end_is_refused() -> None:
    reader = SseReader()
    with pytest.raises(DamagedStream):
        for _ in range(40):
            list(reader.feed(b"data: " + b"x" * 65536 + b"\n"))


def delta(**fields: object) -> str:
    return json.dumps({"choices": [{"delta": fields}]})


@pytest.mark.parametrize(
    ("data", "chunk"),
    [
        (" [DONE] ", Chunk(done=True)),
        (delta(content="a"), Chunk(text="a")),
        (delta(content=None), Chunk()),
        (delta(refusal="no"), Chunk(text="no")),
        (delta(reasoning="r", content="a"), Chunk(text="a", reasoning="r")),
        (delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 7]), Chunk(text="ab")),
        (delta(content=[{"type": "thinking", "thinking": [{"text": "r"}]}]), Chunk(reasoning="r")),
        ('{"choices": [{"text": "old", "finish_reason": "stop"}]}', Chunk(text="old", finish="stop")),
        ('{"choices": null}', Chunk()),
        ('{"choices": [null]}', Chunk()),
        ('{"choices": "x", "usage": null}', Chunk()),
        ('{"choices": [{"delta": []}]}', Chunk()),
        ('{"error": {"message": "m", "code": 1}}', Chunk(error="m")),
        ('{"error": "m"}', Chunk(error="m")),
        ('{"error": {"code": 7}}', Chunk(error="")),
        ('{"error": null, "choices": []}', Chunk()),
        ('{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}', Chunk(usage=UsageReported(3, 4))),
        ('{"usage": {"prompt_tokens": 3, "prompt_cache_hit_tokens": 2}}', Chunk(usage=UsageReported(3, 0, 2))),
        (
            '{"usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}}',
            Chunk(usage=UsageReported(3, 0, 3)),
        ),
        ('{"usage": {"prompt_tokens": "3", "completion_tokens": -1, "x": 1}}', Chunk(usage=UsageReported())),
    ],
)
def test_chunks_of_every_make(data: str, chunk: Chunk) -> None:
    assert read_chunk(data) == chunk


@pytest.mark.parametrize("data", ["", "{", "[]", "7", '"text"', "<html>", "[" * 100_000])
def test_what_is_no_object_is_damage(data: str) -> None:
    with pytest.raises(DamagedStream):
        read_chunk(data)


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    events = [event for piece in pieces for event in splitter.events(Chunk(text=piece))] + list(splitter.finish())
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    return thought, "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("whole", "thought", "answer"),
    [
        ("plain", "", "plain"),
        ("  plain", "", "  plain"),
        ("<think>a\nb</think>\n\nanswer", "a\nb", "answer"),
        ("\n<think></think>answer", "", "answer"),
        ("<think>never closed", "never closed", ""),
        ("<think>a</thin", "a</thin", ""),
        ("<think>a < b </thinking></think>c", "a < b </thinking>", "c"),
        ("say <think>x</think>", "", "say <think>x</think>"),
        ("<thin", "", "<thin"),
        ("<b>", "", "<b>"),
        ("<think>a</think>b</think>", "a", "b</think>"),
        ("   ", "", "   "),
    ],
)
def test_think_tags_in_one_piece_and_letter_by_letter(whole: str, thought: str, answer: str) -> None:
    assert split(whole) == (thought, answer)
    assert split(*whole) == (thought, answer)


@given(st.text(alphabet="<>/think a\n", max_size=60), st.integers(min_value=1, max_value=9))
def test_think_tags_do_not_depend_on_the_cuts(whole: str, size: int) -> None:
    assert split(*[whole[at : at + size] for at in range(0, len(whole), size)]) == split(whole)


@pytest.mark.parametrize(
    ("chunks", "result"),
    [
        ([Chunk("a"), Chunk(finish="stop")], Outcome.COMPLETED),
        ([Chunk("a"), Chunk(done=True)], Outcome.COMPLETED),
        ([Chunk("a", finish="tool_calls")], Outcome.COMPLETED),
        ([Chunk("a", finish="length")], Outcome.MAX_TOKENS),
        ([Chunk(reasoning="r", finish="length")], Outcome.MAX_TOKENS),
        ([Chunk("0123456789")], Outcome.MAX_TOKENS),
        ([Chunk("a")], BrokenStream(begun=True)),
        ([], BrokenStream(begun=False)),
        ([Chunk(reasoning="r")], BrokenStream(begun=True)),
        ([Chunk("a", finish="insufficient_system_resource")], BrokenStream(begun=True)),
        ([Chunk(finish="stop")], EmptyAnswer()),
        ([Chunk(" \n", finish="stop")], EmptyAnswer()),
        ([Chunk(reasoning="r", finish="stop")], EmptyAnswer()),
        ([Chunk("a", finish="content_filter")], Filtered()),
        ([Chunk("a"), Chunk(error="e")], ServerSaid("e")),
        ([Chunk(error="")], ServerSaid("")),
    ],
)
def test_how_an_answer_ends(chunks: list[Chunk], result: Outcome | Failure) -> None:
    answer = Answer(most_characters=10)
    for chunk in chunks:
        list(answer.take(chunk))
    assert answer.result() == result


def test_bound_cuts_the_last_delta() -> None:
    answer = Answer(most_characters=5)
    events = [event for chunk in (Chunk("abc", "r"), Chunk("def"), Chunk("ghi")) for event in answer.take(chunk)]
    assert events == [ReasoningDelta("r"), TextDelta("abc"), TextDelta("d")]
    assert answer.over
