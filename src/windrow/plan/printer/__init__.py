"""Plans, windows and expressions as CQL text."""

from windrow.plan.printer.expressions import (
    ExpressionPrinter,
    aggregate_text,
    expression_text,
    literal_text,
    sort_key_text,
)
from windrow.plan.printer.names import RESERVED, column_name, identifier
from windrow.plan.printer.queries import query_text
from windrow.plan.printer.windows import window_text

__all__ = [
    "RESERVED",
    "ExpressionPrinter",
    "aggregate_text",
    "column_name",
    "expression_text",
    "identifier",
    "literal_text",
    "query_text",
    "sort_key_text",
    "window_text",
]
