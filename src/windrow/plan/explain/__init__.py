"""EXPLAIN: a plan with its update patterns, state and sizes, as a tree, as JSON and as a picture."""

from windrow.plan.explain.as_json import json_text
from windrow.plan.explain.model import Alternative, Distribution, ExplainedNode, Explanation, explain
from windrow.plan.explain.picture import picture_text
from windrow.plan.explain.tree import tree_text

__all__ = [
    "Alternative",
    "Distribution",
    "ExplainedNode",
    "Explanation",
    "explain",
    "json_text",
    "picture_text",
    "tree_text",
]
