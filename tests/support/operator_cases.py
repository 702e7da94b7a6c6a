"""Plans with the SQL they stand for, under each strategy; l is [RANGE 10], r is [RANGE 15], f is [ROWS 6]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from support import operator_oracle
from support.operator_runs import Node, Source
from support.own_aggregates import OWN
from windrow.aggregates import (
    Aggregate,
    AtEdgeOfTime,
    Count,
    IntegerAverage,
    IntegerSum,
    Median,
    OverDistinct,
    Quantile,
    StandardDeviation,
    Top,
    UserDefined,
    Variance,
    maximum,
    minimum,
)
from windrow.batch import Batch, Column, Dictionary
from windrow.operators import (
    AntiJoin,
    DistinctNaive,
    DistinctStar,
    GroupBy,
    Join,
    Limit,
    MergeUnion,
    Multiplicity,
    MultiplicityOperator,
    NegativeTuples,
    NotIn,
    OuterJoin,
    Projection,
    RangeLifetime,
    RowsWindow,
    Selection,
    SemiJoin,
    SortColumn,
    TimeWindow,
    distinct_strict,
)
from windrow.state import StructureKind
from windrow.types import BIGINT

FIFO, CALENDAR, HASH, LIST = StructureKind
IN_VIEW = {"l": operator_oracle.last(10), "r": operator_oracle.last(15), "f": operator_oracle.last_rows(6)}


@dataclass(frozen=True)
class Strategy:
    """The structure for each pattern, and what stands above a window."""

    name: str
    weakest: StructureKind
    weak: StructureKind
    strict: StructureKind
    told: bool = False  # ends are told by negative tuples

    def window(self, name: str) -> Node:
        if name == "f":
            return Node(RowsWindow(6), Source("f"))
        plain = Node(TimeWindow(RangeLifetime(10 if name == "l" else 15)), Source(name))
        return Node(NegativeTuples(), plain) if self.told else plain

    def of(self, name: str) -> StructureKind:
        """The structure for the rows of a window; those of the count window are taken back."""
        return self.strict if name == "f" else self.weakest


UPA = Strategy("UPA", FIFO, CALENDAR, HASH)
DIRECT = Strategy("DIRECT", LIST, LIST, LIST)
NT = Strategy("NT", HASH, HASH, HASH, told=True)
STRATEGIES = {s.name: s for s in (UPA, DIRECT, NT)}


@dataclass(frozen=True)
class Case:
    sql: str
    build: Callable[[Strategy], Node]


def smaller(pairs: Batch) -> Any:
    """l.v < r.v on pairs, by SQL's logic."""
    a, b = pairs.columns[1], pairs.columns[5]
    return (a.values < b.values) & a.valid_mask() & b.valid_mask()


def positive(rows: Batch) -> Any:
    v = rows.columns[1]
    return (v.values > 0) & v.valid_mask()


def nth(ordinal: int) -> Callable[[Batch], Column]:
    return lambda rows: rows.columns[ordinal]


def columns(*ordinals: int) -> Projection:
    return Projection(tuple(nth(ordinal) for ordinal in ordinals))


def _join(a: str, b: str, keys: tuple[int, ...] = (0,), residual: Any = None) -> Callable[[Strategy], Node]:
    def build(s: Strategy) -> Node:
        join = Join(keys, keys, residual, left_structure=s.of(a), right_structure=s.of(b))
        return Node(join, s.window(a), s.window(b))

    return build


def _semi_of(s: Strategy, a: str, b: str, keys: tuple[int, ...] = (0,), residual: Any = None) -> SemiJoin:
    return SemiJoin(4, keys, keys, residual, left_structure=s.of(a), right_structure=s.of(b))


def _set(which: Multiplicity, a: str, b: str) -> Callable[[Strategy], Node]:
    def build(s: Strategy) -> Node:
        kv = columns(0, 2)
        return Node(MultiplicityOperator(which, (s.of(a), s.of(b))), Node(kv, s.window(a)), Node(kv, s.window(b)))

    return build


def _outer(a: str, b: str, left: bool, right: bool, residual: Any = None) -> Callable[[Strategy], Node]:
    def build(s: Strategy) -> Node:
        inner = Join((0,), (0,), residual, left_structure=s.of(a), right_structure=s.of(b))
        return Node(OuterJoin(inner, 4, 4, left, right), s.window(a), s.window(b))

    return build


