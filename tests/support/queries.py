"""Generated CQL over the streams and tables of `plans`: Hypothesis strategies that give texts which bind."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

STREAMS = ("s", "t", "u")
NUMBERS = ("a", "v")


@dataclass(frozen=True)
class Relation:
    """A FROM item and the alias its columns are called by."""

    text: str
    alias: str


durations = st.sampled_from(["1 SECOND", "2 s", "3500 ms", "5 sec", "1 MINUTE", "1 hour 30 minutes"])
slides = st.sampled_from(["", "", " SLIDE 2 SECONDS", " SLIDE 3 s"])


@st.composite
def time_windows(draw: st.DrawFn, slide: str = "") -> str:
    form = draw(st.sampled_from(["RANGE {d}", "WINDOW {d}", "RANGE FROM 6 s TO {d} AGO"]))
    length = draw(durations if "AGO" not in form else st.sampled_from(["2 SECONDS", "0 s"]))
    return f"[{form.format(d=length)}{slide}]"


@st.composite
def windows(draw: st.DrawFn, slide: str = "") -> str:
    """Any window of the language, with the slide of the query where it takes one."""
    count = draw(st.integers(1, 6))
    open_forms = ["", "[RANGE UNBOUNDED]", "[SINCE '2026-01-01 00:00:05']", "[NOW]"]
    rows = [
        f"[ROWS {count}{slide}]",
        f"[PARTITION BY a ROWS {count}{slide}]",
        f"[ROWS FROM {count + 2} TO {count} AGO{slide}]",
    ]
    fixed = ["[FROM '2026-01-01 00:00:03' TO '2026-01-01 00:00:07.5']"]
    plain = [
        "[PARTITION BY a, b WHERE v > 1]",
        f"[ROWS {count} SLIDE 3 ROWS]",
        "[RANGE 4 s SLIDE 2 ROWS]",
        f"[PARTITION BY b ROWS {count} SLIDE 2 ROWS]",
    ]
    pool = open_forms + rows + fixed + ([] if slide else 2 * plain)
    return draw(st.one_of(time_windows(slide), st.sampled_from(pool)))


def columns(alias: str) -> st.SearchStrategy[str]:
    return st.sampled_from([f"{alias}.{name}" for name in ("a", "v")])


@st.composite
def numbers(draw: st.DrawFn, alias: str, depth: int = 2) -> str:
    """A numeric expression over one relation."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(columns(alias), st.sampled_from(["0", "7", "-3", "2.50", "1.5e3", "9999999999"])))
    one, other = draw(numbers(alias, depth - 1)), draw(numbers(alias, depth - 1))
    form = draw(
        st.sampled_from(
            [
                "{one} + {other}",
                "{one} - ({other})",
                "({one}) * ({other})",
                "({one}) / NULLIF({other}, 0)",
                "-({one})",
                "ABS({one})",
                "COALESCE({one}, {other})",
                "CASE WHEN {one} > {other} THEN {one} ELSE 0 END",
                "GREATEST({one}, {other})",
                "CAST({one} AS DOUBLE)",
                "ROUND({one}, 2)",
            ]
        )
    )
    return form.format(one=one, other=other)


@st.composite
def predicates(draw: st.DrawFn, alias: str, depth: int = 2) -> str:
    if depth > 0 and draw(st.booleans()):
        one, other = draw(predicates(alias, depth - 1)), draw(predicates(alias, depth - 1))
        return draw(st.sampled_from([f"({one}) AND ({other})", f"({one}) OR ({other})", f"NOT ({one})"]))
    value, other = draw(numbers(alias, 1)), draw(numbers(alias, 1))
    operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return draw(
        st.sampled_from(
            [
                f"{value} {operator} {other}",
                f"{alias}.b = 'x'",
                f"{alias}.b LIKE 'a%'",
                f"{alias}.b NOT LIKE '_''%'",
                f"{alias}.b IN ('x', 'y''z')",
                f"{value} NOT IN (1, 2, 3)",
                f"{value} BETWEEN 1 AND 5",
                f"{alias}.v IS NULL",
                f"{alias}.b IS NOT NULL",
                f"{alias}.b IS DISTINCT FROM 'q'",
                f"{alias}.a IS NOT DISTINCT FROM 3",
                f"UPPER({alias}.b) || 'x' = 'AX'",
                f"{alias}.ts > '2026-01-01 00:00:00'",
                f"{alias}.ts - INTERVAL '1 hour 5 s' < TIMESTAMP '2026-05-05 12:00:00.25'",
                f"EXTRACT(HOUR FROM {alias}.ts) = 5",
            ]
        )
    )


