"""What people do with the queries of an engine, wherever it runs: create them, find them by name, ask how they run."""

from __future__ import annotations

from itertools import count
from types import TracebackType
from typing import Generic, TypeVar

from windrow.catalog import QueryEntry
from windrow.errors import WindrowError
from windrow.plan.explain import Explanation
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.session import Result, Session

Told = TypeVar("Told")  # a query that tells its changes
Engine = TypeVar("Engine", bound="NamedQueries")  # type: ignore[type-arg]


class NamedQueries(Generic[Told]):
    """An engine; `with` closes it at the end."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.register_aggregate, self.failures = session.register_aggregate, session.failures
        self._queries: dict[str, Told | LookupQuery] = {}

    def sql(self, text: str) -> list[Result]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    @property
    def queries(self) -> list[Told | LookupQuery]:
        """The queries, in the order they were created."""
        return list(self._queries.values())

    def query(self, cql: str, name: str | None = None) -> Told | LookupQuery:
        """Keep the answer of a query up to date from the next step, or micro-batch, on."""
        name = name or next(free for n in count(1) if self.session.catalog.get(free := f"query{n}") is None)
        self.sql(f"CREATE QUERY {name} AS {cql}")
        return self._queries[name.lower()]

    def explained(self, query: str) -> Explanation:
        """How a query runs now."""
        entry = self.session.catalog.get(query)
        assert isinstance(entry, QueryEntry) and entry.plan is not None, entry
        return self.session.explanation(entry.name, entry.plan)

    def __getitem__(self, name: str) -> Told | LookupQuery:
        """A query by its name."""
        found = self._queries.get(name.lower())
        if found is None:
            raise WindrowError(f"there is no query {name}", f"queries here: {', '.join(self._queries) or 'none'}")
        return found

    def __enter__(self: Engine) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
