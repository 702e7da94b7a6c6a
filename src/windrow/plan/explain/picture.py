"""EXPLAIN as a picture: Graphviz text, results flow upwards, edges coloured by their update pattern."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from windrow.plan.explain.model import ExplainedNode, Explanation
from windrow.plan.explain.tree import entry_text, number
from windrow.plan.pattern import Pattern

_COLOURS = {
    Pattern.MONOTONIC: "#5b8c5a",
    Pattern.WKS: "#3a6ea5",
    Pattern.WK: "#c98a1b",
    Pattern.STR: "#b23a48",
}
_HEADER = """digraph windrow {
  rankdir=BT; nodesep=0.4; ranksep=0.45;
  node [shape=box, style="rounded,filled", fillcolor="#fbfaf6", color="#8a8577", fontname="Helvetica", fontsize=11];
  edge [fontname="Helvetica", fontsize=10, penwidth=1.6];"""


def picture_text(explanations: Iterable[Explanation]) -> str:
    lines = [_HEADER]
    for number_of_query, explanation in enumerate(explanations):
        lines += _query_lines(explanation, f"q{number_of_query}")
    return "\n".join([*lines, "}"])


def _query_lines(explanation: Explanation, prefix: str) -> list[str]:
    title = explanation.query or "query"
    answer = _label(title, [f"answer in {entry_text(explanation.view, name=False)}"])
    lines = [f'  {prefix} [label="{answer}", shape=box, style=filled, fillcolor="#efe9d8"];']
    _node_lines(explanation.plan, prefix, f"{prefix}_0", lines)
    return lines


def _node_lines(node: ExplainedNode, consumer: str, name: str, lines: list[str]) -> None:
    """The node, the edge to its consumer, then its inputs."""
    details = [node.detail, *(f"keeps {entry_text(entry)}" for entry in node.state)]
    lines.append(f'  {name} [label="{_label(node.operator, details)}"];')
    colour = _COLOURS[node.pattern]
    label = f"{node.pattern.value}  ~{number(node.estimate.rate)}/s"
    lines.append(f'  {name} -> {consumer} [label=" {label}", color="{colour}", fontcolor="{colour}"];')
    for position, below in enumerate(node.inputs):
        _node_lines(below, name, f"{name}_{position}", lines)


def _label(title: str, details: list[str]) -> str:
    wrapped = [line for detail in details for line in textwrap.wrap(detail, 48)]
    return "\\n".join(_escape(line) for line in [title, *wrapped])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
