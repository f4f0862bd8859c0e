"""A ledger on a real file, and the office of one process over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.settling.office import Office
from tests.store.ledger.conftest import Ledger
from tests.store.tables.conftest import Store


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    store = Store(tmp_path / "channels.db")
    yield Ledger(store)
    store.close()


@pytest.fixture
def office(ledger: Ledger) -> Office:
    return Office(ledger)