def _star(s: Strategy) -> Node:
    """δ* is for inputs without negative tuples; the strict form stands in under NT."""
    inner = Node(columns(0, 2), s.window("l"))
    return Node(distinct_strict(HASH) if s.told else DistinctStar(s.weak), inner)


def _naive(s: Strategy) -> Node:
    inner = Node(columns(0, 2), s.window("l"))
    return Node(distinct_strict(HASH) if s.told else DistinctNaive(s.weak), inner)


def _join_of_negation(s: Strategy) -> Node:
    """Query 4 of the thesis with the negation pushed down: a join over a strict edge."""
    negation = Node(AntiJoin(_semi_of(s, "l", "r")), s.window("l"), s.window("r"))
    join = Join((0,), (0,), left_structure=s.strict, right_structure=s.of("f"))
    return Node(join, negation, s.window("f"))


def _negation_of_join(s: Strategy) -> Node:
    """The same with the negation pulled up."""
    join = Node(Join((0,), (0,), left_structure=s.of("l"), right_structure=s.of("f")), s.window("l"), s.window("f"))
    semi = SemiJoin(8, (0,), (0,), left_structure=s.strict, right_structure=s.of("r"))
    return Node(AntiJoin(semi), join, s.window("r"))


def _nested(s: Strategy) -> Node:
    """DISTINCT over a join over a DISTINCT: strict edges feed everything."""
    inner = Node(distinct_strict(s.weakest), Node(columns(0, 1), s.window("l")))
    join = Node(Join((0,), (0,), left_structure=s.strict, right_structure=s.of("r")), inner, s.window("r"))
    return Node(distinct_strict(s.strict if s.told else s.weak), Node(columns(1, 2, 4), join))


def _group(name: str, keys: tuple[int, ...], *aggregates: Aggregate) -> Callable[[Strategy], Node]:
    return lambda s: Node(GroupBy(keys, aggregates, s.of(name)), s.window(name))


def _group_of_join(s: Strategy) -> Node:
    join = _join("l", "r")(s)
    return Node(GroupBy((2,), (Count(), IntegerSum(5, BIGINT), maximum(1)), s.strict if s.told else s.weak), join)


def _group_of_group(s: Strategy) -> Node:
    inner = _group("l", (0, 2), Count())(s)
    return Node(GroupBy((0,), (maximum(2), IntegerSum(2, BIGINT)), s.strict), inner)


def own(name: str, column: int) -> UserDefined:
    """An aggregate of the user's own; all take a DOUBLE, and get integers."""
    (user,) = (user for user in OWN if user.name == name)
    return UserDefined(
        name, (column,), user.functions, user.result, Dictionary(), user.failures.report,
        user.vectorized, user.is_subtractable, user.duplicate_sensitive,
    )  # fmt: skip


def _top(x: str, count: int) -> str:
    by_count = f"list_transform(map_entries(histogram({x})), lambda e: {{'c': -CAST(e.value AS BIGINT), 'i': e.key}})"
    items = f"list_transform(list_sort({by_count})[1:{count}], lambda e: {{'item': e.i, 'count': -e.c}})"
    return f"coalesce({items}, [])"


_QUANTILE = "(list(v ORDER BY v) FILTER (v IS NOT NULL))[greatest(1, ceil(0.3 * count(v)))::BIGINT]"
_FIRST = '(list(v ORDER BY "at", v) FILTER (v IS NOT NULL))[1]'
_LAST = '(list(s ORDER BY "at", s) FILTER (s IS NOT NULL))[-1]'
_NOT_IN = "FROM l WHERE l.v NOT IN (SELECT v FROM r WHERE r.k = l.k)"

