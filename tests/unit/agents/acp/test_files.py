"""Files inside the session's folder, and no way out of it."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from channels.agents.acp.files import FileRefused, inside, read_if_there, read_text, write_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "session"
    made.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return made


def assert_outside_untouched(folder: Path) -> None:
    assert sorted(path.name for path in folder.parent.iterdir()) == ["secret.txt", "session"]
    assert (folder.parent / "secret.txt").read_text() == "secret"


def test_files_are_made_with_their_folders_and_read_again(folder: Path) -> None:
    write_text(folder, str(folder / "a/b/c.txt"), "één\ntwo\nthree\n")
    assert read_text(folder, "a/b/c.txt") == "één\ntwo\nthree\n"
    assert read_text(folder, "a/b/c.txt", 2, 1) == "two\n"
    assert read_text(folder, "a/b/c.txt", 3) == "three\n"
    assert read_text(folder, "a/b/c.txt", 9, 5) == ""
    assert [path.name for path in (folder / "a/b").iterdir()] == ["c.txt"]


def test_two_who_write_one_file_at_once_both_write_it_whole(folder: Path) -> None:
    """Agents hand over several files at a time, and several topics may work in one folder (/cd)."""
    texts, rounds = [sign * 200_000 for sign in "abcd"], range(25)
    with ThreadPoolExecutor(len(texts)) as threads:
        for _ in rounds:
            for done in [threads.submit(write_text, folder, "same.txt", text) for text in texts]:
                done.result()
            assert (folder / "same.txt").read_text() in texts
    assert [path.name for path in folder.iterdir()] == ["same.txt"]


def test_a_file_keeps_its_rights(folder: Path) -> None:
    script = folder / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    write_text(folder, "run.sh", "new")
    assert script.read_text() == "new"
    assert script.stat().st_mode & 0o777 == 0o750


ESCAPES = ["../secret.txt", "/etc/passwd", "a/../../secret.txt", "out/secret.txt", "link.txt", "dangling", "x\0y", ""]


@pytest.mark.parametrize("path", ESCAPES)
def test_what_leads_out_is_neither_read_nor_written(folder: Path, path: str) -> None:
    (folder / "out").symlink_to(folder.parent)
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "dangling").symlink_to(folder.parent / "made-outside.txt")
    with pytest.raises(FileRefused):
        read_text(folder, path)
    with pytest.raises(FileRefused):
        write_text(folder, path, "x")
    assert_outside_untouched(folder)


def test_links_that_stay_inside_are_followed(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real/a.txt").write_text("a")
    (folder / "alias").symlink_to("real")
    assert read_text(folder, "alias/a.txt") == "a"
    write_text(folder, "alias/a.txt", "b")
    assert (folder / "real/a.txt").read_text() == "b"


def test_a_hard_link_to_the_outside_is_cut_not_followed(folder: Path) -> None:
    os.link(folder.parent / "secret.txt", folder / "hard.txt")
    write_text(folder, "hard.txt", "mine")
    assert_outside_untouched(folder)


def test_a_folder_named_through_a_link_is_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(folder)
    (folder / "a.txt").write_text("a")
    assert read_text(tmp_path / "other", str(tmp_path / "other" / "a.txt")) == "a"
    assert inside(folder, str(tmp_path / "other" / "a.txt")) == folder / "a.txt"


def test_what_is_no_plain_text_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "data.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "folder").mkdir()
    for name in ("pipe", "data.bin", "folder"):
        with pytest.raises(FileRefused):
            read_text(folder, name)
    for name in ("pipe", "folder"):
        with pytest.raises(FileRefused):
            write_text(folder, name, "x")


def test_too_much_is_refused(folder: Path) -> None:
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(9 * 2**20)
    with pytest.raises(FileRefused, match="bytes"):
        read_text(folder, "huge.txt")
    with pytest.raises(FileRefused, match="bytes"):
        write_text(folder, "new.txt", "x" * 9 * 2**20)


def test_a_file_that_is_not_there_is_nothing_before_a_change(folder: Path) -> None:
    assert read_if_there(folder, "new.txt") is None
    with pytest.raises(FileRefused):
        read_if_there(folder, "../secret.txt")


def test_a_link_that_is_swapped_in_meanwhile_never_leads_out(folder: Path) -> None:
    """One thread makes `door` a folder, then a link to the outside, as fast as it can; the other writes through it."""
    over, door = threading.Event(), folder / "door"
    (folder / "real").mkdir()
    (folder / "out").symlink_to(folder.parent)

    def swap() -> None:
        while not over.is_set():
            for thing in (folder / "real", folder / "out"):
                try:
                    thing.rename(door)
                    door.rename(thing)
                except OSError:  # the other side has made a folder of that name
                    shutil.rmtree(door, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    written = refused = 0
    for _ in range(4_000):
        try:
            write_text(folder, "door/secret.txt", "mine")
            written += 1
        except FileRefused:
            refused += 1
    over.set()
    thread.join()
    assert_outside_untouched(folder)
    assert written
    assert refused


def test_a_name_may_be_as_long_as_the_file_system_takes(folder: Path) -> None:
    name = "中" * 84  # 252 bytes
    write_text(folder, name, "text")
    assert read_text(folder, name) == "text"
