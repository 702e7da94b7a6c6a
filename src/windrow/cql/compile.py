"""From text to statements, one after the other: each is bound against the catalog as the ones before have left it."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog import Catalog
from windrow.cql.binder import bind_statement
from windrow.cql.dialect import read
from windrow.cql.statements import Ask, Statement
from windrow.cql.syntax import span_of
from windrow.errors import CqlError, CqlMeaningError, Span
from windrow.plan.nodes import Node


def statements(text: str, catalog: Catalog) -> Iterator[Statement]:
    """The bound statements of a text. Apply each before asking for the next."""
    return (statement for statement, _ in placed_statements(text, catalog))


def placed_statements(text: str, catalog: Catalog) -> Iterator[tuple[Statement, int]]:
    """The same, each with the line that it begins in."""
    for tree in read(text):
        try:
            yield bind_statement(tree, catalog), _line(text, span_of(tree))
        except CqlError as error:
            raise error.locate(text) from None
        except RecursionError:
            hint = "split it with WITH or CREATE WINDOW"
            raise CqlMeaningError("this is nested too deeply", span_of(tree), hint).locate(text) from None


def _line(text: str, span: Span | None) -> int:
    return 1 if span is None else 1 + text[: span.start].count("\n")


def compile_query(text: str, catalog: Catalog) -> Node:
    """The plan of a text that is one query."""
    bound = list(statements(text, catalog))
    if len(bound) != 1 or not isinstance(bound[0], Ask):
        raise CqlMeaningError("one SELECT is expected here", Span(0, len(text)), "write one query").locate(text)
    return bound[0].plan
