"""The table of seed 000's sentences against the tests that show them."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.store.ledger.contract import SENTENCES, NotApplicable, Owed, Shown

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
MODULES = sorted(HERE.glob("test_contract_[0-9]_*.py"))


@cache
def written_in(path: Path) -> dict[str, str]:
    """Name → docstring of every test of a module; a class stands for all tests in it."""
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            functions = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            inner = [each for each in functions if each.name.startswith("test_")]
            found |= {each.name: ast.get_docstring(each) or "" for each in inner}
            if inner:
                found[node.name] = " ".join(ast.get_docstring(each) or "" for each in inner)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            found[node.name] = ast.get_docstring(node) or ""
    return found


def all_tests() -> dict[str, str]:
    return {name: words for module in MODULES for name, words in written_in(module).items()}


@pytest.mark.parametrize("number", SENTENCES)
def test_every_sentence_is_shown_or_does_not_apply(number: str) -> None:
    words, proof = SENTENCES[number]
    assert len(words) > 10
    match proof:
        case Shown(by):
            assert by
            for name in by:
                path, _, test = name.rpartition("::")
                known = written_in(ROOT / path) if path else all_tests()
                assert test in known, f"{number}: there is no test {name}"
                if not path:
                    assert number.rstrip("abs") in known[test], f"{name} does not say that it shows {number}"
        case NotApplicable(because):
            assert len(because) > 20
        case Owed(by):
            pytest.xfail(f"{number} is owed by {by}")


def test_every_contract_test_is_in_the_table() -> None:
    named = {name for _, proof in SENTENCES.values() if isinstance(proof, Shown) for name in proof.by}
    classes = {name for name in named if name.startswith("Test")}
    inside = {
        each.name
        for module in MODULES
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name in classes
        for each in node.body
        if isinstance(each, ast.FunctionDef)
    }
    tests = {name for name in all_tests() if name.startswith("test_")}
    assert sorted(tests - named - inside) == []


def test_each_section_has_its_module() -> None:
    assert {path.name.split("_")[2] for path in MODULES} == {number.split(".")[0] for number in SENTENCES}
