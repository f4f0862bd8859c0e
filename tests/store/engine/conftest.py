"""Fixtures: the tests' migration folder, a plain connection, an open database."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from channels.store.database import Database
from tests.store.engine.notes import SCHEMA, count_commit, make_migrations, open_notes


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    return make_migrations(tmp_path / "migrations", SCHEMA)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = open_notes(tmp_path / "plain.db")
    yield opened
    opened.close()


@pytest_asyncio.fixture
async def database(tmp_path: Path, migrations: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / "domain.db", migrations=migrations, before_commit=count_commit)
    yield opened
    await opened.close()
