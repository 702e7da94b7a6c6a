"""Selection push-down: every condition is tested as early as it can be.

A condition on both sides of a join becomes part of the join's own condition, one on a single side goes below it.
Selections keep every update pattern, so moving them down never makes an edge stricter (thesis 3.5.3). They stay above
count windows, where dropping rows early would let others in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import ColumnReference, Expression, columns_of, rename_columns, transform
from windrow.plan.functions import conjunction, conjuncts
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    JoinKind,
    Limit,
    Node,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.running_nodes import RUNNING
from windrow.plan.schema import unqualified


def push_down_selection(node: Node) -> Node | None:
    if isinstance(node, Join | SemiJoin):
        return _from_condition(node)
    if not isinstance(node, Filter):
        return None
    return _PUSHED_BELOW[node.input](node.input, node.predicate)


def _merged(below: Filter, predicate: Expression) -> Node | None:
    """Two selections in a row are one."""
    both = conjunction([below.predicate, predicate])
    return None if both is None else Filter(below.input, both)


def _through_left(below: SemiJoin | AntiJoin, predicate: Expression) -> Node:
    return below.with_inputs(Filter(below.left, predicate), below.right)


def _through(below: Distinct | Sort, predicate: Expression) -> Node:
    return below.with_inputs(Filter(below.input, predicate))


def _through_projection(below: Project, predicate: Expression) -> Node:
    return below.with_inputs(Filter(below.input, _in_terms_of_input(predicate, below)))


def _through_alias(below: Alias, predicate: Expression) -> Node:
    names = {f"{below.name}.{unqualified(name)}": name for name in below.input.schema.names}
    return Alias(Filter(below.input, rename_columns(predicate, names)), below.name)


def _stays(below: Node, predicate: Expression) -> None:
    return None


def _in_terms_of_input(predicate: Expression, project: Project) -> Expression:
    computed = {column.name: column.expression for column in project.columns}

    def meaning(part: Expression) -> Expression | None:
        return computed[part.name] if isinstance(part, ColumnReference) else None

    return transform(predicate, meaning)


def _filtered(node: Node, parts: Sequence[Expression]) -> Node:
    predicate = conjunction(parts)
    return node if predicate is None else Filter(node, predicate)


def _through_join(join: Join, predicate: Expression) -> Node | None:
    """Below an outer join only the side whose rows are all kept can be tested early."""
    parts = conjuncts(predicate)
    left_ok = join.kind in (JoinKind.INNER, JoinKind.LEFT)
    right_ok = join.kind in (JoinKind.INNER, JoinKind.RIGHT)
    left = [part for part in parts if left_ok and _is_over(part, join.left)]
    right = [part for part in parts if right_ok and part not in left and _is_over(part, join.right)]
    rest = [part for part in parts if part not in left and part not in right]
    if join.kind is not JoinKind.INNER:
        if not left and not right:
            return None
        pushed = join.with_inputs(_filtered(join.left, left), _filtered(join.right, right))
        return _filtered(pushed, rest)
    condition = conjunction([*conjuncts(join.condition), *rest])
    return Join(_filtered(join.left, left), _filtered(join.right, right), condition)


def _is_over(part: Expression, node: Node) -> bool:
    used = columns_of(part)
    return bool(used) and all(name in node.schema for name in used)


def _from_condition(node: Join | SemiJoin) -> Node | None:
    """Parts of the join's own condition that are about one side only."""
    if isinstance(node, Join) and node.kind is not JoinKind.INNER:
        return None
    parts = conjuncts(node.condition)
    left = [part for part in parts if _is_over(part, node.left)]
    right = [part for part in parts if part not in left and _is_over(part, node.right)]
    if not left and not right:
        return None
    rest = conjunction([part for part in parts if part not in left and part not in right])
    return type(node)(_filtered(node.left, left), _filtered(node.right, right), rest)


def _through_union(union: Union, predicate: Expression) -> Node:
    names = dict(zip(union.left.schema.names, union.right.schema.names, strict=True))
    return Union(Filter(union.left, predicate), Filter(union.right, rename_columns(predicate, names)))


def _through_group_by(group: GroupBy, predicate: Expression) -> Node | None:
    """Conditions on keys choose groups as a whole, so their rows need not be grouped; without keys nothing can move."""
    parts = conjuncts(predicate)
    keys = {key.name: key.expression for key in group.keys}
    below = [part for part in parts if columns_of(part) and columns_of(part) <= keys.keys()]
    if not below:
        return None
    meant = [transform(part, lambda p: keys[p.name] if isinstance(p, ColumnReference) else None) for part in below]
    rest = [part for part in parts if part not in below]
    return _filtered(group.with_inputs(_filtered(group.input, meant)), rest)


# By what is below the selection: the plan with the condition further down, None where it has to stay.
_PUSHED_BELOW: ByKind[Callable[..., Node | None]] = ByKind(
    {
        Filter: _merged,
        Join: _through_join,
        (SemiJoin, AntiJoin): _through_left,
        (Distinct, Sort): _through,
        Project: _through_projection,
        Alias: _through_alias,
        Union: _through_union,
        GroupBy: _through_group_by,
        (Stream, Table): _stays,
        Windowed: _stays,  # a window on rows would let others in; one on time is shared by all queries
        (Except, Intersect, Limit, AppendOnly, OutputStream): _stays,  # they look at the whole answer
    },
    never={RUNNING: "rules see plans before it is decided how they run"},
)
