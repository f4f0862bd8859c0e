"""Opening the domain file: one process at a time, and no file that is not ours is touched."""

import asyncio
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from channels.errors import StartRefused
from channels.store.batch import Batch
from channels.store.database import Database
from channels.store.domain_file import DomainFile, open_domain_file
from channels.store.header import APPLICATION_ID, Header, read_header
from channels.store.lock import lock_path
from tests.store.engine.notes import SCHEMA, make_migrations, note_ids, opened, put

NOBODY = 65534
REPOSITORY = Path(__file__).parents[3]
NOW_MS = 1_800_000_000_000


def open_here(path: Path, migrations: Path) -> DomainFile:
    return open_domain_file(path, now_ms=NOW_MS, migrations=migrations)


def child_command(what: str, path: Path, migrations: Path) -> list[str]:
    return [sys.executable, "-m", "tests.store.engine.child", what, str(path), str(migrations)]


@contextmanager
def held_by_a_process(path: Path, migrations: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the file open and has committed note 1."""
    with subprocess.Popen(
        child_command("hold", path, migrations),
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def leave_killed(path: Path, migrations: Path) -> None:
    """The file as a process killed after a commit leaves it: with a -wal that was never checkpointed."""
    with held_by_a_process(path, migrations) as process:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert path.with_name(path.name + "-wal").stat().st_size > 0


def hash_folder(folder: Path) -> dict[str, str]:
    """Content of every file but the lock."""
    return {
        found.name: hashlib.sha256(found.read_bytes()).hexdigest()
        for found in folder.iterdir()
        if found.is_file() and found.suffix != ".lock"
    }


def assert_refused_untouched(path: Path, migrations: Path, words: str) -> None:
    before = hash_folder(path.parent)
    with pytest.raises(StartRefused, match=words) as refusal:
        open_here(path, migrations)
    assert str(path) in str(refusal.value)
    assert hash_folder(path.parent) == before


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "domain.db"


def test_a_new_file_is_private_ours_and_has_every_setting(tmp_path: Path, migrations: Path) -> None:
    path = tmp_path / "new" / "deep" / "domain.db"
    with closing(open_here(path, migrations)) as file:
        answers = {
            name: file.connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in (
                "journal_mode",
                "synchronous",
                "locking_mode",
                "foreign_keys",
                "application_id",
                "user_version",
            )
        }
        assert answers == {
            "journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive", "foreign_keys": 1,
            "application_id": APPLICATION_ID, "user_version": 1,
        }  # fmt: skip
        assert sorted(found.name for found in path.parent.iterdir()) == ["domain.db", "domain.db-wal", "domain.db.lock"]
        assert {found.stat().st_mode & 0o777 for found in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert read_header(path) == Header(APPLICATION_ID, 1)


def test_an_existing_file_that_others_may_read_is_made_private(path: Path, migrations: Path) -> None:
    open_here(path, migrations).close()
    path.chmod(0o644)
    open_here(path, migrations).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_second_process_is_refused_with_who_holds_the_file(path: Path, migrations: Path) -> None:
    with held_by_a_process(path, migrations) as holder:
        with pytest.raises(
            StartRefused, match=f"process {holder.pid} since 2030-03-17 17:46:40 UTC.* stop that process"
        ):
            open_here(path, migrations)
        assert holder.poll() is None
        assert holder.communicate("")[0] == ""
        assert holder.returncode == 0
    with closing(open_here(path, migrations)) as file:
        refused = subprocess.run(
            child_command("try", path, migrations), cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
        assert refused.returncode == 3
        assert f"process {os.getpid()} since 2027-01-15 08:00:00 UTC" in refused.stderr
        assert Batch(file.connection).read(note_ids) == [1]


async def test_a_second_open_in_the_same_process_is_refused_too(database: Database, migrations: Path) -> None:
    with pytest.raises(StartRefused, match=f"process {os.getpid()}"):
        await Database.open(database.path, migrations=migrations)
    link = database.path.with_name("link.db")
    link.symlink_to(database.path)
    with pytest.raises(StartRefused, match=f"process {os.getpid()}"):
        await Database.open(link, migrations=migrations)
    assert await database.run(put, 1) == 1


def test_the_lock_of_a_killed_process_is_free_and_its_commits_are_there(path: Path, migrations: Path) -> None:
    leave_killed(path, migrations)
    assert lock_path(path).read_text().endswith("2030-03-17 17:46:40 UTC\n"), (
        "what is left inside is stale, and harmless"
    )
    with closing(open_here(path, migrations)) as file:
        assert Batch(file.connection).read(note_ids) == [1]
        assert lock_path(path).read_text() == f"{os.getpid()}\n2027-01-15 08:00:00 UTC\n"


def test_nonsense_in_a_lock_file_is_harmless(path: Path, migrations: Path) -> None:
    lock_path(path).write_bytes(b"\xff" * 1000)
    open_here(path, migrations).close()
    assert lock_path(path).read_text().startswith(f"{os.getpid()}\n")


def test_without_the_lock_file_sqlite_itself_refuses_the_second(path: Path, migrations: Path) -> None:
    with held_by_a_process(path, migrations):
        lock_path(path).unlink()
        with pytest.raises(StartRefused, match="in use by another process"):
            open_here(path, migrations)


def test_a_newer_file_is_refused_untouched(path: Path, tmp_path: Path, migrations: Path) -> None:
    newer = make_migrations(tmp_path / "newer", SCHEMA, "CREATE TABLE later (x) ", "CREATE TABLE latest (x);")
    (newer / "0002_step.sql").write_text("CREATE TABLE later (x);")
    open_here(path, newer).close()
    assert_refused_untouched(path, migrations, "version 3, this program knows versions up to 1.*install the newer")


def test_a_newer_version_that_stands_in_the_wal_alone_is_refused_untouched(
    path: Path, tmp_path: Path, migrations: Path
) -> None:
    open_here(path, migrations).close()
    leave_killed(path, make_migrations(tmp_path / "newer", SCHEMA, "CREATE TABLE later (x);"))
    assert int.from_bytes(path.read_bytes()[60:64], "big") == 1, "this test is about a version that only the -wal has"
    assert_refused_untouched(path, migrations, "version 2, this program knows versions up to 1")


def test_a_wal_that_was_begun_again_is_read_up_to_its_last_commit_only(path: Path, migrations: Path) -> None:
    with closing(open_here(path, migrations)) as file:
        wal = path.with_name("domain.db-wal")
        for version in (7, 8, 9):
            file.connection.execute(f"PRAGMA user_version = {version}")
        file.connection.execute("PRAGMA wal_checkpoint(FULL)")
        file.connection.execute("PRAGMA user_version = 4")  # the first frame of a new round; older frames follow it
        assert read_header(path) == Header(APPLICATION_ID, 4)
        torn = wal.read_bytes()[: 32 + 24 + 2000]  # the one frame of version 4 torn: only the main file counts
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        copy.with_name("copy.db-wal").write_bytes(torn[:40])
        assert read_header(copy) == Header(APPLICATION_ID, 9)
        file.connection.execute("PRAGMA user_version = 1")


def test_a_database_of_another_program_is_refused_untouched(path: Path, migrations: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    assert_refused_untouched(path, migrations, "another program .*left as it is")


def test_a_killed_wal_database_of_another_program_is_refused_untouched(path: Path, migrations: Path) -> None:
    with closing(sqlite3.connect(path.with_name("theirs.db"))) as other:
        other.executescript("PRAGMA journal_mode = WAL; PRAGMA application_id = 77; CREATE TABLE theirs (x);")
        shutil.copy(path.with_name("theirs.db"), path)
        shutil.copy(path.with_name("theirs.db-wal"), path.with_name("domain.db-wal"))
    assert_refused_untouched(path, migrations, "another program .application id 0x4d")


@pytest.mark.parametrize("content", [b"hello, this is a letter", b"\x00" * 8192, b"x" * 5000])
def test_what_is_no_database_is_refused_untouched(path: Path, migrations: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert_refused_untouched(path, migrations, "not a database")


def test_an_empty_file_is_new(path: Path, migrations: Path) -> None:
    path.touch()
    with closing(open_here(path, migrations)) as file:
        assert file.version == 1


def test_a_wal_without_its_file_is_refused_untouched(path: Path, migrations: Path) -> None:
    leave_killed(path, migrations)
    path.unlink()
    assert_refused_untouched(path, migrations, "missing or empty but domain.db-wal has data")


def test_a_damaged_file_is_refused_with_how_to_mend_it(path: Path, migrations: Path) -> None:
    open_here(path, migrations).close()
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\x55" * 3996
    path.write_bytes(content)
    with pytest.raises(StartRefused, match=r"damaged .*restore a backup"):
        open_here(path, migrations)


def test_wrong_places_are_refused_with_a_clear_sentence(tmp_path: Path, migrations: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for place, words in (
        (tmp_path / "folder", "is a folder: name a file in it"),
        (tmp_path / "file" / "domain.db", "file: the folder cannot be made"),
    ):
        with pytest.raises(StartRefused, match=words):
            open_here(place, migrations)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StartRefused, match="not a plain file"):
        open_here(tmp_path / "pipe", migrations)
    assert not list((tmp_path / "folder").iterdir())


@pytest.fixture
def folder_of_an_ordinary_user() -> Iterator[Path]:
    """A folder whose owner this process is for a while: root may write everywhere, so rights show nothing to it."""
    with tempfile.TemporaryDirectory() as name:
        user = os.geteuid()
        if user == 0:
            os.chown(name, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            os.seteuid(user)


def test_missing_rights_are_refused_with_a_clear_sentence(folder_of_an_ordinary_user: Path) -> None:
    migrations = make_migrations(folder_of_an_ordinary_user / "migrations", SCHEMA)
    sealed = folder_of_an_ordinary_user / "sealed"
    sealed.mkdir()
    path = sealed / "domain.db"
    path.touch()
    sealed.chmod(0o500)
    with pytest.raises(StartRefused, match=r"lock file cannot be written .*make the folder writable"):
        open_here(path, migrations)
    with pytest.raises(StartRefused, match="the folder cannot be made"):
        open_here(sealed / "deeper" / "domain.db", migrations)
    sealed.chmod(0o000)
    with pytest.raises(StartRefused, match="readable and writable for this user"):
        open_here(path, migrations)
    sealed.chmod(0o700)
    path.chmod(0o400)
    with pytest.raises(StartRefused, match=r"cannot be opened .*readable and writable for this user"):
        open_here(path, migrations)


async def test_a_refused_open_leaves_no_thread_and_no_lock(database: Database, migrations: Path, path: Path) -> None:
    threads = threading.active_count()
    for _ in range(3):
        with pytest.raises(StartRefused, match="in use"):
            await Database.open(database.path, migrations=migrations)
    async with opened(path, migrations):
        pass
    for thread in threading.enumerate()[threads:]:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()
