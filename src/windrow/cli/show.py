"""Plans in a terminal: a tree in colours, one colour an update pattern."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from windrow.plan.explain import ExplainedNode, Explanation
from windrow.plan.explain.tree import entry_text, flow_lines, number, remarks, structure_text
from windrow.plan.pattern import MEANINGS, Pattern

_COLOURS = {Pattern.MONOTONIC: "green", Pattern.WKS: "cyan", Pattern.WK: "yellow", Pattern.STR: "red"}


def show_explanations(console: Console, explanations: Iterable[Explanation]) -> None:
    for explanation in explanations:
        title = Text.assemble((explanation.query or "query", "bold"), ": ", explanation.text)
        tree = Tree(title, guide_style="dim")
        tree.add(Text(f"answer kept in {structure_text(explanation.view)}", style="dim"))
        _grow(tree, explanation.plan)
        console.print(tree)
        for remark in remarks(explanation):
            console.print(Text(remark, style="dim italic"))
        console.print()
    for pattern, meaning in MEANINGS.items():
        console.print(Text(f"{pattern.value:<9}  {meaning}", style=_COLOURS[pattern]))


def _grow(tree: Tree, node: ExplainedNode) -> None:
    edge = (f"  [{node.pattern.value}, ~{number(node.estimate.rate)} rows/s]", _COLOURS[node.pattern])
    label = Text.assemble((node.operator, "bold"), f" {node.detail}", edge)
    for line in (*flow_lines(node), *(f"keeps {entry_text(entry)}" for entry in node.state)):
        label.append(f"\n{line}", style="dim")
    branch = tree.add(label)
    for below in node.inputs:
        _grow(branch, below)
