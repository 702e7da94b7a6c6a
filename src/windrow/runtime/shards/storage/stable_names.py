"""The names under which classes of ours are written: `family.Class`, whatever module a class is in at the moment.

A class that moves from file to file within its family keeps its name. One that is renamed, or goes to another family,
changes what checkpoints say: `FORMAT` goes up then.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import Final

FAMILIES: Final = {
    "type": ("windrow.types",),
    "node": ("windrow.plan.nodes", "windrow.plan.running_nodes"),
    "expression": ("windrow.plan.expressions",),
    "window": ("windrow.plan.windows",),
    "plan": ("windrow.plan.schema", "windrow.plan.aggregate_class", "windrow.physical.strategy"),
    "catalog": ("windrow.catalog.entries",),
    "statement": ("windrow.cql.statements", "windrow.runtime.shards.statement_log"),
    "progress": ("windrow.runtime.progress",),
    "sink": ("windrow.runtime.modes", "windrow.runtime.sinks"),
    "running": ("windrow.runtime.shards.running",),
    "batch": ("windrow.runtime.shards.batch_spec",),
    "checkpoint": (
        "windrow.runtime.shards.storage.bundles",
        "windrow.runtime.shards.storage.checkpoint",
        "windrow.runtime.shards.storage.manifests",
    ),
    "rows": ("windrow.batch.batch", "windrow.batch.column", "windrow.batch.key_table"),
    "state": ("windrow.state.snapshot",),
    "table": ("windrow.runtime.tables", "windrow.runtime.side_output"),
}
PLAIN: Final = (
    "TableStore",
    "KeyTable",
    "SideOutput",
)  # written with all that they have, though they are no data classes


@cache
def classes() -> dict[str, type]:
    """All classes that can be written, by their names."""
    named: dict[str, type] = {}
    for family, modules in FAMILIES.items():
        for module in map(importlib.import_module, modules):
            for _, kind in inspect.getmembers(module, inspect.isclass):
                if kind.__module__ == module.__name__ and _is_data(kind):
                    name = f"{family}.{kind.__name__.lstrip('_')}"
                    assert name not in named, f"two classes are called {name}"
                    named[name] = kind
    return named


def _is_data(kind: type) -> bool:
    return is_dataclass(kind) or issubclass(kind, tuple | Enum) or kind.__name__ in PLAIN


@cache
def names() -> dict[type, str]:
    return {kind: name for name, kind in classes().items()}
