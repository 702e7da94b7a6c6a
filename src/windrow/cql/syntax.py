"""Syntax trees of what CQL has beyond SQL; the rest of a tree are sqlglot's own nodes.

Nodes carry where they stand in the text, so that every later error can mark it.
"""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import Span


class WindowSyntax(exp.Expression):
    """`[...]` after a relation: `extent` and `slide` are those of plan.windows, columns are still names."""

    arg_types = {
        "extent": True,
        "slide": False,
        "internal": False,
        "partition": False,
        "predicate": False,
        "time": False,  # the column that TUMBLE and HOP name
    }


class Relation(exp.Expression):
    """A name or a query in FROM, with window and alias."""

    arg_types = {"this": True, "window": False, "alias": False}


class JoinSyntax(exp.Expression):
    """Two FROM items; `kind` is INNER, LEFT, RIGHT, FULL or CROSS."""

    arg_types = {"this": True, "expression": True, "kind": True, "on": False, "using": False}


class OutputSyntax(exp.Expression):
    """ISTREAM, DSTREAM, RSTREAM or WSTREAM before a select list."""

    arg_types = {"this": True, "restore": False, "window": False}


class WindowedCall(exp.Expression):
    """`WSTREAM(aggregate)[...]` inside an aggregate."""

    arg_types = {"this": True, "window": True}


class TypedLiteral(exp.Expression):
    """`TIMESTAMP '...'`, `DATE '...'` and intervals; the value is ready."""

    arg_types = {"this": True, "type": True}


class CastSyntax(exp.Expression):
    arg_types = {"this": True, "type": True, "safe": False}


class FieldSyntax(exp.Expression):
    """`struct.field`, behind anything but one name."""

    arg_types = {"this": True, "field": True}


class ElementSyntax(exp.Expression):
    """`array[place]` and `map[key]`."""

    arg_types = {"this": True, "expression": True}


class ConnectorSyntax(exp.Expression):
    """`parquet('folder', option => value)`."""

    arg_types = {"this": True, "arguments": False, "options": False}


class ColumnSyntax(exp.Expression):
    arg_types = {"this": True, "type": False, "nullable": False, "primary": False, "computed": False}


class CreateStream(exp.Expression):
    arg_types = {
        "this": True,
        "columns": True,
        "primary_key": False,
        "connector": False,
        "timestamp": False,
        "arrival": False,
        "slack": False,
        "lifetime": False,
        "heartbeat": False,
        "idle_after": False,
        "ahead": False,
        "ahead_of_newest": False,
        "punctuations": False,
        "late_sink": False,
        "rejected_sink": False,
        "if_not_exists": False,
    }


class AlterSyntax(exp.Expression):
    """`ALTER STREAM name SET clauses`."""

    arg_types = {"this": True, "slack": False, "idle_after": False, "ahead": False, "ahead_of_newest": False}


class PunctuationSyntax(exp.Expression):
    """`PUNCTUATION [WHERE condition] [BY columns]`."""

    arg_types = {"where": False, "by": False}


class CreateTable(exp.Expression):
    arg_types = {
        "this": True,
        "columns": True,
        "primary_key": False,
        "non_retroactive": False,
        "connector": False,
        "effective": False,
        "if_not_exists": False,
    }


class CreateWindow(exp.Expression):
    arg_types = {"this": True, "query": True, "if_not_exists": False}


class CreateView(exp.Expression):
    arg_types = {"this": True, "query": True, "if_not_exists": False}


class CreateQuery(exp.Expression):
    """No name is written in `INSERT INTO sink(...) SELECT ...`, which is the same."""

    arg_types = {
        "this": False,
        "query": True,
        "refresh": False,
        "sink": False,
        "starting_now": False,
        "until": False,
        "lasting": False,
        "if_not_exists": False,
    }


class Change(exp.Expression):
    """INSERT, UPDATE or DELETE on a table, with its effect time when one is written."""

    arg_types = {
        "this": True,
        "kind": True,
        "columns": False,
        "rows": False,
        "assignments": False,
        "where": False,
        "effect": False,
    }


class InsertQuery(exp.Expression):
    """`INSERT INTO table [(columns)] SELECT ...`."""

    arg_types = {"this": True, "query": True, "columns": False, "effect": False}


class DropSyntax(exp.Expression):
    arg_types = {"this": True, "kind": True, "if_exists": False}


class ResumeSyntax(exp.Expression):
    arg_types = {"this": True}


class ShowCreate(exp.Expression):
    """`SHOW CREATE [kind] name`."""

    arg_types = {"this": True, "kind": False}


class ShowSyntax(exp.Expression):
    arg_types = {"this": True}


class DescribeSyntax(exp.Expression):
    arg_types = {"this": True}


class ExplainSyntax(exp.Expression):
    """`this` is a query or the name of one; `format` is TREE, JSON, PICTURE or nothing."""

    arg_types = {"this": True, "format": False}


class SetSyntax(exp.Expression):
    arg_types = {"this": True, "value": True}


def span_of(node: exp.Expr | None) -> Span | None:
    """Where a node stands in the text: its own mark, else everything marked below it."""
    if node is None:
        return None
    own = node.meta if node._meta else {}
    if "start" in own and "end" in own:
        return Span(own["start"], own["end"] + 1)
    marks = [part.meta for part in node.walk() if part._meta and "start" in part.meta]
    if not marks:
        return None
    return Span(min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1)
