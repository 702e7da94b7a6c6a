"""EXPLAIN as a tree of text: results flow upwards, each line names the pattern of the edge that leaves it."""

from __future__ import annotations

import math

from windrow.plan.analysis.state import StateEntry
from windrow.plan.explain.model import Alternative, ExplainedNode, Explanation

_SHOWN_ALTERNATIVES = 6


def tree_text(explanation: Explanation) -> str:
    title = explanation.query or "query"
    lines = [f"{title}: {explanation.text}", f"answer kept in: {structure_text(explanation.view)}"]
    lines += _node_lines(explanation.plan, "", "")
    return "\n".join([*lines, *remarks(explanation)])


def remarks(explanation: Explanation) -> list[str]:
    """What a reader should know besides: state without bound, sizes that rest on assumptions."""
    found = [*spread_lines(explanation), *explanation.shared, *explanation.coverage, *strategy_lines(explanation)]
    found += [f"grows for ever: {what}; give its input a window" for what in explanation.grows]
    if explanation.plan.estimate.assumed:
        found.append("sizes assume 1,000 rows/s and 100 values a column where nothing was measured")
    return [*found, *_alternative_lines(explanation)]


def spread_lines(explanation: Explanation) -> list[str]:
    """On shards: how often rows move, and what is done before they do."""
    if explanation.shards is None:
        return []
    shards = "one shard" if explanation.shards == 1 else f"{explanation.shards} shards"
    stages = "one stage" if explanation.stages == 1 else f"{explanation.stages} stages"
    there = f"; where rows are read (stage 0): {', '.join(explanation.read_there)}" if explanation.read_there else ""
    return [f"on {shards}, in {stages}{there}", *explanation.sources]


_OTHERWISE = {
    "direct": "rows are stored in lists that are looked through, and DISTINCT keeps its whole input",
    "nt": "every end is announced by a negative tuple, and rows are stored in hashes on the row",
}


def strategy_lines(explanation: Explanation) -> list[str]:
    """What is done otherwise than shown, under another strategy than the usual one."""
    otherwise = _OTHERWISE.get(explanation.strategy)
    return [] if otherwise is None else [f"strategy {explanation.strategy}: {otherwise} instead of what is shown"]


def flow_lines(node: ExplainedNode) -> list[str]:
    """How long the rows of a window live, or where an exchange sends rows; nothing for other operators."""
    lines = [] if node.span is None else [f"lives from {node.span.begin} to {node.span.end}"]
    if node.moves is not None:
        lines.append("rows move from stage {} to stage {}".format(*node.moves))
    return lines


def _alternative_lines(explanation: Explanation) -> list[str]:
    """Nothing where there was no choice; otherwise the cheapest first."""
    if len(explanation.alternatives) < 2:
        return []
    ordered = sorted(explanation.alternatives, key=lambda alternative: (not alternative.chosen, alternative.cost))
    lines = [_alternative_line(alternative) for alternative in ordered[:_SHOWN_ALTERNATIVES]]
    hidden = len(ordered) - len(lines)
    more = [f"  and {hidden} more that cost at least as much"] if hidden > 0 else []
    return ["plans considered, with the work for a second of the streams:", *lines, *more]


def _alternative_line(alternative: Alternative) -> str:
    mark = "→" if alternative.chosen else " "
    what = "; ".join(alternative.steps) or "as written"
    return f"{mark} {number(alternative.cost)}  {what}: {alternative.why}"


def _node_lines(node: ExplainedNode, first: str, rest: str) -> list[str]:
    lines = [f"{first}{node.operator} {node.detail}  [{node.pattern.value}, ~{number(node.estimate.rate)} rows/s]"]
    bar = "│ " if node.inputs else "  "
    lines += [f"{rest}{bar}  {line}" for line in (*flow_lines(node), *node.notes)]
    lines += [f"{rest}{bar}  keeps {entry_text(entry)}" for entry in node.state]
    for position, below in enumerate(node.inputs):
        last = position == len(node.inputs) - 1
        lines += _node_lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
    return lines


def entry_text(entry: StateEntry) -> str:
    """`left in a FIFO of basic windows, ~600,000 rows`."""
    return f"{entry.what} in {structure_text(entry)}"


def structure_text(entry: StateEntry) -> str:
    """`a FIFO of basic windows, ~600,000 rows`."""
    rows = "row" if entry.rows == 1 else "rows"
    sizes = [] if math.isinf(entry.rows) else [f"~{number(entry.rows)} {rows}"]
    sizes += [f"until {', '.join(entry.until)} is closed"] if entry.until else []
    return f"{entry.structure.value}, {', '.join(sizes) or 'growing for ever'}"


def number(value: float) -> str:
    """Three significant digits, the way people say sizes."""
    if math.isinf(value):
        return "ever more"
    if value < 10:
        return f"{value:.2g}"
    digits = max(0, int(math.log10(value)) - 2)
    return f"{round(value, -digits):,.0f}"
