import base64
import contextlib
import json
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark_channel.ws.pb.pbbp2_pb2 import Frame as WireFrame

from channels.feishu.frames import DATA, FAILED, OK, BadFrame, Chunks, Frame, ack, decode, encode, ping

U64 = st.integers(0, 2**64 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FRAMES = st.builds(
    Frame,
    U64,
    U64,
    I32,
    I32,
    st.lists(st.tuples(TEXT, TEXT), max_size=6).map(tuple),
    st.binary(max_size=100),
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
)


def official(frame: Frame) -> bytes:
    """The frame's bytes as the official classes write them."""
    wire = WireFrame()
    wire.SeqID, wire.LogID, wire.service, wire.method = frame.seq_id, frame.log_id, frame.service, frame.method
    for key, value in frame.headers:
        header = wire.headers.add()
        header.key, header.value = key, value
    wire.payload = frame.payload
    for name, text in (
        ("payload_encoding", frame.payload_encoding),
        ("payload_type", frame.payload_type),
        ("LogIDNew", frame.log_id_new),
    ):
        if text is not None:
            setattr(wire, name, text)
    return bytes(wire.SerializeToString())


@given(FRAMES)
def test_the_official_classes_write_the_same_bytes_and_read_ours(frame: Frame) -> None:
    assert encode(frame) == official(frame)
    assert decode(official(frame)) == frame


@given(FRAMES, st.binary(max_size=30))
def test_unknown_fields_are_passed_over(frame: Frame, extra: bytes) -> None:
    for tag, body in ((b"\x82\x01", bytes([len(extra)]) + extra), (b"\x80\x01", b"\xff\x7f"), (b"\x81\x01", b"8" * 8)):
        assert decode(encode(frame) + tag + body) == frame
    assert decode(encode(frame) + b"\x85\x01" + b"4444") == frame


@pytest.mark.parametrize(
    "tail", [b"\x08", b"\x42\x05abc", b"\x2a\x00", b"\x2a\x03\x0a\x01k", b"\x0b", b"\x81\x01xx", b"\x08" + b"\xff" * 11]
)
def test_what_breaks_off_is_bad(tail: bytes) -> None:
    with pytest.raises(BadFrame):
        decode(encode(Frame(1, 2, 3, 1)) + tail)


@given(st.binary(max_size=80))
def test_junk_is_a_bad_frame_or_a_frame_never_another_error(data: bytes) -> None:
    try:
        frame = decode(data)
    except BadFrame:
        return
    assert decode(encode(frame)).headers == frame.headers


@given(FRAMES, st.data())
def test_a_damaged_frame_is_a_bad_frame_or_a_frame(frame: Frame, data: st.DataObject) -> None:
    wire = bytearray(encode(frame))
    at = data.draw(st.integers(0, len(wire) - 1))
    wire[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(BadFrame):
        decode(bytes(wire))


def test_a_frame_without_required_fields_is_bad() -> None:
    with pytest.raises(BadFrame):
        decode(b"")
    wire = WireFrame()
    wire.SeqID = 1
    with pytest.raises(BadFrame):
        decode(bytes(wire.SerializePartialToString()))


def test_ping_is_what_the_official_client_sends() -> None:
    frame = decode(encode(ping(42)))
    assert (frame.service, frame.method, frame.headers, frame.payload) == (42, 0, (("type", "ping"),), b"")


EVENT = Frame(7, 8, 9, DATA, (("type", "event"), ("message_id", "m"), ("odd", "kept")), b"{}", "gzip", None, "new")


RECEIVED = decode(encode(EVENT))


def test_an_ack_is_the_frame_with_a_verdict() -> None:
    answer = decode(ack(RECEIVED, OK, None, 12))
    assert answer.payload == b'{"code":200}'
    assert answer.headers == (*EVENT.headers, ("biz_rt", "12"))
    assert replace(answer, headers=(), payload=b"") == replace(EVENT, headers=(), payload=b"")
    assert decode(ack(RECEIVED, FAILED)).payload == b'{"code":500}'


def test_a_clicks_answer_travels_as_base64_of_json() -> None:
    data = {"toast": {"type": "success", "content": "好"}}
    body = json.loads(decode(ack(RECEIVED, OK, data)).payload)
    assert body["code"] == 200
    assert json.loads(base64.b64decode(body["data"])) == data


@pytest.mark.parametrize("text", ["-1", "x", "", "1.5", "99999999999", "²"])
def test_a_header_that_is_no_number_is_the_default(text: str) -> None:
    assert Frame(headers=(("sum", text),)).number("sum", 1) == 1


def chunk(seq: int, total: int, payload: bytes, key: str = "m") -> Frame:
    return Frame(method=DATA, headers=(("message_id", key), ("sum", str(total)), ("seq", str(seq))), payload=payload)


THREE = [chunk(0, 3, b"a"), chunk(1, 3, b"b"), chunk(2, 3, b"c")]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_chunks_come_in_any_order(order: tuple[int, ...]) -> None:
    chunks = Chunks()
    results = [chunks.add(THREE[index], 0.0) for index in order]
    assert results == [None, None, b"abc"]
    assert len(chunks) == 0


def test_a_repeated_chunk_changes_nothing_before_and_after_completion() -> None:
    chunks = Chunks()
    assert [chunks.add(THREE[index], 0.0) for index in (0, 0, 1, 1)] == [None] * 4
    assert chunks.add(THREE[2], 0.0) == b"abc"
    assert [chunks.add(frame, 1.0) for frame in THREE + THREE] == [None] * 6


def test_a_refused_event_may_complete_again() -> None:
    chunks = Chunks()
    assert [chunks.add(frame, 0.0) for frame in THREE][-1] == b"abc"
    chunks.unmark(THREE[0])
    assert [chunks.add(frame, 1.0) for frame in THREE][-1] == b"abc"


def test_the_first_redelivery_after_15_s_gets_through() -> None:
    chunks = Chunks()
    assert [chunks.add(frame, 0.0) for frame in THREE][-1] == b"abc"
    assert [chunks.add(frame, 15.0) for frame in THREE][-1] == b"abc"


def test_an_incomplete_event_expires_after_5_s() -> None:
    chunks = Chunks()
    assert chunks.add(THREE[0], 0.0) is None
    assert [chunks.add(frame, 5.0) for frame in THREE[1:]] == [None, None]
    assert chunks.add(THREE[0], 5.1) == b"abc"


def test_two_events_do_not_mix() -> None:
    chunks = Chunks()
    assert chunks.add(chunk(0, 2, b"x", "one"), 0.0) is None
    assert chunks.add(chunk(0, 2, b"y", "two"), 0.0) is None
    assert chunks.add(chunk(1, 2, b"Y", "two"), 0.0) == b"yY"
    assert chunks.add(chunk(1, 2, b"X", "one"), 0.0) == b"xX"


def test_a_frame_that_is_not_chunked_passes_every_time() -> None:
    chunks = Chunks()
    whole = Frame(method=DATA, headers=(("message_id", "m"),), payload=b"p")
    assert [chunks.add(whole, 0.0), chunks.add(whole, 0.0), chunks.add(chunk(0, 1, b"q"), 0.0)] == [b"p", b"p", b"q"]


@pytest.mark.parametrize("frame", [chunk(3, 3, b"x"), chunk(0, 99999, b"x"), chunk(0, 3, b"x", key="")])
def test_absurd_chunks_are_dropped(frame: Frame) -> None:
    chunks = Chunks()
    assert chunks.add(frame, 0.0) is None
    assert len(chunks) == 0


def test_another_total_starts_anew() -> None:
    chunks = Chunks()
    assert chunks.add(chunk(0, 3, b"old"), 0.0) is None
    assert [chunks.add(chunk(index, 2, part), 0.0) for index, part in ((0, b"n"), (1, b"ew"))][-1] == b"new"


def test_memory_is_bounded_in_events_and_bytes() -> None:
    chunks = Chunks(most_ids=10, most_bytes=1000)
    for index in range(100):
        chunks.add(chunk(0, 2, b"x" * 10, str(index)), 0.0)
    assert len(chunks) == 10
    chunks.add(chunk(0, 2, b"y" * 995, "large"), 0.0)
    assert len(chunks) == 1
    assert chunks.add(chunk(1, 2, b"!", "large"), 0.0) == b"y" * 995 + b"!"


def test_clear_forgets_what_was_complete_too() -> None:
    chunks = Chunks()
    assert [chunks.add(frame, 0.0) for frame in THREE][-1] == b"abc"
    chunks.clear()
    assert [chunks.add(frame, 0.0) for frame in THREE][-1] == b"abc"


@given(FRAMES, st.binary(max_size=5))
def test_the_official_classes_read_an_ack_of_any_frame(frame: Frame, extra: bytes) -> None:
    unknown = b"\x82\x01" + bytes([len(extra)]) + extra
    wire = WireFrame()
    wire.ParseFromString(ack(decode(official(frame) + unknown), OK, None, 3))
    answered = decode(wire.SerializeToString())
    assert answered == replace(frame, headers=(*frame.headers, ("biz_rt", "3")), payload=b'{"code":200}')