CASES: dict[str, Case] = {
    "selection": Case("SELECT * FROM l WHERE v > 0", lambda s: Node(Selection(positive), s.window("l"))),
    "projection": Case("SELECT s, k FROM l", lambda s: Node(columns(2, 0), s.window("l"))),
    "union all": Case(
        "SELECT * FROM l UNION ALL SELECT * FROM r",
        lambda s: Node(MergeUnion(), s.window("l"), s.window("r")),
    ),
    "join": Case("SELECT * FROM l JOIN r ON l.k = r.k", _join("l", "r")),
    "join on strings": Case("SELECT * FROM l JOIN r ON l.k = r.k AND l.s = r.s", _join("l", "r", (0, 2))),
    "join with residual": Case("SELECT * FROM l JOIN r ON l.k = r.k AND l.v < r.v", _join("l", "r", (0,), smaller)),
    "cross join": Case("SELECT * FROM l JOIN r ON l.v < r.v", _join("l", "r", (), smaller)),
    "join with count window": Case("SELECT * FROM l JOIN f ON l.k = f.k", _join("l", "f")),
    "semi-join": Case(
        "SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        lambda s: Node(_semi_of(s, "l", "r"), s.window("l"), s.window("r")),
    ),
    "semi-join with residual": Case(
        "SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND l.v < r.v)",
        lambda s: Node(_semi_of(s, "l", "r", (0,), smaller), s.window("l"), s.window("r")),
    ),
    "anti-join": Case(
        "SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        lambda s: Node(AntiJoin(_semi_of(s, "l", "r")), s.window("l"), s.window("r")),
    ),
    "anti-join with residual": Case(
        "SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND l.v < r.v)",
        lambda s: Node(AntiJoin(_semi_of(s, "l", "r", (0,), smaller)), s.window("l"), s.window("r")),
    ),
    "anti-join over count windows": Case(
        "SELECT * FROM f WHERE NOT EXISTS (SELECT 1 FROM l WHERE f.k = l.k)",
        lambda s: Node(AntiJoin(_semi_of(s, "f", "l")), s.window("f"), s.window("l")),
    ),
    "not in": Case(
        "SELECT * FROM l WHERE l.v NOT IN (SELECT v FROM r)",
        lambda s: Node(
            NotIn(4, 1, 1, left_structure=s.of("l"), right_structure=s.of("r")), s.window("l"), s.window("r")
        ),
    ),
    "not in, correlated": Case(
        f"SELECT * {_NOT_IN}",
        lambda s: Node(
            NotIn(4, 1, 1, (0,), (0,), left_structure=s.of("l"), right_structure=s.of("r")),
            s.window("l"),
            s.window("r"),
        ),
    ),
    "left join": Case("SELECT * FROM l LEFT JOIN r ON l.k = r.k", _outer("l", "r", True, False)),
    "right join": Case("SELECT * FROM l RIGHT JOIN r ON l.k = r.k", _outer("l", "r", False, True)),
    "full join": Case("SELECT * FROM l FULL JOIN r ON l.k = r.k", _outer("l", "r", True, True)),
    "full join with residual": Case(
        "SELECT * FROM l FULL JOIN r ON l.k = r.k AND l.v < r.v", _outer("l", "r", True, True, smaller)
    ),
    "distinct, strict": Case(
        "SELECT DISTINCT k, s FROM l",
        lambda s: Node(distinct_strict(s.weakest), Node(columns(0, 2), s.window("l"))),
    ),
    "distinct, star": Case("SELECT DISTINCT k, s FROM l", _star),
    "distinct, naive": Case("SELECT DISTINCT k, s FROM l", _naive),
    "distinct over count window": Case(
        "SELECT DISTINCT k FROM f",
        lambda s: Node(distinct_strict(s.strict), Node(columns(0), s.window("f"))),
    ),
    "except all": Case("SELECT k, s FROM l EXCEPT ALL SELECT k, s FROM r", _set(Multiplicity.EXCEPT_ALL, "l", "r")),
    "except": Case("SELECT k, s FROM l EXCEPT SELECT k, s FROM r", _set(Multiplicity.EXCEPT, "l", "r")),
    "except over count window": Case(
        "SELECT k, s FROM f EXCEPT ALL SELECT k, s FROM l", _set(Multiplicity.EXCEPT_ALL, "f", "l")
    ),
    "intersect all": Case(
        "SELECT k, s FROM l INTERSECT ALL SELECT k, s FROM r", _set(Multiplicity.INTERSECT_ALL, "l", "r")
    ),
    "intersect": Case("SELECT k, s FROM l INTERSECT SELECT k, s FROM r", _set(Multiplicity.INTERSECT, "l", "r")),
    "join of negation": Case(
        "SELECT * FROM l JOIN f ON l.k = f.k WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        _join_of_negation,
    ),
    "negation of join": Case(
        "SELECT * FROM l JOIN f ON l.k = f.k WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        _negation_of_join,
    ),
    "nested distinct": Case(
        "SELECT DISTINCT d.v, r.k, r.s FROM (SELECT DISTINCT k, v FROM l) d JOIN r ON d.k = r.k", _nested
    ),
    "count and sum": Case(
        "SELECT k, count(*), count(v), sum(v), avg(v) FROM l GROUP BY k",
        _group("l", (0,), Count(), Count(1), IntegerSum(1, BIGINT), IntegerAverage(1)),
    ),
    "ungrouped": Case(
        "SELECT count(*), sum(v), max(s) FROM l", _group("l", (), Count(), IntegerSum(1, BIGINT), maximum(2))
    ),
    "ungrouped, over count window": Case("SELECT count(*), min(v) FROM f", _group("f", (), Count(), minimum(1))),
    "extremes": Case(
        "SELECT k, min(v), max(v), min(s), max(s) FROM r GROUP BY k",
        _group("r", (0,), minimum(1), maximum(1), minimum(2), maximum(2)),
    ),
    "extremes over count window": Case(
        "SELECT k, min(v), max(s) FROM f GROUP BY k", _group("f", (0,), minimum(1), maximum(2))
    ),
    "spread": Case(
        "SELECT s, var_samp(v), stddev_samp(v) FROM r GROUP BY s",
        _group("r", (2,), Variance(1), StandardDeviation(1)),
    ),
    "order statistics": Case(
        f"SELECT k, median(v), {_QUANTILE} FROM r GROUP BY k",
        _group("r", (0,), Median(1), Quantile(1, Fraction(3, 10))),
    ),
    "first and last": Case(
        f"SELECT k, {_FIRST}, {_LAST} FROM r GROUP BY k",
        _group("r", (0,), AtEdgeOfTime(1, 3, 0), AtEdgeOfTime(2, 3, 1)),
    ),
    "most frequent": Case(
        f"SELECT k, {_top('v', 2)}, {_top('s', 3)} FROM r GROUP BY k",
        _group("r", (0,), Top(1, 2, Dictionary()), Top(2, 3, Dictionary())),
    ),
    "most frequent over count window": Case(f"SELECT {_top('s', 2)} FROM f", _group("f", (), Top(2, 2, Dictionary()))),
    "arrays as rows": Case(
        f"SELECT DISTINCT {_top('v', 1)} AS t FROM f GROUP BY k ORDER BY t LIMIT 2",
        lambda s: Node(
            Limit((SortColumn(0),), 2, 0, s.strict),
            Node(distinct_strict(s.strict), Node(columns(1), _group("f", (0,), Top(1, 1, Dictionary()))(s))),
        ),
    ),
    "one's own, subtracted": Case(
        "SELECT k, sum(v * v) FROM r GROUP BY k",
        _group("r", (0,), own("SQUARES", 1)),
    ),
    "one's own, in a merge tree": Case(
        "SELECT k, sum(v * v), max(v) - min(v) FROM r GROUP BY k",
        _group("r", (0,), own("MERGED_SQUARES", 1), own("SPAN", 1)),
    ),
    "one's own over a count window": Case(
        "SELECT sum(v * v), sum(v * v), max(v) - min(v), sum(v * v) FROM f",
        _group("f", (), *(own(name, 1) for name in ("SQUARES", "MERGED_SQUARES", "SPAN", "ROW_SQUARES"))),
    ),
    "distinct values": Case(
        "SELECT k, count(DISTINCT v), sum(DISTINCT v), count(DISTINCT s) FROM r GROUP BY k",
        _group(
            "r",
            (0,),
            OverDistinct(Count(1)),
            OverDistinct(IntegerSum(1, BIGINT)),
            OverDistinct(Count(2)),
        ),
    ),
    "group of join": Case(
        "SELECT l.s, count(*), sum(r.v), max(l.v) FROM l JOIN r ON l.k = r.k GROUP BY l.s", _group_of_join
    ),
    "group of group": Case(
        "SELECT k, max(c), sum(c) FROM (SELECT k, s, count(*) AS c FROM l GROUP BY k, s) GROUP BY k",
        _group_of_group,
    ),
    "limit": Case(
        'SELECT * FROM l ORDER BY v DESC NULLS LAST, k NULLS FIRST, s NULLS FIRST, "at" LIMIT 3 OFFSET 1',
        lambda s: Node(Limit((SortColumn(1, True, False),), 3, 1, s.of("l")), s.window("l")),
    ),
    "limit by strings": Case(
        "SELECT s, k FROM f ORDER BY s DESC NULLS FIRST, k NULLS FIRST LIMIT 2",
        lambda s: Node(Limit((SortColumn(0, True),), 2, 0, s.of("f")), Node(columns(2, 0), s.window("f"))),
    ),
    "limit of group": Case(
        "SELECT k, count(*) AS c FROM r GROUP BY k ORDER BY c DESC, k NULLS FIRST LIMIT 2",
        lambda s: Node(Limit((SortColumn(1, True),), 2, 0, s.strict), _group("r", (0,), Count())(s)),
    ),
}
