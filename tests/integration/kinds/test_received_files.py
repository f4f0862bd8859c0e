"""Files on a real disk: whole or not at all, never outside, never in the place of another."""

import os
from pathlib import Path

import pytest

from channels.service.received_files import save_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "inbox").iterdir())


def test_a_file_is_kept_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "p2p" / "u_1"
    assert save_file(folder, "a.txt", b"one") == "inbox/a.txt"
    path = folder / "inbox" / "a.txt"
    assert path.read_bytes() == b"one"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert names(folder) == ["a.txt"]


def test_another_file_of_that_name_is_numbered_and_the_same_is_kept_once(tmp_path: Path) -> None:
    saved = [save_file(tmp_path, "a.txt", data) for data in (b"one", b"two", b"two", b"one", b"three")]
    assert saved == [f"inbox/{name}" for name in ("a.txt", "a (2).txt", "a (2).txt", "a.txt", "a (3).txt")]
    assert names(tmp_path) == ["a (2).txt", "a (3).txt", "a.txt"]


def test_a_link_in_the_place_of_a_file_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    folder = tmp_path / "folder"
    save_file(folder, "other", b"")
    (folder / "inbox" / "a.txt").symlink_to(outside)
    (folder / "inbox" / "a (2).txt").symlink_to(tmp_path / "nowhere")
    assert save_file(folder, "a.txt", b"secret") == "inbox/a (3).txt"
    assert outside.read_bytes() == b"secret"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("link", ["inbox", "."])
def test_a_folder_that_is_a_link_takes_nothing(tmp_path: Path, link: str) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    if link == "inbox":
        folder.mkdir()
    (folder / link).symlink_to(outside)
    with pytest.raises(OSError):
        save_file(folder, "a.txt", b"one")
    assert list(outside.rglob("*")) == []


def test_a_queue_in_the_place_of_a_file_does_not_hold_us_up(tmp_path: Path) -> None:
    save_file(tmp_path, "other", b"")
    os.mkfifo(tmp_path / "inbox" / "a.txt")
    assert save_file(tmp_path, "a.txt", b"one") == "inbox/a (2).txt"


def test_a_full_disk_leaves_nothing_half(tmp_path: Path) -> None:
    """A name that no file system takes stands in for it: the passing file is gone, the error comes out."""
    with pytest.raises(OSError):
        save_file(tmp_path, "x" * 300, b"one")
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_in_a_git_folder_the_files_are_not_committed(tmp_path: Path, kind: str) -> None:
    (tmp_path / ".git").mkdir() if kind == "folder" else (tmp_path / ".git").write_text("gitdir: elsewhere")
    for data in (b"one", b"two"):
        save_file(tmp_path, "a.txt", data)
    assert names(tmp_path) == [".gitignore", "a (2).txt", "a.txt"]
    assert (tmp_path / "inbox" / ".gitignore").read_text() == "*\n"
