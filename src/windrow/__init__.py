"""Windrow keeps the answers of SQL queries over sliding windows up to date, for many queries at once.

What loads the parser or the engine is imported when it is first used, so that each part can be used without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from windrow.connect import connect
from windrow.errors import AggregateError, CatalogError, CqlError, PlanError, WindrowError

if TYPE_CHECKING:
    from windrow.plan.user_aggregate import UserAggregate
    from windrow.runtime.engine import Engine
    from windrow.runtime.query import Query
    from windrow.session import Result, Session

    __version__: str

__all__ = [
    "AggregateError",
    "CatalogError",
    "CqlError",
    "Engine",
    "PlanError",
    "Query",
    "Result",
    "Session",
    "UserAggregate",
    "WindrowError",
    "connect",
]

_HOMES = {
    "Engine": "windrow.runtime.engine",
    "Query": "windrow.runtime.query",
    "Result": "windrow.session",
    "Session": "windrow.session",
    "UserAggregate": "windrow.plan.user_aggregate",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # takes longer than all of this page

        return version("windrow")
    if name not in _HOMES:
        raise AttributeError(f"module 'windrow' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
