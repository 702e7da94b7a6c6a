"""Files that show what a rule does: a query, its plan before the rule, and the plan or plans after it.

    ==== what the case shows
    query SELECT ...
    before
      Projection s.a
        ...
    after
      Projection s.a
        ...

A rule with alternatives has an `after` for each plan that one step leads to. `unchanged` instead of `after` says that
the rule leaves this plan as it is. Plans are written anew with WINDROW_REWRITE=1; titles, queries and whether something
changes are not.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.plans import session
from windrow.cql import compile_query
from windrow.optimizer import ALTERNATIVES, FINISHING, REQUIRED, RULES
from windrow.optimizer.explore import AlternativeRule, explore
from windrow.optimizer.optimize import applied
from windrow.plan.explain.operators import describe_operator, operator_name
from windrow.plan.nodes import Node
from windrow.plan.rewrite import Rule

FOLDER = Path(__file__).parents[1] / "optimizer" / "rules"
ALL_RULES: dict[str, Rule | AlternativeRule] = {
    rule.__name__: rule for rule in (*REQUIRED, *RULES, *ALTERNATIVES, *FINISHING)
}
_CASE = re.compile(r"==== (?P<title>.+)\nquery (?P<query>(?:.|\n)+?)\n(?P<plans>before\n(?:.|\n)+)\Z")


@dataclass(frozen=True)
class RuleCase:
    rule: str
    title: str
    query: str
    unchanged: bool

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"


def cases_in(path: Path) -> list[RuleCase]:
    parts = re.split(r"^(?=====)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_case(path.stem, part) for part in parts if part.strip()]


def _case(rule: str, text: str) -> RuleCase:
    found = _CASE.match(text)
    assert found is not None, f"this is no case: {text}"
    return RuleCase(rule, found["title"], found["query"], re.search("^unchanged$", found["plans"], re.M) is not None)


def plans_of(case: RuleCase) -> tuple[Node, list[Node]]:
    """The plan before the rule, and those it is changed to by this rule alone; none when it stays."""
    bound = compile_query(case.query, session().catalog)
    for rule in ALTERNATIVES:
        if rule.__name__ == case.rule:
            before = applied(bound, RULES)
            return before, [candidate.plan for candidate in explore(before, (rule,)) if len(candidate.steps) == 1]
    (rewrite,) = {rule for rule in (*REQUIRED, *RULES, *FINISHING) if rule.__name__ == case.rule}
    after = applied(bound, (rewrite,))
    return bound, [] if after == bound else [after]


def sketch(node: Node, depth: int = 0) -> str:
    """A plan as indented operators."""
    lines = [f"{'  ' * depth}{operator_name(node)} {describe_operator(node)}".rstrip()]
    return "\n".join([*lines, *(sketch(below, depth + 1) for below in node.inputs)])


def rendered(cases: Sequence[RuleCase]) -> str:
    """The file with the plans as they are now."""
    return "\n".join(_text(case, *plans_of(case)) for case in cases)


def _text(case: RuleCase, before: Node, changed: Sequence[Node]) -> str:
    parts = [f"==== {case.title}", f"query {case.query}", "before", textwrap.indent(sketch(before), "  ")]
    for after in changed:
        parts += ["after", textwrap.indent(sketch(after), "  ")]
    return "\n".join([*parts, *(["unchanged"] if case.unchanged else [])]) + "\n"
