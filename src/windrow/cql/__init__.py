"""CQL: from text to statements with bound plans. The only part of Windrow that knows sqlglot."""

from windrow.cql.compile import NONE, compile_query, placed_statements, statements
from windrow.cql.statements import (
    Alter,
    Ask,
    Create,
    Describe,
    Drop,
    Existing,
    Explain,
    InsertAnswer,
    ResumeQuery,
    Set,
    Show,
    ShowStatement,
    Statement,
    TableChange,
)

__all__ = [
    "NONE",
    "Alter",
    "Ask",
    "Create",
    "Describe",
    "Drop",
    "Existing",
    "Explain",
    "InsertAnswer",
    "ResumeQuery",
    "Set",
    "Show",
    "ShowStatement",
    "Statement",
    "TableChange",
    "compile_query",
    "placed_statements",
    "statements",
]
