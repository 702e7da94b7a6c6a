"""Every kind of node, and of window, is in every table by kind: none is handled by a default."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import windrow
from windrow.plan import running_nodes
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import Distinct, Node, Stream
from windrow.plan.running_nodes import RUNNING
from windrow.plan.windows import Extent

FOLDERS = ("cql", "plan", "optimizer", "sharing", "physical")


def tables() -> Iterator[tuple[str, ByKind[Any]]]:
    for folder in FOLDERS:
        package = importlib.import_module(f"windrow.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"{windrow.__name__}.{folder}."):
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                if isinstance(value, ByKind):
                    yield f"{found.name}.{name}", value


TABLES = dict(tables())


def kinds_of_nodes() -> list[type[Node]]:
    return Node.__subclasses__()


def test_no_kind_of_node_is_derived_from_another() -> None:
    assert [kind for kind in kinds_of_nodes() if kind.__subclasses__()] == []


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_has_an_entry_or_a_reason(name: str) -> None:
    listed = {**TABLES[name].entries, **TABLES[name].never}
    is_about_nodes = issubclass(next(iter(listed)), Node)

    assert set(listed) == set(kinds_of_nodes() if is_about_nodes else get_args(Extent))
    assert all(TABLES[name].never.values())


def test_running_nodes_are_all_in_one_tuple() -> None:
    assert set(RUNNING) == {kind for kind in kinds_of_nodes() if kind.__module__ == running_nodes.__name__}


def test_a_kind_without_an_entry_is_an_error() -> None:
    stream = Stream("s", "s", (), None)
    table = ByKind({Stream: "rows"}, never={Distinct: "there are no copies"})

    assert table[stream] == "rows"
    with pytest.raises(AssertionError, match="Distinct has no entry: there are no copies"):
        table[Distinct(stream)]
    with pytest.raises(AssertionError, match="int has no entry"):
        table[1]
    with pytest.raises(AssertionError, match="two entries"):
        ByKind({Stream: 1, (Distinct, Stream): 2})


def test_no_function_is_a_ladder() -> None:
    """Who asks for the kind of a thing six times has a table to write."""
    ladders = []
    for path in sorted(Path(windrow.__file__).parent.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and _times_asked(function) >= 6:
                ladders.append(f"{path.name}: {function.name}")

    assert not ladders


def _times_asked(node: ast.AST) -> int:
    """Calls of `isinstance`, without those in functions of their own."""
    asked = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    inner = (below for below in ast.iter_child_nodes(node) if not isinstance(below, ast.FunctionDef))
    return asked + sum(map(_times_asked, inner))
