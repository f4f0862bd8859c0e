"""A real domain file, driven without the thread: each `run` is one committed transaction."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest

from channels.ids import OwnerEpoch
from channels.store import owners
from channels.store.batch import Batch, Done, Failed
from channels.store.domain_file import open_domain_file
from channels.store.transactions.boot import take_ownership
from channels.store.tx import Tx
from tests.store.fresh import fresh_file

P = ParamSpec("P")
T = TypeVar("T")


class Store:
    """`run(fn, …)` commits, or raises what `fn` raised; `now` only moves when a test says so."""

    def __init__(self, path: Path, now: int = 1_000_000, epoch: OwnerEpoch | None = None) -> None:
        """`epoch`: go on as the boot that has owned the file since then."""
        self._file = open_domain_file(path, now_ms=0)
        self.connection, self.path, self.version = self._file.connection, self._file.path, self._file.version
        self._batch = Batch(self.connection, before_commit=owners.count_commit)
        self.now = now
        self.epoch = epoch if epoch is not None else self.run(take_ownership, "uuid", "test", self.now).epoch

    def run(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        (outcome,) = self._batch.run([lambda tx: fn(tx, *args, **kwargs)])
        match outcome:
            case Done(value):
                return value  # type: ignore[return-value]
            case Failed(error):
                raise error

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Look at a table directly: the test's own eyes."""
        return self.connection.execute(sql, parameters).fetchall()

    def reboot(self) -> None:
        """Another boot of the same file."""
        self.epoch = self.run(take_ownership, "another", "test", self.now).epoch

    def close(self) -> None:
        self.connection.close()
        self._file.lock.release()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(fresh_file(tmp_path / "channels.db"))
    yield opened
    opened.close()
