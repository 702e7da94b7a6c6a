"""The names under which classes of ours are written: `family.Class`, whatever module a class is in at the moment.

A class that moves from file to file within its family keeps its name. One that is renamed, or goes to another family,
changes what checkpoints say: `FORMAT` goes up then.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import ModuleType

PLAIN = ("TableStore", "KeyTable")  # written with all that they have, though they are no data classes


def _families() -> dict[str, tuple[ModuleType, ...]]:
    """Where the classes of a family are at present. Imported when they are asked for: some of them write themselves."""
    from windrow import types
    from windrow.batch import Column, batch, key_table
    from windrow.catalog import entries
    from windrow.cql import Create
    from windrow.plan import aggregate_class, coverage, expressions, nodes, running_nodes, schema, strategy, windows
    from windrow.runtime import modes, progress, tables
    from windrow.runtime.intake import side_output
    from windrow.runtime.outputs import sinks
    from windrow.runtime.shards import batch_spec, running_plan, statement_log
    from windrow.runtime.shards.sources import reads
    from windrow.runtime.shards.storage import bundles, checkpoint, manifests
    from windrow.runtime.shards.storage.files import folder
    from windrow.runtime.shards.tasks import messages, stage_run
    from windrow.sources import file_reads
    from windrow.state import snapshot

    return {
        "type": (types,),
        "node": (nodes, running_nodes),
        "expression": (expressions,),
        "window": (windows,),
        "plan": (schema, aggregate_class, strategy, coverage),
        "catalog": (entries,),
        "statement": (sys.modules[Create.__module__], statement_log),
        "progress": (progress,),
        "sink": (modes, sinks),
        "running": (running_plan, stage_run),
        "batch": (batch_spec,),
        "message": (messages,),
        "source": (reads, file_reads),
        "checkpoint": (bundles, checkpoint, folder, manifests),
        "rows": (batch, sys.modules[Column.__module__], key_table),
        "state": (snapshot,),
        "table": (tables, side_output),
    }


@cache
def classes() -> dict[str, type]:
    """All classes that can be written, by their names."""
    named: dict[str, type] = {}
    for family, modules in _families().items():
        for module in modules:
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
