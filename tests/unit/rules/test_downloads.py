"""Names of files that people send: harmless on any system, whatever they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.downloads import LONGEST_NAME_BYTES, ending_of, file_name, numbered

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("季度 报告.docx", "季度 报告.docx"),
        ("a  b\tc.txt", "a b_c.txt"),
        ("../../etc/passwd", "_._etc_passwd"),
        ("/etc/passwd", "_etc_passwd"),
        ("..\\..\\boot.ini", "_.._boot.ini"),
        ("C:\\x.txt", "C__x.txt"),
        ("a\x00b", "a_b"),
        ("line\nbreak.txt", "line_break.txt"),
        (".bashrc", "bashrc"),
        ("...", "file"),
        ("", "file"),
        ("   ", "file"),
        ("/", "file"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("com1.tar.gz", "_com1.tar.gz"),
        ("\u202egnp.exe", "_gnp.exe"),
        ("trailing. ", "trailing"),
        ("a.b.c", "a.b.c"),
        ("ends.with.a.very-long-ending-that-is-none", "ends.with.a.very-long-ending-that-is-none"),
    ],
)
def test_names(sent: str, kept: str) -> None:
    assert file_name(sent, "file") == kept


@pytest.mark.parametrize(
    ("kind", "data", "kept"),
    [
        ("image", PNG, "picture.png"),
        ("image", b"\xff\xd8\xff", "picture.jpg"),
        ("image", b"RIFF....WEBP", "picture.webp"),
        ("image", b"?", "picture"),
        ("audio", b"OggS", "voice.opus"),
        ("video", b"....ftypmp42", "video.mp4"),
        ("file", b"%PDF-1.7", "file.pdf"),
        ("hologram", b"", "file"),
    ],
)
def test_what_has_no_name_gets_one_by_its_kind_and_bytes(kind: str, data: bytes, kept: str) -> None:
    assert file_name("", kind, data) == kept


def test_a_long_name_keeps_its_ending() -> None:
    name = file_name("长" * 300 + ".xlsx", "file")
    assert name.endswith("长.xlsx")
    assert len(name.encode()) <= LONGEST_NAME_BYTES


@given(st.text(max_size=300) | st.text("./\\ \x00:~CONnul\u202e", max_size=20), st.binary(max_size=16))
def test_no_name_is_more_than_a_harmless_component(sent: str, data: bytes) -> None:
    name = file_name(sent, "image", data)
    assert name.strip(". ") and name not in (".", "..")
    assert not set(name) & set('/\\:*?"<>|\x00\n\r\t')
    assert name.isprintable() and not name.startswith((".", " ")) and not name.endswith((".", " "))
    assert 0 < len(name.encode()) <= LONGEST_NAME_BYTES + 1
    assert file_name(name, "image", data) == name


def test_numbers_stand_before_the_ending() -> None:
    assert [numbered("a.tar.gz", number) for number in (1, 2)] == ["a.tar.gz", "a.tar (2).gz"]
    assert numbered("file", 3) == "file (3)"


def test_unknown_bytes_have_no_ending() -> None:
    assert ending_of(b"hello") == ""
