"""INTERNAL windows beside external ones: a plan that carries, with every result, what its external parts end with.

Parts whose ends are known carry them (`WithEnd`); of the others it is carried which tuple they are (`Numbered`), and
their tuples are watched. Selections, projections and joins pass on what their inputs carry. A match of EXISTS or IN in
an external window is a part too: the equal values that are there, as long as they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from windrow.plan.analysis.internal import has_internal, joins_and_unites
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import Literal, Named, columns_of
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
from windrow.plan.pattern import Pattern
from windrow.plan.rewrite import verified, with_new_inputs
from windrow.plan.running_nodes import (
    LOOKUPS,
    SYNOPSES,
    EndWithParts,
    Exchange,
    IndexedSelection,
    LastSubWindows,
    MergeGroups,
    Numbered,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WithEnd,
)
from windrow.plan.schema import unqualified
from windrow.sharing.starting import Plans, Starting
from windrow.types import BIGINT


def with_followed_parts(plans: Plans, starting: Starting) -> Plans:
    return {name: _followed(plan) for name, plan in plans.items()}


def _followed(node: Node) -> Node:
    """The plan whose results end with their external parts, and so with streams of results below it."""
    node = _followed_below(node)
    if not isinstance(node, AppendOnly):
        return node
    return verified(node, AppendOnly(_ending(node.input, refresh_interval(node))))


def _followed_below(node: Node) -> Node:
    """A window takes results in whatever they end with (WSTREAM)."""
    rewrite = _followed_below if isinstance(node, Windowed) else _followed
    return with_new_inputs(node, *map(rewrite, node.inputs))


def _ending(node: Node, slide: int | None) -> Node:
    """The results of a query, each with its end; `slide` is that of the query."""
    if not has_internal(node):
        return node
    if isinstance(node, Sort | Union):
        return node.with_inputs(*(_ending(below, slide) for below in node.inputs))
    followed = _Following(slide).through(node)
    if not followed.carried:
        return node
    numbers = tuple((column, part.name) for column, part in followed.parts.items())
    return EndWithParts(followed.plan, followed.ends, numbers)


@dataclass(frozen=True)
class Followed:
    """A plan and its columns that end results: by their value, or by the number of a tuple of a part."""

    plan: Node
    ends: tuple[str, ...] = ()
    parts: dict[str, Numbered] = field(default_factory=dict)

    @property
    def carried(self) -> tuple[str, ...]:
        return (*self.ends, *self.parts)


class _Following:
    def __init__(self, slide: int | None) -> None:
        self._slide = slide
        self._count = count(1)

    def through(self, node: Node) -> Followed:
        if not has_internal(node):
            part = self._part(node)
            if part is not None:
                return part
        return _FOLLOWED[node](self, node)

    def _sort(self, node: Sort) -> Followed:
        return self.through(node.input)

    def _as_it_is(self, node: Node) -> Followed:
        """Results that end with none of their parts."""
        return Followed(node)

    def _part(self, node: Node) -> Followed | None:
        """An external part; None where its own parts are to be followed one by one."""
        if update_pattern(node) is Pattern.MONOTONIC:
            return Followed(node)
        if update_pattern(node) is not Pattern.STR and joins_and_unites(node):
            name = self._name()
            return Followed(WithEnd(node, name, self._slide), (name,))
        looked_up = isinstance(node, Join) and any(map(is_non_retroactive, node.inputs))
        if joins_and_unites(node) and isinstance(node, Filter | Project | Alias | Sort | Join) and not looked_up:
            return None
        return self._numbered(node)

    def _numbered(self, node: Node) -> Followed:
        name = self._name()
        part = Numbered(node, name, self._slide)
        return Followed(part, parts={name: part})

    def _name(self) -> str:
        return f"_part{next(self._count)}"

    def _unary(self, node: Filter | Project | Alias) -> Followed:
        below = self.through(node.input)
        if not below.carried:
            return Followed(node.with_inputs(below.plan))
        if isinstance(node, Filter):
            return Followed(node.with_inputs(below.plan), below.ends, below.parts)
        if isinstance(node, Project):
            more = tuple(Named(name, below.plan.schema.column(name)) for name in below.carried)
            return Followed(Project(below.plan, (*node.columns, *more)), below.ends, below.parts)
        ends = tuple(_renamed(node, name) for name in below.ends)
        return Followed(
            node.with_inputs(below.plan), ends, {_renamed(node, name): part for name, part in below.parts.items()}
        )

    def _join(self, node: Join) -> Followed:
        left, right = self.through(node.left), self.through(node.right)
        joined = node.with_inputs(left.plan, right.plan)
        return Followed(joined, left.ends + right.ends, left.parts | right.parts)

    def _semi_join(self, node: SemiJoin) -> Followed:
        left = self.through(node.left)
        if has_internal(node.right) or update_pattern(node.right) is Pattern.MONOTONIC:
            return Followed(node.with_inputs(left.plan, node.right), left.ends, left.parts)
        used = () if node.condition is None else sorted(columns_of(node.condition) & set(node.right.schema.names))
        values = tuple(Named(name, node.right.schema.column(name)) for name in used)
        present = self._numbered(Distinct(Project(node.right, values or (Named("_there", Literal(1, BIGINT)),))))
        carried = (*left.plan.schema.names, *present.parts)
        joined = Join(left.plan, present.plan, node.condition)
        columns = tuple(Named(name, joined.schema.column(name)) for name in carried)
        return Followed(Project(joined, columns), left.ends, left.parts | present.parts)


def _renamed(alias: Alias, name: str) -> str:
    return f"{alias.name}.{unqualified(name)}"


_FOLLOWED: ByKind[Callable[..., Followed]] = ByKind(
    {
        Sort: _Following._sort,
        (Filter, Project, Alias): _Following._unary,
        Join: _Following._join,
        SemiJoin: _Following._semi_join,
        Windowed: _Following._as_it_is,  # an INTERNAL one
        (AntiJoin, Union, Except, Intersect, Distinct, GroupBy, Limit): _Following._as_it_is,
    },
    never={
        (Stream, Table): "it has no INTERNAL window and is a part",
        (AppendOnly, OutputStream): "INTERNAL windows below it are not of this query: it is a part",
        (WithEnd, Numbered, EndWithParts): "they are put in here",
        Stamped: "it is on a stream",
        (RestoredInserts, RestoredAnswer): "it is below an output stream",
        (Exchange, IndexedSelection): "they come later",
        (SlicePartials, SharedSlices, SliceSummaries, SubWindows, LastSubWindows): "INTERNAL windows have no slices",
        MergeGroups: "INTERNAL windows have no slices",
        (*SYNOPSES, *LOOKUPS): "INTERNAL windows are not looked up",
    },
)
