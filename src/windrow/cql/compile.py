"""From text to statements, one after the other: each is bound against the catalog as the ones before have left it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder import bind_query, bind_statement
from windrow.cql.dialect import read
from windrow.cql.parameters import put_in
from windrow.cql.statements import Statement
from windrow.cql.syntax import span_of
from windrow.errors import CqlError, CqlMeaningError, Span
from windrow.plan.nodes import Node

Bound = TypeVar("Bound")
NONE: Mapping[str, Any] = MappingProxyType({})


def statements(text: str, catalog: Catalog, parameters: Mapping[str, Any] = NONE) -> Iterator[Statement]:
    """The bound statements of a text. Apply each before asking for the next."""
    return (statement for statement, _ in placed_statements(text, catalog, parameters))


def placed_statements(
    text: str, catalog: Catalog, parameters: Mapping[str, Any] = NONE
) -> Iterator[tuple[Statement, int]]:
    """The same, each with the line that it begins in."""
    line, counted = 1, 0
    for tree in _read(text, parameters):
        span = span_of(tree)
        if span is not None:
            line, counted = line + text.count("\n", counted, span.start), span.start
        yield _bound(bind_statement, tree, text, catalog), line


def _read(text: str, parameters: Mapping[str, Any]) -> list[exp.Expr]:
    trees = read(text)
    try:
        put_in(trees, parameters)
    except CqlError as error:
        raise error.locate(text) from None
    return trees


def compile_query(text: str, catalog: Catalog) -> Node:
    """The plan of a text that is one query."""
    trees = _read(text, NONE)
    plan = _bound(bind_query, trees[0], text, catalog) if len(trees) == 1 else None
    if plan is None:
        raise CqlMeaningError("one SELECT is expected here", Span(0, len(text)), "write one query").locate(text)
    return plan


def _bound(bind: Callable[[exp.Expr, Catalog], Bound], tree: exp.Expr, text: str, catalog: Catalog) -> Bound:
    try:
        return bind(tree, catalog)
    except CqlError as error:
        raise error.locate(text) from None
    except RecursionError:
        hint = "split it with WITH or CREATE WINDOW"
        raise CqlMeaningError("this is nested too deeply", span_of(tree), hint).locate(text) from None
