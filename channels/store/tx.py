"""One open transaction: all that tables and transaction functions know of the engine.

A `Tx` lives exactly as long as the function that it was handed to. `SqliteTx` is the one over `sqlite3`; another engine
needs these four methods and nothing else. `hook` is called with the SQL just before each statement: those are the kill
points of the crash campaign, and where tests hold the database thread.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, Protocol

from channels.errors import Broken

Parameters = Mapping[str, object] | Sequence[object]
StatementHook = Callable[[str], None]

ConstraintFailed = sqlite3.IntegrityError  # the schema refuses it: UNIQUE, CHECK, a reference or a trigger

_DATA_VERBS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES"})
_SCHEMA_VERBS = frozenset({"CREATE", "ALTER", "DROP", ""})
_FIRST_WORD = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|;)*([A-Za-z]*)", re.DOTALL)


class Tx(Protocol):
    """Statements on an open transaction. Parameters are named (`:name`, mapping) or positional (`?`, sequence)."""

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement and say how many rows it changed (triggers and cascades not counted)."""
        ...

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """All rows that the statement gives (a query, or a write with RETURNING)."""
        ...

    def row(self, sql: str, parameters: Parameters = ()) -> tuple[Any, ...] | None:
        """The first row, or None. A write with RETURNING still changes every row that it matches."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """A trial: when its body raises, everything done inside is undone and the error goes on. May be nested."""
        ...


@lru_cache(maxsize=4096)
def first_word(sql: str) -> str:
    """The statement's verb in capitals, comments skipped; empty when there is nothing but comments."""
    match = _FIRST_WORD.match(sql)
    return match[1].upper() if match else ""


class SqliteTx:
    """`Tx` over a sqlite3 connection (isolation_level=None) whose transaction the caller has begun and will end.

    Refuses, with `Broken` and before anything happens: statements that end or nest the transaction or change settings
    (BEGIN, COMMIT, PRAGMA, …), use after `close()`, and any statement after SQLite has ended the transaction by itself
    (SQLITE_FULL, I/O error). Without the last check a function that swallows such an error would go on in autocommit.
    """

    __slots__ = ("_connection", "_hook", "_open", "_verbs")

    def __init__(
        self, connection: sqlite3.Connection, hook: StatementHook | None = None, *, may_change_schema: bool = False
    ) -> None:
        self._connection, self._hook, self._open = connection, hook, True
        self._verbs = _DATA_VERBS | _SCHEMA_VERBS if may_change_schema else _DATA_VERBS

    def close(self) -> None:
        """End this Tx's life: the function that it was made for has returned."""
        self._open = False

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        changes_before = self._connection.total_changes
        cursor = self._start(sql, parameters)
        try:
            if cursor.description is not None:  # RETURNING: sqlite3 knows the count only after the last row
                cursor.fetchall()
            if cursor.rowcount >= 0:
                return cursor.rowcount
        finally:
            cursor.close()
        # sqlite3 counts only statements that begin with INSERT, UPDATE, DELETE or REPLACE, so not "WITH … UPDATE"
        if self._connection.total_changes == changes_before:
            return 0
        return int(self._connection.execute("SELECT changes()").fetchone()[0])

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        cursor = self._start(sql, parameters)
        try:
            return cursor.fetchall()
        finally:
            cursor.close()

    def row(self, sql: str, parameters: Parameters = ()) -> tuple[Any, ...] | None:
        cursor = self._start(sql, parameters)
        try:
            found: tuple[Any, ...] | None = cursor.fetchone()
            return found
        finally:
            cursor.close()  # an unfinished RETURNING would make COMMIT fail

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._check_usable()
        self._connection.execute("SAVEPOINT trial")
        kept = False
        try:
            yield
            self._check_usable()
            kept = True
        finally:
            if self._connection.in_transaction:
                if not kept:
                    self._connection.execute("ROLLBACK TO trial")
                self._connection.execute("RELEASE trial")

    def _start(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        if first_word(sql) not in self._verbs:
            raise Broken(f"not a statement for inside a transaction: {first_word(sql) or sql!r}")
        self._check_usable()
        if self._hook is not None:
            self._hook(sql)
        return self._connection.execute(sql, parameters)

    def _check_usable(self) -> None:
        if not self._open:
            raise Broken("a Tx was used after its function had returned")
        if not self._connection.in_transaction:
            raise Broken("the transaction has ended by itself (file full, I/O error); nothing of it was kept")
