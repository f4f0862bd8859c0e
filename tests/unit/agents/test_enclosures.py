"""What of a question's files a chat model is given."""

import base64
from pathlib import Path

import pytest

from channels.agents import enclosures
from channels.agents.enclosures import enclose, has_files
from channels.agents.protocol import Attachment, TurnRequest
from channels.ids import SessionId, TurnId

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def request(*attachments: Attachment, text: str = "look", language: str = "en") -> TurnRequest:
    return TurnRequest(TurnId("t"), SessionId("s"), text, None, attachments=attachments, language=language)


@pytest.fixture
def kept(tmp_path: Path) -> "Kept":
    return Kept(tmp_path)


class Kept:
    """Files as the service keeps them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str, data: bytes, kind: str = "file") -> Attachment:
        path = self.folder / name
        path.write_bytes(data)
        return Attachment(kind, name, path, len(data))


def test_a_picture_goes_as_data_where_the_model_sees(kept: Kept) -> None:
    found = enclose(request(kept.file("a.png", PNG, "image")), vision=True)
    assert found.pictures == ("data:image/png;base64," + base64.b64encode(PNG).decode(),)
    assert found.text == "look"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "look\n\n(Not shown to you: a.png)"), ("zh", "look\n\n（以下内容未随附：a.png）")]
)
def test_a_picture_is_only_named_where_it_does_not(kept: Kept, language: str, said: str) -> None:
    found = enclose(request(kept.file("a.png", PNG, "image"), language=language), vision=False)
    assert (found.text, found.pictures) == (said, ())


def test_a_text_file_goes_in_its_words(kept: Kept) -> None:
    found = enclose(request(kept.file("a.md", "héllo\n```py\nx\n```\n".encode())), vision=False)
    assert found.text == "look\n\na.md:\n````\nhéllo\n```py\nx\n```\n````"


@pytest.mark.parametrize("data", [b"a\x00b", b"\xff\xfe\xfd", b"x" * (enclosures.TEXT_LIMIT_BYTES + 1)])
def test_what_is_no_short_text_is_named(kept: Kept, data: bytes) -> None:
    assert enclose(request(kept.file("a.bin", data)), vision=True).text.endswith("(Not shown to you: a.bin)")


def test_all_texts_together_are_bounded(kept: Kept) -> None:
    files = [kept.file(f"{number}.txt", b"x" * 60_000) for number in range(4)]
    found = enclose(request(*files), vision=False)
    assert len(found.text) < enclosures.ALL_TEXT_LIMIT_BYTES + 1_000
    assert "Not shown to you: 2.txt, 3.txt" in found.text


def test_at_most_ten_pictures_and_none_too_large(kept: Kept) -> None:
    files = [kept.file(f"{number}.png", PNG, "image") for number in range(11)]
    large = kept.file("large.png", PNG + bytes(enclosures.PICTURE_LIMIT_BYTES), "image")
    found = enclose(request(large, *files), vision=True)
    assert len(found.pictures) == enclosures.PICTURES_AT_MOST
    assert "Not shown to you: large.png, 10.png" in found.text


def test_a_link_in_the_place_of_a_file_is_not_followed(kept: Kept) -> None:
    secret = kept.folder / "secret"
    secret.write_text("secret")
    link = kept.folder / "a.txt"
    link.symlink_to(secret)
    found = enclose(request(Attachment("file", "a.txt", link, 6)), vision=True)
    assert "secret" not in found.text


def test_what_could_not_be_read_has_no_file(kept: Kept) -> None:
    missing = Attachment("file", "b.zip", None, why="too large")
    assert not has_files(request(missing))
    assert enclose(request(missing), vision=True).text == "look"
    assert has_files(request(kept.file("a.txt", b"a")))
