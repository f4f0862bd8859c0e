"""Kill points: what they are called, and the list of all that there must be.

A point is passed by the service just before something happens:

  inbox.INSERT_ROW                         a statement, by the constant that holds its SQL
  BEGIN, COMMIT a+b, COMMITTED a+b         a transaction, by the constants that wrote in it
  reply_message before|after_effect|after_answer    one HTTP call
  agent before|after_effect                a turn reaches the agent
  schema                                   a statement of a migration

The list of all statements and calls is made from the source of `channels.store` and `channels.feishu.api` and knows
nothing of the hook: what it names and nobody was killed at, is a hole in the campaign.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import channels.store
from channels.feishu.api import FeishuApi
from channels.store.tx import first_word
from tests.integration.taps import point_name

STORE = Path(str(channels.store.__file__)).parent
VERBS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES"})
WRITES = VERBS - {"SELECT", "VALUES"}
CALL_POINTS = ("before", "after_effect", "after_answer")
QUIET = "owners.COUNT_COMMIT"  # stands in every transaction and tells none from another


@cache
def statements() -> dict[str, str]:
    """SQL (on one line) → name, for every constant of the store's modules that holds a whole statement."""
    found: dict[str, str] = {}
    for name, sql in _constants():
        twin = found.setdefault(point_name(sql), name)
        if twin != name:
            raise AssertionError(f"{twin} and {name} hold the same statement: the campaign cannot tell them apart")
    return found


def statement_names() -> frozenset[str]:
    """Every statement that the store may run."""
    return frozenset(statements().values())


def call_names() -> frozenset[str]:
    """Every public coroutine method of FeishuApi."""
    methods = inspect.getmembers(FeishuApi, inspect.iscoroutinefunction)
    return frozenset(name for name, _ in methods if not name.startswith("_") and name != "close")


def all_points() -> frozenset[str]:
    """Every point that there must be a kill at: statements and calls, three points a call."""
    calls = {f"{method} {point}" for method in call_names() for point in CALL_POINTS}
    return statement_names() | calls


def name_of_statement(sql: str) -> str:
    """The name of the statement that is about to run."""
    text = point_name(sql)
    if text in ("BEGIN IMMEDIATE", "COMMIT", "COMMITTED"):
        return text.split()[0]
    known = statements().get(text)
    if known is not None:
        return known
    return "schema" if first_word(sql) in ("CREATE", "ALTER", "DROP") else f"unknown: {text[:120]}"


def is_write(name: str) -> bool:
    """Whether the statement of this name writes."""
    return name in _writing()


@cache
def _writing() -> frozenset[str]:
    return frozenset(name for sql, name in statements().items() if first_word(sql) in WRITES)


def _constants() -> Iterator[tuple[str, str]]:
    for path in sorted(STORE.rglob("*.py")):
        module_name = ".".join(("channels.store", *path.relative_to(STORE).with_suffix("").parts))
        names = _assigned(path)
        if not names:
            continue
        module = importlib.import_module(module_name.removesuffix(".__init__"))
        for name in names:
            value = getattr(module, name)
            if name.startswith("_"):
                continue  # a part of several statements
            if isinstance(value, str) and first_word(value) in VERBS and " " in value.strip():
                yield f"{path.stem}.{name}", value


def _assigned(path: Path) -> list[str]:
    """Names that the module assigns at its top level."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign) and node.value is not None]
    return [target.id for target in targets if isinstance(target, ast.Name)]
