"""EXPLAIN as data: a list with one object a query, each node with its operator, pattern, state and inputs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from windrow.plan.analysis.state import StateEntry
from windrow.plan.explain.model import Alternative, ExplainedNode, Explanation

Json = dict[str, object]


def json_text(explanations: Iterable[Explanation]) -> str:
    return json.dumps([as_object(explanation) for explanation in explanations], indent=2, ensure_ascii=False)


def as_object(explanation: Explanation) -> Json:
    return {
        "query": explanation.query,
        "text": explanation.text,
        **({} if explanation.strategy == "upa" else {"strategy": explanation.strategy}),
        "view": _entry(explanation.view),
        **({} if explanation.shards is None else {"shards": explanation.shards, "sources": list(explanation.sources)}),
        **({"shared": list(explanation.shared)} if explanation.shared else {}),
        **({"coverage": list(explanation.coverage)} if explanation.coverage else {}),
        "plan": _node(explanation.plan, explanation.shards is not None),
        "alternatives": [_alternative(alternative) for alternative in explanation.alternatives],
    }


def _node(node: ExplainedNode, on_shards: bool) -> Json:
    return {
        "operator": node.operator,
        "detail": node.detail,
        **({"stage": node.stage} if on_shards else {}),
        "pattern": node.pattern.value,
        "lifetime": {"begin": node.lifetime.begin, "end": str(node.lifetime.end)},
        "state": [_entry(entry) for entry in node.state],
        "rows_per_second": _finite(node.estimate.rate),
        "rows_alive": _finite(node.estimate.rows),
        "assumed": node.estimate.assumed,
        "columns": [{"name": name, "type": of} for name, of in node.columns],
        "keys": [list(key) for key in node.keys],
        **({"notes": list(node.notes)} if node.notes else {}),
        "inputs": [_node(below, on_shards) for below in node.inputs],
    }


def _alternative(alternative: Alternative) -> Json:
    return {
        "steps": list(alternative.steps),
        "cost": round(alternative.cost, 6),
        "chosen": alternative.chosen,
        "why": alternative.why,
    }


def _entry(entry: StateEntry) -> Json:
    until: Json = {"until_closed": list(entry.until)} if entry.until else {}
    return {"what": entry.what, "structure": entry.structure.value, "rows": _finite(entry.rows), **until}


def _finite(value: float) -> float | None:
    """Null for what grows for ever: JSON has no infinity."""
    return None if math.isinf(value) else round(value, 6)
