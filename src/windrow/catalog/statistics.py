"""Statistics: what has been measured of streams and tables, for the planner's estimates."""

from __future__ import annotations


class MeasuredStatistics:
    """Rates (rows a second; for a table, its rows) and numbers of distinct values; names in any case."""

    def __init__(self) -> None:
        self._rates: dict[str, float] = {}
        self._distinct: dict[tuple[str, str], float] = {}
        self.changes = 0  # how often anything here has changed

    def rate(self, source: str) -> float | None:
        return self._rates.get(source.lower())

    def distinct(self, source: str, column: str) -> float | None:
        return self._distinct.get((source.lower(), column.lower()))

    def record(self, source: str, rate: float | None, distinct: dict[str, float]) -> None:
        self.changes += 1
        if rate is not None:
            self._rates[source.lower()] = rate
        for column, count in distinct.items():
            self._distinct[source.lower(), column.lower()] = count

    def forget(self, source: str) -> None:
        self.changes += 1
        self._rates.pop(source.lower(), None)
        for key in [key for key in self._distinct if key[0] == source.lower()]:
            del self._distinct[key]

    def of(self, source: str) -> tuple[float | None, dict[str, float]]:
        distinct = {column: count for (name, column), count in self._distinct.items() if name == source.lower()}
        return self.rate(source), distinct
