"""Windrow keeps the answers of SQL queries over sliding windows up to date, for many queries at once."""

from windrow.connect import connect
from windrow.errors import CatalogError, CqlError, PlanError, WindrowError
from windrow.runtime.local import Engine, Query
from windrow.session import Result, Session

__all__ = [
    "CatalogError",
    "CqlError",
    "Engine",
    "PlanError",
    "Query",
    "Result",
    "Session",
    "WindrowError",
    "connect",
]
