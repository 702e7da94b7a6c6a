"""CQL: from text to statements with bound plans. The only part of Windrow that knows sqlglot."""

from windrow.cql.compile import compile_query, placed_statements, statements
from windrow.cql.statements import (
    Alter,
    Ask,
    Create,
    Describe,
    Drop,
    Explain,
    ResumeQuery,
    Set,
    Show,
    Statement,
    TableChange,
)

__all__ = [
    "Alter",
    "Ask",
    "Create",
    "Describe",
    "Drop",
    "Explain",
    "ResumeQuery",
    "Set",
    "Show",
    "Statement",
    "TableChange",
    "compile_query",
    "placed_statements",
    "statements",
]