@st.composite
def relations(draw: st.DrawFn, name: str, slide: str, depth: int) -> Relation:
    """A stream with a window, or a sub-query over one."""
    alias = draw(st.sampled_from([name, f"{name}_x"]))
    name = draw(st.sampled_from([name, name, "readings"]))
    stream = f"{name} {draw(windows(slide))}"
    if depth > 0 and draw(st.integers(0, 3)) == 0:
        where = f" WHERE {draw(predicates(name, 1))}" if draw(st.booleans()) else ""
        return Relation(f"{draw(sub_queries(stream, where, slide))} AS {alias}", alias)
    return Relation(stream if alias == name else f"{stream} AS {alias}", alias)


@st.composite
def sub_queries(draw: st.DrawFn, stream: str, where: str, slide: str) -> str:
    """A sub-query with the columns of a stream: rows, distinct rows, groups, or a suffix of a longer window."""
    kept = f"(SELECT ts, a, b, v FROM {stream}{where})"
    forms = [kept, kept, f"(SELECT DISTINCT ts, a, b, v FROM {stream}{where})"]
    forms.append(f"(SELECT MAX(ts) AS ts, a, MIN(b) AS b, SUM(v) AS v FROM {stream}{where} GROUP BY a)")
    if not slide:
        name = stream.split(" ")[0]
        forms.append(f"(SELECT ts, a, b, v FROM {name} [RANGE 8 SECONDS]{where}) [RANGE {draw(durations)}]")
    return draw(st.sampled_from(forms))


@st.composite
def memberships(draw: st.DrawFn, alias: str, slide: str) -> str:
    inner = draw(windows(slide))
    return draw(
        st.sampled_from(
            [
                f"EXISTS (SELECT * FROM u {inner} WHERE u.a = {alias}.a)",
                f"NOT EXISTS (SELECT RSTREAM(*) FROM u {inner} WHERE u.a = {alias}.a AND u.v < {alias}.v AND b = 'x')",
                f"{alias}.a IN (SELECT a FROM u {inner})",
                f"{alias}.a NOT IN (SELECT a FROM u {inner} WHERE u.v > 1)",
                f"{alias}.a NOT IN (SELECT u.a + 1 FROM u {inner} WHERE u.b = {alias}.b)",
                f"{alias}.a IN (SELECT a FROM u {inner} GROUP BY a HAVING COUNT(*) > 2)",
                f"NOT EXISTS (SELECT * FROM s {inner} WHERE s.v = {alias}.v)",
            ]
        )
    )


@st.composite
def marks(draw: st.DrawFn, alias: str, slide: str) -> str:
    """Sub-queries inside expressions."""
    inner = draw(windows(slide))
    return draw(
        st.sampled_from(
            [
                f"{alias}.v > 2 OR EXISTS (SELECT * FROM u {inner} WHERE u.a = {alias}.a)",
                f"{alias}.b = 'x' OR {alias}.a NOT IN (SELECT a FROM u {inner} WHERE u.b = {alias}.b)",
                f"{alias}.v <= (SELECT MAX(v) FROM u {inner} WHERE u.a = {alias}.a)",
                f"{alias}.a < (SELECT COUNT(*) FROM u {inner})",
            ]
        )
    )


AGGREGATES = (
    "COUNT(*)",
    "COUNT({x})",
    "SUM({x})",
    "AVG({x})",
    "MIN({x})",
    "MAX({x})",
    "VAR({x})",
    "STDDEV({x})",
    "COUNT(DISTINCT {x})",
    "SUM(DISTINCT {x})",
    "MEDIAN({x})",
    "QUANTILE({x}, 0.9)",
    "TOP(3, {x})",
    "FREQUENT({x}, 5)",
    "FIRST({x})",
    "LAST({x})",
    "SQUARES({x})",
    "MERGED_SQUARES({x})",
    "ROW_SQUARES({x})",
    "SPAN({x})",
    "APPROX_COUNT_DISTINCT({x}, 0.05)",
    "APPROX_QUANTILE({x}, 0.5, 0.01)",
    "COUNT({y})",
    "MIN({y})",
    "MAX({y})",
    "FIRST({y})",
    "LAST({y})",
    "COUNT(DISTINCT {y})",
    "AVG(DISTINCT {x})",
)
RUNNING = tuple(form for form in AGGREGATES if not form.startswith(("FREQUENT", "APPROX")))


@st.composite
def select_lists(draw: st.DrawFn, alias: str) -> str:
    if draw(st.integers(0, 4)) == 0:
        return f"{alias}.*"
    items = draw(st.lists(numbers(alias), min_size=1, max_size=3))
    return ", ".join(f"{item} AS c{position}" for position, item in enumerate(items))


