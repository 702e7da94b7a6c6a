"""Binding: syntax trees become plans over the catalog, with every name looked up and every type checked."""

from windrow.cql.binder.statements import bind_query, bind_statement

__all__ = ["bind_query", "bind_statement"]
