"""An aggregate is one entry of the language half and one row of kernels, and nothing else asks for its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow
from windrow.physical.aggregates import KERNELS, partial_of
from windrow.plan.aggregate_class import SliceForm, SynopsisForm
from windrow.plan.aggregates import AGGREGATES, aggregate_call, partial_types
from windrow.plan.expressions import ColumnReference, Literal
from windrow.types import BIGINT, DOUBLE, INT, Type, decimal

_TABLES = ("plan/aggregates.py", "physical/aggregates.py")
_OF_SLICES = {
    SliceForm.PARTIAL: {"partial", "over_partials"},
    SliceForm.COUNTERS: {"over_counters"},
    SliceForm.SUMMARY: {"cut", "over_summary"},
    None: set(),
}
_OF_SYNOPSES = {
    SynopsisForm.MERGED: {"words"},
    SynopsisForm.SUBTRACTED: {"words"},
    SynopsisForm.RANKED: {"ranked"},
    SynopsisForm.HISTOGRAM: {"sketch"},
    SynopsisForm.FADED: {"sketch"},
    None: set(),
}


def test_every_aggregate_has_a_row_and_every_row_an_aggregate() -> None:
    assert KERNELS.keys() == AGGREGATES.keys()


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_a_row_has_the_kernels_that_its_entry_asks_for(name: str) -> None:
    entry, kernels = AGGREGATES[name], vars(KERNELS[name])
    index = {"index"} if entry.index is not None else set()
    expected = {"over_rows"} | _OF_SLICES[entry.slices] | _OF_SYNOPSES[entry.synopsis] | index
    assert {kernel for kernel, function in kernels.items() if function is not None} == expected


@pytest.mark.parametrize("type", [INT, BIGINT, DOUBLE, decimal(9, 2)], ids=str)
@pytest.mark.parametrize("name", sorted(n for n, entry in AGGREGATES.items() if entry.slices is SliceForm.PARTIAL))
def test_partial_results_have_the_types_that_are_planned(name: str, type: Type) -> None:
    constants = [Literal(0.1, DOUBLE) for _ in AGGREGATES[name].slots[1:]]
    call = aggregate_call(name, [ColumnReference("x", type), *constants])
    assert partial_types(call) == partial_of(call, 0).types()


def test_nothing_but_the_tables_asks_for_the_name_of_an_aggregate() -> None:
    root = Path(windrow.__file__).parent
    files = (path for path in root.rglob("*.py") if not str(path).endswith(_TABLES))
    assert [place for path in files for place in _comparisons(path)] == []


def _comparisons(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            if any(isinstance(value, str) and value in AGGREGATES for value in constants):
                yield f"{path}:{node.lineno}"
