"""Files that show what a sharing rule makes of several queries: what runs, what starts, and the plans of these.

    ==== what the case shows
    running SELECT ...
    query SELECT ...
    query SELECT ...
    set strategy = nt
    plan
      Projection s.a
        ...
    plan
      ...
    shared by 2: Join ON s.a = t.a (one join)

`running` queries started before, one after the other, `query` are those that start together, with a `plan` each;
`shared by` says what is in several plans, those that run included. Plans are written anew with WINDROW_REWRITE=1;
titles and queries are not.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.plans import DECLARATIONS
from support.rule_files import sketch
from windrow.cql import compile_query
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy
from windrow.session import Session
from windrow.sharing.shared_with import shared_parts
from windrow.sharing.starting import RunningQueryPlan

FOLDER = Path(__file__).parents[1] / "sharing" / "rules"


@dataclass(frozen=True)
class SharingCase:
    rule: str
    title: str
    running: tuple[str, ...]
    queries: tuple[str, ...]
    settings: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"

    @property
    def strategy(self) -> str:
        return next((one.rpartition(" ")[2] for one in self.settings if "strategy" in one), "upa")


def cases_in(path: Path) -> list[SharingCase]:
    parts = re.split(r"^(?=====)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_case(path.stem, part) for part in parts if part.strip()]


def _case(rule: str, text: str) -> SharingCase:
    header = text.partition("\nplan\n")[0].splitlines()
    found = {word: [line.removeprefix(f"{word} ") for line in header if line.startswith(f"{word} ")] for word in _WORDS}
    assert sum(map(len, found.values())) == len(header), f"this is no case: {header}"
    return SharingCase(rule, found["===="][0], tuple(found["running"]), tuple(found["query"]), tuple(found["set"]))


_WORDS = ("====", "running", "query", "set")


def plans_of(case: SharingCase) -> tuple[list[Node], list[Node]]:
    """Of the queries that run, one after the other, and of those that start together."""
    session = Session()
    session.execute(DECLARATIONS)
    for one in case.settings:
        session.execute(f"SET {one}")
    running: list[RunningQueryPlan] = []
    for text in case.running:
        running.append(RunningQueryPlan(*_prepared(session, [text], running), Strategy(case.strategy)))
    return [one.plan for one in running], _prepared(session, case.queries, running)


def _prepared(session: Session, texts: Sequence[str], running: Sequence[RunningQueryPlan]) -> list[Node]:
    starting = [session.starting(f"q{at}", compile_query(one, session.catalog)) for at, one in enumerate(texts)]
    return list(session.prepare(starting, running=running).values())


def rendered(cases: Sequence[SharingCase]) -> str:
    return "\n".join(map(_text, cases))


def _text(case: SharingCase) -> str:
    lines = [f"==== {case.title}", *(f"running {one}" for one in case.running)]
    lines += [*(f"query {one}" for one in case.queries), *(f"set {one}" for one in case.settings)]
    running, plans = plans_of(case)
    for plan in plans:
        lines += ["plan", textwrap.indent(sketch(plan), "  ")]
    parts = shared_parts({str(number): plan for number, plan in enumerate((*running, *plans))})
    lines += [f"shared by {len(part.queries)}: {part} ({part.rule})" for part in parts]
    return "\n".join(lines) + "\n"
