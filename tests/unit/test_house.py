"""The rules of the house that no linter knows, checked over the whole tree."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from channels.config.agent_settings import AGENT_KINDS
from channels.config.keys import known_keys
from channels.config.settings import Settings
from channels.config.value_types import PLACEHOLDER

ROOT = Path(__file__).resolve().parents[2]
CHANNELS = ROOT / "channels"
STORE = CHANNELS / "store"
MODULES = sorted(CHANNELS.rglob("*.py"))
EXAMPLE = ROOT / "config" / "example.toml"
READMES = ("README.md", "README.zh.md")

MOST_LINES, MOST_FUNCTION_LINES = 400, 60
FORBIDDEN_NAMES = {"util", "utils", "common", "helper", "helpers", "models", "manager", "base", "core", "misc"}
# A statement, not a word: "select" and "update" are also plain English.
SQL = re.compile(
    r"\bSELECT\b[^;]*\bFROM\b|\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bUPDATE\s+\w+\s+SET\b|\bDELETE\s+FROM\b"
    r"|\b(CREATE|DROP|ALTER)\s+(TABLE|INDEX|TRIGGER)\b|\bPRAGMA\s+\w+|\bBEGIN\s+IMMEDIATE\b|\bSAVEPOINT\s+\w+"
)
TABLE_NAMED = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+([a-z_]+)\b")
# a code block that the demo agent shows to people
SQL_FOR_SHOW = {"channels/agents/demo_texts.py"}
# what knows tables in general and none in particular
STORE_ENGINE = {"__init__", "tx", "batch", "database", "migrate", "lock"} | {
    "invariants",
    "invariants_access",
    "invariants_gate",
    "invariants_ledger",
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Of the whole module, looked for once: every test goes through them."""
    return tuple(ast.walk(tree(path)))


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module that is no docstring, with its line."""
    docs = {
        id(node.body[0].value)
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_modules_stay_small() -> None:
    sizes = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in sizes.items() if lines > MOST_LINES} == {}


def test_functions_stay_small() -> None:
    long = {
        f"{place(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }
    assert {name: lines for name, lines in long.items() if lines > MOST_FUNCTION_LINES} == {}


def test_names_say_something() -> None:
    assert [place(path) for path in CHANNELS.rglob("*") if path.stem in FORBIDDEN_NAMES] == []


def test_every_package_says_what_it_knows_and_promises() -> None:
    silent = []
    for path in CHANNELS.rglob("__init__.py"):
        words = ast.get_docstring(tree(path)) or ""
        if len(words) < 80 or len(words.splitlines()) > 16:
            silent.append(place(path))
    assert silent == []


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{place(path)}:{node.lineno}"
        for path in MODULES
        if path.relative_to(CHANNELS).parts[0] != "cli"
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []


def test_only_the_store_catches_everything() -> None:
    """A caught BaseException swallows cancellation; the database thread alone must answer for whatever was raised."""
    catching = [
        f"{place(path)}:{node.lineno}"
        for path in MODULES
        if STORE not in path.parents
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "BaseException"))
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    ]
    assert catching == []


def test_log_events_are_constants() -> None:
    levels = {"debug", "info", "warning", "error", "exception"}
    literal = [
        f"{place(path)}:{node.lineno}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in levels
        and isinstance(node.func.value, ast.Name | ast.Attribute)
        and (node.func.value.id if isinstance(node.func.value, ast.Name) else node.func.value.attr) in ("log", "_log")
        and node.args
        and isinstance(node.args[0], ast.Constant | ast.JoinedStr)
    ]
    assert literal == []


class TestStore:
    def test_sql_stands_in_the_store_only(self) -> None:
        elsewhere = [
            f"{place(path)}:{line}"
            for path in MODULES
            if STORE not in path.parents and place(path) not in SQL_FOR_SHOW
            for line, text in strings(path)
            if SQL.search(text)
        ]
        assert elsewhere == []

    def test_transactions_hold_no_sql(self) -> None:
        found = [
            f"{place(path)}:{line}"
            for path in (STORE / "transactions").glob("*.py")
            for line, text in strings(path)
            if SQL.search(text)
        ]
        assert found == []

    def test_each_table_is_named_in_one_module(self) -> None:
        tables = tables_of_schema()
        named = defaultdict(set)
        for path in STORE.glob("*.py"):
            if path.stem in STORE_ENGINE:
                continue
            for _line, text in strings(path):
                for table in TABLE_NAMED.findall(text):
                    named[table].add(path.stem)
        assert tables
        assert {table: sorted(named[table]) for table in tables if len(named[table]) != 1} == {}


def tables_of_schema() -> list[str]:
    scripts = sorted((STORE / "schema").glob("*.sql"))
    return [name for path in scripts for name in re.findall(r"^CREATE TABLE (\w+)", path.read_text(), re.MULTILINE)]


class TestExample:
    """config/example.toml against the settings: it is where a person reads what can be set."""

    def test_it_holds_every_key_and_no_other(self) -> None:
        written = {key for key, _line in example_lines()}
        assert sorted(set(known_keys()) - written) == [], "missing in config/example.toml"
        assert sorted(written - set(known_keys())) == [], "in config/example.toml, but unknown to the settings"

    def test_its_app_id_is_the_one_that_is_refused(self) -> None:
        assert tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))["feishu"]["app_id"] == PLACEHOLDER

    def test_a_comment_stands_above_every_key(self) -> None:
        lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
        bare = [key for key, line in example_lines() if not re.match(r"# .*\w{3}", lines[line - 1])]
        assert bare == []

    def test_its_values_are_the_defaults(self) -> None:
        written = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
        differing = {}
        for key, default in defaults().items():
            section, _, name = key.rpartition(".")
            values = written["agents"]["demo"] if section == "agents.demo" else written.get(section, {})
            if section in ("agents.assistant", "agents.coder"):
                values = written["agents"][section.partition(".")[2]]
            if name in values and values[name] != default:
                differing[key] = (values[name], default)
        assert differing == {}


def example_lines() -> Iterator[tuple[str, int]]:
    """Each key of the example (also one whose line is commented out) as `known_keys` spells it, and its line."""
    section = ""
    for number, line in enumerate(EXAMPLE.read_text(encoding="utf-8").splitlines()):
        if found := re.fullmatch(r"\[([a-z._]+)\]", line):
            section = "agents.NAME" if found[1].startswith("agents.") else found[1]
        elif found := re.match(r"(?:# )?([a-z_]+) = ", line):
            yield f"{section}.{found[1]}", number


def defaults() -> dict[str, Any]:
    """Keys with a default of their own, in TOML's terms."""
    found: dict[str, Any] = {}
    sections: dict[str, Any] = {
        name: field.annotation for name, field in Settings.model_fields.items() if name != "agents"
    }
    sections |= {
        "agents.demo": AGENT_KINDS["demo"],
        "agents.assistant": AGENT_KINDS["openai"],
        "agents.coder": AGENT_KINDS["acp"],
    }
    for section, model in sections.items():
        for key, field in model.model_fields.items():
            if field.default is not PydanticUndefined and field.default is not None:
                value = field.default
                found[f"{section}.{key}"] = list(value) if isinstance(value, tuple) else value
    return found


@pytest.mark.parametrize("name", READMES)
def test_the_readme_shows_every_command(name: str) -> None:
    from channels.cli.commands import app

    path = ROOT / name
    assert path.exists(), f"{name} is missing: it must show every command of `channels`"
    text = path.read_text(encoding="utf-8")
    commands = [
        command.name or str(command.callback and command.callback.__name__) for command in app.registered_commands
    ]
    assert len(commands) >= 5
    missing = [command for command in commands if f"channels {command}" not in text]
    assert missing == [], f"{name} does not show: {', '.join(f'channels {command}' for command in missing)}"
