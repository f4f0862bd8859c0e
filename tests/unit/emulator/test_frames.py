"""Our frame codec against the official protobuf definition."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark_channel.ws.pb.pbbp2_pb2 import Frame as OfficialFrame

from channels.emulator.frames import DATA, decode_frame, encode_frame

TEXTS = st.text(max_size=30) | st.sampled_from(["k" * 127, "v" * 128, "long" * 100])
HEADERS = st.dictionaries(TEXTS, TEXTS, max_size=4)


# A machine under load is slow to make inputs; that is no fault of the codec.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)


@CALM
@given(HEADERS, st.binary(max_size=200), st.integers(0, 2**31 - 1), st.integers(0, 2**63))
def test_official_definition_reads_our_frames(headers: dict[str, str], payload: bytes, service: int, seq: int) -> None:
    official = OfficialFrame()
    official.ParseFromString(encode_frame(DATA, tuple(headers.items()), payload, service=service, seq_id=seq))
    assert {each.key: each.value for each in official.headers} == headers
    assert (official.payload, official.service, official.SeqID, official.method) == (payload, service, seq, DATA)


@CALM
@given(HEADERS, st.binary(max_size=200), st.integers(0, 2**31 - 1), st.integers(0, 2**63))
def test_we_read_official_frames(headers: dict[str, str], payload: bytes, service: int, seq: int) -> None:
    official = OfficialFrame()
    official.SeqID, official.LogID, official.service, official.method = seq, 2**40, service, DATA
    official.payload, official.LogIDNew, official.payload_type = payload, "log", "json"
    for key, value in headers.items():
        header = official.headers.add()
        header.key, header.value = key, value
    frame = decode_frame(official.SerializeToString())
    assert (frame.headers, frame.payload, frame.service, frame.seq_id) == (headers, payload, service, seq)


def test_broken_frame_is_a_value_error() -> None:
    whole = encode_frame(DATA, (("type", "event"),), b"payload")
    for end in range(1, len(whole) - 1):
        try:
            decode_frame(whole[:end])
        except ValueError:
            continue
    with pytest.raises(ValueError, match="middle"):
        decode_frame(whole[:-1])
