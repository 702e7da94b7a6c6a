"""Answers say what is certain about them: approximate columns carry their bound, as metadata of the Arrow field."""

from __future__ import annotations

import pyarrow as pa

from windrow.plan.analysis.bounds import bounds_of
from windrow.plan.nodes import Node


def with_bounds(answer: pa.Table, plan: Node) -> pa.Table:
    """The same rows; `answer.schema.field(name).metadata[b"bound"]` says what is certain about a column."""
    bounds = bounds_of(plan)
    if not bounds:
        return answer
    fields = [
        field.with_metadata({"bound": bounds[field.name]}) if field.name in bounds else field for field in answer.schema
    ]
    return answer.cast(pa.schema(fields))
