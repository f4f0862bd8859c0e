"""Fixtures: the tests' migration folder, a plain connection, an open database."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from channels.store.database import Database
from tests.store.engine.notes import SCHEMA, make_migrations, open_notes, opened


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    return make_migrations(tmp_path / "migrations", SCHEMA)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    plain = open_notes(tmp_path / "plain.db")
    yield plain
    plain.close()


@pytest_asyncio.fixture
async def database(tmp_path: Path, migrations: Path) -> AsyncIterator[Database]:
    async with opened(tmp_path / "domain.db", migrations) as database:
        yield database
