"""Backups and restores of a closed file; a restore that is killed at any point leaves the old file or the new one."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from channels.errors import Refused, StartRefused
from channels.rules.anchor import Anchor
from channels.store.anchor import read_beside, write_anchor
from channels.store.copies import back_up_closed, inspect_copy, look_into, mark_copy, put_back
from channels.store.domain_file import open_domain_file
from channels.store.lock import FileLock
from channels.store.transactions.quarantine import read_anchor, read_suspicion
from tests.store.tables.conftest import Store

NOW = 1_796_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "channels.db"


def boot(path: Path, times: int = 1) -> Anchor:
    """Let a service own the file; the last numbers are in its anchor."""
    for _ in range(times):
        store = Store(path)
        found = store.run(read_anchor)
        store.close()
    assert found is not None
    write_anchor(path, found)
    return found


def leave_killed(path: Path) -> None:
    """A boot whose process was killed: its commits are in the -wal alone."""
    alive = path.with_name("alive.db")
    store = Store(alive) if not path.exists() else _opened(path, alive)
    store.run(read_anchor)
    for side in ("", "-wal"):
        shutil.copyfile(alive.with_name(alive.name + side), path.with_name(path.name + side))
    store.close()
    for each in path.parent.glob("alive.db*"):
        each.unlink()


def _opened(path: Path, alive: Path) -> Store:
    shutil.copyfile(path, alive)
    return Store(alive)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


class TestBackup:
    def test_a_closed_file_is_copied_with_what_its_wal_holds(self, path: Path, tmp_path: Path) -> None:
        boot(path)
        leave_killed(path)
        back_up_closed(path, tmp_path / "copy.db", NOW)
        assert inspect_copy(tmp_path / "copy.db").anchor.epoch == 2
        assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
        assert names(tmp_path) == ["copy.db", "data"]

    def test_it_never_overwrites_and_never_invents(self, path: Path, tmp_path: Path) -> None:
        path.parent.mkdir()
        with pytest.raises(Refused, match="nothing to copy"):
            back_up_closed(path, tmp_path / "copy.db", NOW)
        assert not path.exists()
        boot(path)
        (tmp_path / "copy.db").write_text("somebody's")
        with pytest.raises(Refused, match="never overwrites"):
            back_up_closed(path, tmp_path / "copy.db", NOW)
        assert (tmp_path / "copy.db").read_text() == "somebody's"

    def test_a_file_in_use_is_refused(self, path: Path, tmp_path: Path) -> None:
        boot(path)
        lock = FileLock.acquire(path, NOW)
        with pytest.raises(StartRefused, match=f"in use by process {os.getpid()}"):
            back_up_closed(path, tmp_path / "copy.db", NOW)
        lock.release()

    def test_a_marked_copy_is_recognised_with_nothing_beside_it_that_could_tell(
        self, path: Path, tmp_path: Path
    ) -> None:
        boot(path)
        back_up_closed(path, tmp_path / "copy.db", NOW)
        with look_into(path, NOW) as tx:
            assert read_suspicion(tx, read_beside(path)) is None
        mark_copy(tmp_path / "copy.db", NOW)
        assert names(tmp_path) == ["copy.db", "data"]
        shutil.copyfile(tmp_path / "copy.db", path)
        with look_into(path, NOW) as tx:
            assert read_suspicion(tx, read_beside(path)) == "a backup was put in its place"


class TestLookingInto:
    def test_nothing_is_written_to_the_file(self, path: Path) -> None:
        boot(path)
        leave_killed(path)
        before = {each.name: each.read_bytes() for each in path.parent.iterdir() if "lock" not in each.name}
        with look_into(path, NOW) as tx:
            found = read_anchor(tx)
        assert found is not None and found.epoch == 2
        assert {name: (path.parent / name).read_bytes() for name in before} == before

    def test_a_damaged_copy_is_named(self, path: Path) -> None:
        boot(path)
        content = bytearray(path.read_bytes())
        content[20_000:40_000] = b"\x55" * 20_000
        path.write_bytes(content)
        with pytest.raises(Refused, match=r"damaged|cannot be read"):
            inspect_copy(path)

    def test_what_is_no_copy_of_ours_is_refused(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "theirs.db")) as other:
            other.execute("CREATE TABLE letters (x)")
        with pytest.raises(StartRefused, match="another program"):
            inspect_copy(tmp_path / "theirs.db")
        (tmp_path / "letter").write_text("dear all, " * 30)
        with pytest.raises(StartRefused, match="not a database"):
            inspect_copy(tmp_path / "letter")
        with pytest.raises(Refused, match="missing or empty"):
            inspect_copy(tmp_path / "gone.db")


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    """A backup of epoch 1, and a file that has gone on to epoch 3 and was killed there."""
    boot(path)
    back_up_closed(path, tmp_path / "copy.db", NOW)
    boot(path)
    leave_killed(path)
    return tmp_path / "copy.db"


def epoch_of(path: Path) -> int:
    with look_into(path, NOW) as tx:
        found = read_anchor(tx)
    assert found is not None
    return found.epoch


class TestRestore:
    def test_the_copy_is_there_the_old_file_is_kept_whole_and_the_mark_is_left(self, path: Path, copy: Path) -> None:
        path.with_name("channels.db-shm").write_bytes(b"left by another program")
        done = put_back(copy, path, NOW)
        assert epoch_of(path) == 1
        assert done.kept is not None and epoch_of(done.kept) == 3
        assert copy.exists()
        left = [name for name in names(path.parent) if not name.endswith(".lock")]
        kept = done.kept.name
        assert left == ["channels.db", "channels.db.anchor", kept, "channels.db.restored"]
        with look_into(path, NOW) as tx:
            assert read_suspicion(tx, read_beside(path)) == "a backup was put back with `channels restore`"
        again = put_back(copy, path, NOW)
        assert again.kept is not None and again.kept != done.kept

    def test_a_copy_with_its_wal_is_put_back_with_it(self, path: Path, tmp_path: Path) -> None:
        boot(path)
        raw = tmp_path / "raw"
        raw.mkdir()
        shutil.copyfile(path, raw / "channels.db")
        leave_killed(raw / "channels.db")
        assert (raw / "channels.db-wal").stat().st_size > 0
        put_back(raw / "channels.db", path, NOW)
        assert epoch_of(path) == 2

    def test_where_nothing_was(self, path: Path, copy: Path, tmp_path: Path) -> None:
        fresh = tmp_path / "fresh" / "channels.db"
        done = put_back(copy, fresh, NOW)
        assert done.kept is None
        assert epoch_of(fresh) == 1

    def test_what_is_refused_changes_nothing(self, path: Path, copy: Path) -> None:
        before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
        bad = copy.with_name("bad.db")
        bad.write_bytes(copy.read_bytes()[:20_000])
        for wrong in (bad, path, copy.with_name("gone.db")):
            with pytest.raises((Refused, StartRefused)):
                put_back(wrong, path, NOW)
        lock = FileLock.acquire(path, NOW)
        with pytest.raises(StartRefused, match=f"process {os.getpid()}"):
            put_back(copy, path, NOW)
        lock.release()
        after = {each.name: each.read_bytes() for each in path.parent.iterdir()}
        assert {name: after.get(name) for name in before if "lock" not in name} == {
            name: content for name, content in before.items() if "lock" not in name
        }
        assert set(after) == set(before) | {"channels.db.lock"}

    def test_an_old_file_that_is_damaged_is_kept_as_it_is(self, path: Path, copy: Path) -> None:
        path.write_bytes(b"x" * 9000)
        done = put_back(copy, path, NOW)
        assert epoch_of(path) == 1
        assert done.kept is not None and done.kept.read_bytes() == b"x" * 9000
        assert done.kept.with_name(done.kept.name + "-wal").exists()
        assert not path.with_name("channels.db-wal").exists()


STEPS = ("open", "os.rename", "os.remove", "os.link", "shutil.copyfile", "sqlite3.connect")


def killed_at(number: int, copy: Path, path: Path) -> bool:
    """Restore in a child that dies just before the `number`-th thing it does to a file. False: it came to its end."""
    child = os.fork()
    if child == 0:
        counts = iter(range(1, 1000))

        def die(event: str, arguments: object) -> None:
            if event in STEPS and path.parent.name in str(arguments) and next(counts) == number:
                os._exit(9)

        sys.addaudithook(die)
        put_back(copy, path, NOW)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.fixture(params=["killed", "damaged"])
def worn(request: pytest.FixtureRequest, path: Path, copy: Path) -> Iterator[str]:
    """The old file: one with a -wal that a killed process left, or a damaged one."""
    if request.param == "damaged":
        path.write_bytes(b"x" * 9000)
    yield request.param


def test_killed_anywhere_it_is_the_old_file_or_the_new_one(path: Path, copy: Path, worn: str) -> None:
    kept, number = path.parent.with_name("spare"), 0
    shutil.copytree(path.parent, kept)
    while True:
        number += 1
        shutil.rmtree(path.parent)
        shutil.copytree(kept, path.parent)
        if not killed_at(number, copy, path):
            break
        assert_old_or_new(path, worn)
        if number % 4 == 0:
            put_back(copy, path, NOW)
            assert epoch_of(path) == 1
    assert number > 15


def assert_old_or_new(path: Path, worn: str) -> None:
    if not path.exists():  # only a damaged file is taken away first; the service then refuses to make a new one
        assert worn == "damaged"
        assert read_beside(path).mark is not None
        return
    if path.read_bytes()[:4] == b"xxxx":
        assert worn == "damaged"
        assert path.with_name("channels.db-wal").exists()
        return
    wal = path.with_name("channels.db-wal")
    epoch = epoch_of(path)
    assert epoch in ((1,) if worn == "damaged" else (1, 3))
    if epoch == 1:
        assert not wal.exists()
    open_domain_file(path, now_ms=NOW).close()
