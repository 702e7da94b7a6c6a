"""Aggregates and functions of the user's own: their names, and what they have raised."""

from __future__ import annotations

from dataclasses import replace

from windrow.catalog.catalog import Catalog
from windrow.errors import WindrowError
from windrow.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from windrow.plan.functions import ALIASES, REWRITES, scalar_names
from windrow.plan.functions.aggregate_rewrites import AGGREGATE_REWRITES
from windrow.plan.printer import RESERVED
from windrow.plan.user_aggregate import Own


def own_of(catalog: Catalog) -> dict[str, Own]:
    """Aggregates and functions of the user's own."""
    return {**catalog.aggregates, **catalog.functions}


def failure_counts(catalog: Catalog) -> dict[str, dict[str, int]]:
    """What aggregates and functions of the user's own have raised, as `status` shows it."""
    return {name: {"failures": own.failures.count} for name, own in own_of(catalog).items()}


def with_a_free_name(own: Own) -> Own:
    """A function under its name as CQL has it; what is something else already is refused."""
    name = own.name.upper()
    if name in (*AGGREGATES, *AGGREGATE_ALIASES, *AGGREGATE_REWRITES, *scalar_names(), *ALIASES, *REWRITES):
        raise WindrowError(f"{name} is a function of Windrow", "choose another name")
    if not name.isidentifier() or name in RESERVED:
        raise WindrowError(f"{name!r} cannot be the name of a function", "choose one word that is not reserved")
    return own if own.name == name else replace(own, name=name)
