"""Which rows of a stream are punctuations: those that a SELECT with the declared condition would give."""

from __future__ import annotations

from windrow.batch import Dictionary
from windrow.catalog import Catalog, Punctuation, StreamEntry
from windrow.cql import compile_query
from windrow.operators import Predicate
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.nodes import Filter


def punctuation_rows(stream: StreamEntry, dictionary: Dictionary) -> list[tuple[Punctuation, Predicate]]:
    """The punctuations that are among the rows, each with its condition on them."""
    conditions = []
    for punctuation in stream.punctuations:
        if punctuation.where is not None:
            names = {f"{stream.name}.{column.name}": place for place, column in enumerate(stream.columns)}
            compiler = ExpressionCompiler(names, dictionary)
            conditions.append((punctuation, compiler.predicate(_condition(stream, punctuation.where).predicate)))
    return conditions


def _condition(stream: StreamEntry, where: str) -> Filter:
    catalog = Catalog()
    catalog.put(stream)
    plan = compile_query(f'SELECT * FROM "{stream.name}" WHERE {where}', catalog)
    return next(node for node in plan.walk() if isinstance(node, Filter))