@st.composite
def blocks(draw: st.DrawFn, slide: str, depth: int = 1) -> str:
    """One SELECT block."""
    left = draw(relations("s", slide, depth))
    from_ = left.text
    join = draw(st.sampled_from(["", "", ",", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "r", "n"]))
    conditions = draw(st.lists(predicates(left.alias), max_size=2))
    if join in ("r", "n"):
        kind = draw(st.sampled_from(["JOIN", "LEFT JOIN"]))
        from_ += f" {kind} {join} ON {left.alias}.a = {join}.a"
    elif join:
        right = draw(relations("t", slide, depth))
        on = f"{left.alias}.a = {right.alias}.a AND {left.alias}.v <= {right.alias}.v + 1"
        from_ += f"{'' if join == ',' else ' '}{join} {right.text}" + (
            f" ON {on}" if "JOIN" in join and "CROSS" not in join else ""
        )
        if join in (",", "CROSS JOIN"):
            conditions.append(f"{left.alias}.a = {right.alias}.a")
        if draw(st.integers(0, 3)) == 0:
            third = draw(relations("u", slide, depth))
            band = f"{third.alias}.v BETWEEN {right.alias}.v - 2 AND {right.alias}.v + 2"
            from_ += f" JOIN {third.text} ON {third.alias}.a = {left.alias}.a AND {band}"
    if draw(st.integers(0, 2)) == 0:
        conditions.append(draw(memberships(left.alias, slide)))
    where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
    if draw(st.integers(0, 2)) == 0:
        return draw(grouped(left.alias, f" FROM {from_}{where}"))
    if draw(st.integers(0, 5)) == 0:
        where = f"{where} {'AND' if where else 'WHERE'} ({draw(marks(left.alias, slide))})"
    distinct = draw(st.sampled_from(["", "", "DISTINCT "]))
    return f"SELECT {distinct}{draw(select_lists(left.alias))} FROM {from_}{where}"


@st.composite
def grouped(draw: st.DrawFn, alias: str, rest: str) -> str:
    argument = draw(columns(alias))
    chosen = draw(st.lists(st.sampled_from(RUNNING * 3 + AGGREGATES), min_size=2, max_size=5))
    aggregates = [form.format(x=argument, y=f"{alias}.b") for form in chosen]
    keys = draw(st.sampled_from([[], [f"{alias}.b"], [f"{alias}.b", f"{alias}.a % 3"]]))
    items = [
        *(f"{key} AS k{n}" for n, key in enumerate(keys)),
        *(f"{call} AS g{n}" for n, call in enumerate(aggregates)),
    ]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = draw(st.sampled_from(["", f" HAVING COUNT(*) > 2 AND MAX({argument}) < 100"]))
    return f"SELECT {', '.join(items)}{rest}{group}{having}"


@st.composite
def queries(draw: st.DrawFn, outputs: bool = True) -> str:
    """A whole query, with output streams or without; those that bind are left to the test to choose."""
    slide = draw(slides)
    body = draw(blocks(slide))
    operator = draw(
        st.sampled_from([""] * 6 + ["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
    )
    if operator:
        side = [
            f"SELECT {name}.a, {name}.b, {name}.v + 1 AS w FROM {name} {draw(windows(slide))}"
            for name in ("s", "t", "u")
        ]
        body = f"{side[0]} {operator} {side[1]}"
        if draw(st.booleans()):
            body += f" {draw(st.sampled_from(['UNION', 'EXCEPT', 'INTERSECT ALL']))} {side[2]}"
    order = draw(
        st.sampled_from(
            [
                "",
                "",
                "",
                " ORDER BY 1",
                " ORDER BY 1 DESC NULLS FIRST LIMIT 3",
                " LIMIT 5",
                " ORDER BY 1 LIMIT 2 OFFSET 1",
            ]
        )
    )
    told = ["ISTREAM ", "DSTREAM ", "RSTREAM ", "WSTREAM [ROWS 4] ", "ISTREAM RESTORE "] if outputs else []
    output = draw(st.sampled_from([""] * 4 + told))
    text = body.replace("SELECT ", f"SELECT {output}", 1) + order
    wrapping = draw(st.integers(0, 5))
    if wrapping == 0 and not output:
        return f"WITH q AS ({text}) SELECT * FROM q"
    if wrapping == 1 and output.startswith("ISTREAM"):
        return f"SELECT * FROM ({text}) [RANGE 1 MINUTE] AS q"
    return text
