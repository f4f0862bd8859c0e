"""Migrations: understood statement by statement, applied wholly or not at all, whatever happens in between."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from channels.errors import StartRefused
from channels.store.domain_file import DomainFile, open_domain_file
from channels.store.migrate import load_migrations, split_statements
from channels.store.tx import StatementHook, first_word
from tests.store.engine.notes import SCHEMA, make_migrations

SECOND = "ALTER TABLE notes ADD COLUMN author TEXT; UPDATE notes SET author = 'nobody; none';"
THIRD = "CREATE TABLE tags (tag TEXT PRIMARY KEY) STRICT; INSERT INTO tags VALUES ('a'), ('b');"

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON n BEGIN\n  UPDATE n SET a = CASE WHEN 1 THEN 2 END;\n  SELECT 1;\nEND;"


def open_with(path: Path, migrations: Path, hook: StatementHook | None = None) -> DomainFile:
    return open_domain_file(path, now_ms=0, migrations=migrations, hook=hook)


def describe(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Version and whole schema of a file that nobody has open."""
    with closing(sqlite3.connect(path)) as connection:
        schema = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute("PRAGMA user_version").fetchone()[0]), schema


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        ("-- nothing; here\n/* nor; here */", []),
        ("SELECT 1; SELECT 2;", ["SELECT 1;", "SELECT 2;"]),
        ("SELECT ';', \";\", [;], `;`;\nSELECT 2; -- end; of it", ["SELECT ';', \";\", [;], `;`;", "SELECT 2;"]),
        ("SELECT 1 -- why; so\n; SELECT /* ; */ 2;", ["SELECT 1 -- why; so\n;", "SELECT /* ; */ 2;"]),
        ("SELECT 'it''s; so';", ["SELECT 'it''s; so';"]),
        (TRIGGER + "\nSELECT 2;", [TRIGGER, "SELECT 2;"]),
        ("CREATE TEMP TRIGGER t AFTER INSERT ON n BEGIN SELECT ';END;'; END; SELECT 2;",
         ["CREATE TEMP TRIGGER t AFTER INSERT ON n BEGIN SELECT ';END;'; END;", "SELECT 2;"]),
    ],
)  # fmt: skip
def test_scripts_are_split_where_statements_end(script: str, statements: list[str]) -> None:
    assert list(split_statements(script)) == statements


@pytest.mark.parametrize(
    "script", ["SELECT 1; SELECT 2", "CREATE TRIGGER t AFTER INSERT ON n BEGIN SELECT 1;", "SELECT ';"]
)
def test_a_script_without_an_end_is_refused(tmp_path: Path, script: str) -> None:
    with pytest.raises(StartRefused, match=r"0001_step\.sql: the last statement has no end"):
        load_migrations(make_migrations(tmp_path / "m", script))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "without a gap"),
        (["0002_b.sql"], "without a gap"),
        (["0001_a.sql", "0003_c.sql"], "without a gap"),
        (["0001_a.sql", "0001_b.sql"], "without a gap"),
        (["0001_a.sql", "2_b.sql"], "2_b.sql: the name must be like"),
        (["0001_a.sql", "0002_B.sql"], "0002_B.sql: the name must be like"),
    ],
)
def test_a_wrong_folder_is_refused_before_any_file_is_made(tmp_path: Path, names: list[str], words: str) -> None:
    folder = make_migrations(tmp_path / "m")
    for name in names:
        (folder / name).write_text("SELECT 1;")
    (folder / "__init__.py").touch()
    with pytest.raises(StartRefused, match=words):
        open_with(tmp_path / "domain.db", folder)
    assert not list(tmp_path.glob("domain.db*"))


def test_the_packaged_migrations_load() -> None:
    assert load_migrations()[0].number == 1


