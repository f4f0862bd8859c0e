"""Lines out of bytes, however they are cut, in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from channels.agents.acp.framing import HEAD_BYTES, LineCutter, Oversized


def taken(cutter: LineCutter) -> list[bytes | Oversized]:
    lines = []
    while (line := cutter.take()) is not None:
        lines.append(line)
    return lines


@given(st.binary(max_size=300), st.lists(st.integers(1, 50), min_size=1))
def test_however_the_bytes_are_cut_the_lines_are_the_same(data: bytes, sizes: list[int]) -> None:
    cutter, lines, at, turn = LineCutter(), list[bytes | Oversized](), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        cutter.feed(data[at : at + size])
        lines += taken(cutter)
        at, turn = at + size, turn + 1
    assert lines == list(data.split(b"\n")[:-1])


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 64))
def test_lines_over_the_limit_are_told_of_once_and_the_others_stand(lengths: list[int], size: int) -> None:
    data = b"".join(b"%c" % (97 + index % 26) * length + b"\n" for index, length in enumerate(lengths))
    cutter, lines = LineCutter(20), list[bytes | Oversized]()
    for at in range(0, len(data), size):
        cutter.feed(data[at : at + size])
        lines += taken(cutter)
    assert [isinstance(line, Oversized) for line in lines] == [length > 20 for length in lengths]
    assert [line for line in lines if isinstance(line, bytes)] == [
        b"%c" % (97 + index % 26) * length for index, length in enumerate(lengths) if length <= 20
    ]


def test_a_line_without_an_end_is_told_of_at_once_and_takes_no_memory() -> None:
    cutter = LineCutter(10_000)
    cutter.feed(b'{"method":"x"' + b"y" * 20_000)
    told = cutter.take()
    assert isinstance(told, Oversized)
    assert told.head.startswith(b'{"method":"x"')
    assert len(told.head) == HEAD_BYTES
    for _ in range(100):
        cutter.feed(b"z" * 100_000)
        assert cutter.take() is None
    assert len(cutter._buffer) <= 100_000
    cutter.feed(b"\nnext\n")
    assert taken(cutter) == [b"next"]
