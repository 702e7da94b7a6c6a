"""`SUM(WSTREAM(SUM(a))[ROWS 10])`: short for an aggregate over a window on a sub-query (thesis 3.4)."""

from __future__ import annotations

from sqlglot import exp

from windrow.cql.syntax import Relation, WindowedCall, WindowSyntax, span_of
from windrow.errors import CqlMeaningError

_ALIAS = "_wstream"
NESTED_COLUMN = "value"


def nested_outputs(select: exp.Select) -> list[WindowedCall]:
    return [node for item in select.expressions for node in item.find_all(WindowedCall)]


def as_subquery(select: exp.Select, nested: list[WindowedCall]) -> exp.Select:
    """The same query with the inner aggregate in a sub-query of internal windows, and the window on that."""
    first = nested[0]
    if any(other != first for other in nested[1:]):
        raise CqlMeaningError("one SELECT has one WSTREAM(...)[...]", span_of(nested[1]), "write sub-queries in FROM")
    if select.args.get("group") or select.args.get("having"):
        hint = "write the inner aggregate as a sub-query in FROM"
        raise CqlMeaningError("WSTREAM(...)[...] inside an aggregate has no GROUP BY", span_of(first), hint)
    inner = exp.Select(
        expressions=[exp.Alias(this=first.this.copy(), alias=exp.to_identifier(NESTED_COLUMN))],
        from_=_with_internal_windows(select.args["from_"]),
        where=select.args.get("where"),
    )
    window = first.args["window"]
    relation = Relation(this=inner, window=window, alias=exp.to_identifier(_ALIAS))
    outer = select.copy()
    for node in list(outer.find_all(WindowedCall)):
        column = exp.Column(this=exp.to_identifier(NESTED_COLUMN), table=exp.to_identifier(_ALIAS))
        node.replace(column.update_positions(node))
    outer.set("from_", exp.From(this=relation))
    outer.set("where", None)
    return outer


def _with_internal_windows(from_: exp.From) -> exp.From:
    copied = from_.copy()
    for relation in [copied.this, *copied.find_all(Relation)]:
        window = relation.args.get("window")
        if isinstance(window, WindowSyntax):
            window.set("internal", True)
    return copied
