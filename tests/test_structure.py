"""The shape of the code: what can be read in one sitting stays so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.expected import ROOT

FOLDERS = ("src", "benchmarks")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
LINES, FUNCTION_LINES, METHODS, MODULES, PARAMETERS = 400, 50, 25, 20, 7

# The way in, and what EXPLAIN is made of: most parameters may be left out. A loop's body that is called for every event
# takes arrays, because one that is taken out of a tuple is counted as in use each time.
WIDE = {"connect", "run", "explain", "change_count"}
MANY = {"Engine"}  # the way in: all that people call, handed over line by line


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def too_long(file: Path) -> Iterator[str]:
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    if (lines := len(text.splitlines())) > LINES:
        yield f"{lines} lines"
    if ast.get_docstring(tree) is None:
        yield "no docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (lines := _lines(node)) > FUNCTION_LINES:
            yield f"{node.name} has {lines} lines"
        if isinstance(node, ast.FunctionDef) and node.name not in WIDE and (given := _parameters(node)) > PARAMETERS:
            yield f"{node.name} has {given} parameters"
        if isinstance(node, ast.ClassDef) and node.name not in MANY and (methods := _methods(node)) > METHODS:
            yield f"{node.name} has {methods} methods"


def _lines(function: ast.FunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def _parameters(function: ast.FunctionDef) -> int:
    names = [given.arg for given in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in names)


def _methods(of: ast.ClassDef) -> int:
    return sum(isinstance(part, ast.FunctionDef) for part in of.body)


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_module_can_be_read_in_one_sitting(file: Path) -> None:
    """No file above 400 lines, no function above 50, no class with more than 25 methods, no function with more than 7
    parameters: arrays of a compiled loop come together in named tuples. Each says what it is."""
    assert list(too_long(file)) == []


def test_a_folder_holds_one_idea() -> None:
    """No more than 20 modules beside `__init__`."""
    modules = [file for file in FILES if file.name != "__init__.py"]
    counts = {folder: sum(file.parent == folder for file in modules) for folder in {file.parent for file in modules}}
    assert {named(folder): count for folder, count in counts.items() if count > MODULES} == {}
