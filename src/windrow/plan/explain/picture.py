"""EXPLAIN as a picture: Graphviz text, results flow upwards, edges coloured by their update pattern."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable

from windrow.plan.analysis.state import StateEntry
from windrow.plan.explain.model import ExplainedNode, Explanation
from windrow.plan.explain.tree import entry_text, flow_lines, number, spread_lines, structure_text
from windrow.plan.nodes import Node, Stream, Table
from windrow.plan.pattern import MEANINGS, Pattern
from windrow.plan.running_nodes import Exchange

_COLOURS = {
    Pattern.MONOTONIC: "#3f7a3d",
    Pattern.WKS: "#2f639b",
    Pattern.WK: "#9a6700",
    Pattern.STR: "#b23a48",
}
_FILLS: dict[type[Node], str] = {Stream: "#e6efe4", Table: "#e3eaf1", Exchange: "#f3ead9"}
_QUIET, _ALARM = "#6b675c", "#b23a48"
_WIDTH = 52  # characters of a line in a box; conditions and select lists are broken there
# Edges run from the consumer down and are drawn backwards: only so does Graphviz keep left inputs on the left.
_HEADER = """digraph windrow {
  ordering=out; nodesep=0.5; ranksep=0.4; fontname="Helvetica"; fontsize=10; labelloc=b;
  node [shape=box, style="rounded,filled", fillcolor="#fbfaf6", color="#a39d8c", fontname="Helvetica", fontsize=11];
  edge [fontname="Helvetica", fontsize=10, penwidth=1.6, arrowsize=0.8, dir=back];"""


def picture_text(explanations: Iterable[Explanation]) -> str:
    lines = [_HEADER, f"  label=<{_legend()}>;"]
    for position, explanation in enumerate(explanations):
        lines += _query_lines(explanation, f"q{position}")
    return "\n".join([*lines, "}"])


def _legend() -> str:
    entries = (_coloured(f"{pattern.value}: {words}", _COLOURS[pattern]) for pattern, words in MEANINGS.items())
    return "<br/>" + "<br/>".join(entries)


def _query_lines(explanation: Explanation, prefix: str) -> list[str]:
    """A query stands in a frame of its own, its answer on top."""
    answer = [_bold(explanation.query or "query"), *_wrapped(f"answer in {structure_text(explanation.view)}")]
    answer += [html.escape(line) for line in (*spread_lines(explanation), *explanation.shared)]
    lines = [
        f'  subgraph cluster_{prefix} {{ style=rounded; color="#e2dccb"; margin=14; label="";',
        f'  {prefix} [label=<{"<br/>".join(answer)}>, style=filled, fillcolor="#efe9d8"];',
    ]
    _node_lines(explanation.plan, prefix, f"{prefix}_0", lines)
    return [*lines, "  }"]


def _node_lines(node: ExplainedNode, consumer: str, name: str, lines: list[str]) -> None:
    """The node, the edge to its consumer, then its inputs."""
    fill = f', fillcolor="{_FILLS[node.kind]}"' if node.kind in _FILLS else ""
    lines.append(f"  {name} [label=<{_node_label(node)}>{fill}];")
    colour = _COLOURS[node.pattern]
    label = f"{node.pattern.value}  ~{number(node.estimate.rate)}/s"
    lines.append(f'  {consumer} -> {name} [label=" {label} ", color="{colour}", fontcolor="{colour}"];')
    for position, below in enumerate(node.inputs):
        _node_lines(below, name, f"{name}_{position}", lines)


def _node_label(node: ExplainedNode) -> str:
    parts = [_bold(node.operator), *_wrapped(node.detail)]
    parts += [_coloured(line, _QUIET) for text in flow_lines(node) for line in _wrapped(text)]
    parts += [_state_label(entry) for entry in node.state]
    return "<br/>".join(parts)


def _state_label(entry: StateEntry) -> str:
    return _coloured(html.escape(f"keeps {entry_text(entry)}"), _QUIET if entry.is_bounded else _ALARM)


def _wrapped(text: str) -> list[str]:
    """As few lines as fit, all of about the same length."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    lines = _broken(printable, _WIDTH)
    narrowest = len(printable) // max(len(lines), 1)
    tries = (_broken(printable, width) for width in range(max(narrowest, 1), _WIDTH))
    return [html.escape(line) for line in next((found for found in tries if len(found) <= len(lines)), lines)]


def _broken(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _bold(text: str) -> str:
    return f"<b>{' '.join(_wrapped(text))}</b>"


def _coloured(escaped: str, colour: str) -> str:
    return f'<font point-size="10" color="{colour}">{escaped}</font>'
