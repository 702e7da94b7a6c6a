"""CQL: from text to statements with bound plans. The only part of Windrow that knows sqlglot."""

from windrow.cql.compile import compile_query, placed_statements, statements
from windrow.cql.statements import (
    Ask,
    Create,
    Describe,
    Drop,
    Explain,
    Set,
    Show,
    Statement,
    TableChange,
)

__all__ = [
    "Ask",
    "Create",
    "Describe",
    "Drop",
    "Explain",
    "Set",
    "Show",
    "Statement",
    "TableChange",
    "compile_query",
    "placed_statements",
    "statements",
]
