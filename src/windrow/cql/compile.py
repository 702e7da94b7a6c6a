"""From text to statements, one after the other: each is bound against the catalog as the ones before have left it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder import bind_query, bind_statement
from windrow.cql.dialect import read
from windrow.cql.statements import Statement
from windrow.cql.syntax import span_of
from windrow.errors import CqlError, CqlMeaningError, Span
from windrow.plan.nodes import Node

Bound = TypeVar("Bound")


def statements(text: str, catalog: Catalog) -> Iterator[Statement]:
    """The bound statements of a text. Apply each before asking for the next."""
    return (statement for statement, _ in placed_statements(text, catalog))


def placed_statements(text: str, catalog: Catalog) -> Iterator[tuple[Statement, int]]:
    """The same, each with the line that it begins in."""
    for tree in read(text):
        yield _bound(bind_statement, tree, text, catalog), _line(text, span_of(tree))


def _line(text: str, span: Span | None) -> int:
    return 1 if span is None else 1 + text[: span.start].count("\n")


def compile_query(text: str, catalog: Catalog) -> Node:
    """The plan of a text that is one query."""
    trees = read(text)
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
