"""Windrow keeps the answers of SQL queries over sliding windows up to date, for many queries at once."""

from windrow.errors import CatalogError, CqlError, PlanError, WindrowError
from windrow.session import Result, Session

__all__ = ["CatalogError", "CqlError", "PlanError", "Result", "Session", "WindrowError"]
