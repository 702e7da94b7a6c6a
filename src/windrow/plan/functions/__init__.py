"""Scalar functions and operators: which arguments they take and what type they give (Spark SQL's meaning)."""

from windrow.plan.functions.rewrites import REWRITES
from windrow.plan.functions.signature import Function, SignatureError, check_count
from windrow.plan.functions.table import (
    ALIASES,
    FUNCTIONS,
    TIME_PARTS,
    call,
    conjunction,
    conjuncts,
    equal_columns,
    promoted,
    scalar_names,
)

__all__ = [
    "ALIASES",
    "FUNCTIONS",
    "REWRITES",
    "TIME_PARTS",
    "Function",
    "SignatureError",
    "call",
    "check_count",
    "conjunction",
    "conjuncts",
    "equal_columns",
    "promoted",
    "scalar_names",
]
