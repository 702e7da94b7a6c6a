"""What slices become: their columns, and which of them each aggregate is merged from.

After the keys come the partial results, aggregate by aggregate; then a value and a counter for each value that is
counted; then a value, a counter and a floor for each aggregate that is answered from summaries. A row fills the columns
of one of these parts, and is null in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.plan.aggregate_class import SliceForm
from windrow.plan.aggregates import partial_types, values_of
from windrow.plan.analysis.slices import slice_form
from windrow.plan.approximation import registers_of
from windrow.plan.expressions import Expression, NamedAggregate
from windrow.plan.schema import Field
from windrow.types import BIGINT, Type


@dataclass(frozen=True)
class CountedValue:
    """A value that is counted; or with `registers` its code, when different values are only estimated."""

    value: Expression
    registers: int | None = None

    @property
    def type(self) -> Type:
        return self.value.type if self.registers is None else BIGINT


@dataclass(frozen=True)
class SliceColumns:
    """Which columns of the slices each aggregate is merged from; columns are counted after the keys."""

    fields: tuple[Field, ...]
    places: tuple[tuple[int, ...], ...]  # by aggregate
    partials: tuple[NamedAggregate, ...]
    counted: tuple[CountedValue, ...]
    summaries: tuple[NamedAggregate, ...]


def slice_columns(aggregates: Sequence[NamedAggregate]) -> SliceColumns:
    by_form = {form: tuple(a for a in aggregates if slice_form(a.call) is form) for form in SliceForm}
    counted = tuple(dict.fromkeys(_counted(named) for named in by_form[SliceForm.COUNTERS]))
    fields: list[Field] = []
    places: dict[NamedAggregate | CountedValue, tuple[int, ...]] = {}

    def placed(what: NamedAggregate | CountedValue, name: str, *types: Type) -> None:
        places[what] = tuple(range(len(fields), len(fields) + len(types)))
        fields.extend(Field(f"{name} {number}", type) for number, type in enumerate(types))

    for named in by_form[SliceForm.PARTIAL]:
        placed(named, named.name, *partial_types(named.call))
    for number, value in enumerate(counted):
        placed(value, f"counted {number}", value.type, BIGINT)
    for named in by_form[SliceForm.SUMMARY]:
        placed(named, named.name, values_of(named.call)[0].type, BIGINT, BIGINT)
    found = tuple(
        places[_counted(named) if slice_form(named.call) is SliceForm.COUNTERS else named] for named in aggregates
    )
    return SliceColumns(tuple(fields), found, by_form[SliceForm.PARTIAL], counted, by_form[SliceForm.SUMMARY])


def _counted(named: NamedAggregate) -> CountedValue:
    return CountedValue(values_of(named.call)[0], registers_of(named.call))