def test_missing_migrations_are_applied_in_one_transaction_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "domain.db"
    open_with(path, make_migrations(tmp_path / "m", SCHEMA)).close()
    seen: list[str] = []
    folder = make_migrations(tmp_path / "m", SCHEMA, SECOND, THIRD)
    with closing(open_with(path, folder, seen.append)) as opened:
        assert opened.version == 3
        assert opened.connection.execute("SELECT count(*) FROM tags").fetchone() == (2,)
    assert [first_word(sql) for sql in seen] == ["BEGIN", "ALTER", "UPDATE", "CREATE", "INSERT", "COMMIT", "COMMITTED"]
    seen.clear()
    open_with(path, folder, seen.append).close()
    assert seen == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("CREATE TABLE fine (x); INSERT INTO nowhere VALUES (1);", "0003_step.sql failed at statement 2 .*nowhere"),
        ("INSERT INTO notes VALUES (1, 'fatal', NULL, NULL);", "0003_step.sql failed at statement 1 .*ends the trans"),
        ("INSERT INTO notes VALUES (1, 'x', 99, NULL);", r"break references of \['notes'\]"),
        (
            "CREATE TABLE fine (x); COMMIT; CREATE TABLE more (x);",
            "0003_step.sql failed .*not a statement for inside a transaction: 'COMMIT'",
        ),
        ("PRAGMA foreign_keys = ON;", "0003_step.sql failed .*not a statement for inside a transaction: 'PRAGMA'"),
    ],
)
def test_a_failing_migration_leaves_the_old_version_whole(tmp_path: Path, script: str, words: str) -> None:
    path = tmp_path / "domain.db"
    open_with(path, make_migrations(tmp_path / "m", SCHEMA)).close()
    before = describe(path)
    for _ in range(2):  # and the lock is free again
        with pytest.raises(StartRefused, match=words):
            open_with(path, make_migrations(tmp_path / "m", SCHEMA, SECOND, script))
        assert describe(path) == before
    assert before[0] == 1


def test_a_migration_may_rebuild_a_table_that_others_refer_to(tmp_path: Path) -> None:
    path = tmp_path / "domain.db"
    first = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a REFERENCES a ON DELETE CASCADE);"
    filled = first + "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);"
    rebuilt = """
        CREATE TABLE n (id INTEGER PRIMARY KEY, x); INSERT INTO n SELECT id, 0 FROM a;
        DROP TABLE a; ALTER TABLE n RENAME TO a;
    """
    open_with(path, make_migrations(tmp_path / "m", filled)).close()
    with closing(open_with(path, make_migrations(tmp_path / "m", filled, rebuilt))) as opened:
        assert opened.connection.execute("SELECT b.a, a.x FROM b JOIN a ON a.id = b.a").fetchall() == [(1, 0)]
        assert opened.connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


def open_and_be_killed(path: Path, migrations: Path, point: int) -> bool:
    """Fork a process that opens the file and is killed at its `point`-th hook call; False when it came through."""
    child = os.fork()
    if child == 0:
        left = point

        def kill(_sql: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        try:
            open_with(path, migrations, kill).close()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("begun_with", [0, 1])
def test_a_process_killed_in_mid_migration_leaves_the_old_or_the_new_version(tmp_path: Path, begun_with: int) -> None:
    scripts = (SCHEMA, SECOND, THIRD)
    newest = tmp_path / "newest.db"
    open_with(newest, make_migrations(tmp_path / "all", *scripts)).close()
    states = {0: (0, []), 3: describe(newest)}
    found: list[int] = []
    for point in range(100):
        path = tmp_path / f"killed_{point}.db"
        if begun_with:
            open_with(path, make_migrations(tmp_path / "first", *scripts[:begun_with])).close()
            states[begun_with] = describe(path)
        if not open_and_be_killed(path, tmp_path / "all", point):
            break
        version, schema = describe(path)
        assert (version, schema) == states[version], f"half a migration at point {point}"
        found.append(version)
        open_with(path, tmp_path / "all").close()
        assert describe(path) == states[3], f"the next start does not finish what point {point} left"
    assert found == [begun_with] * (len(found) - 1) + [3], "old up to COMMIT, new at COMMITTED"
    assert len(found) >= 7
