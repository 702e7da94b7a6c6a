"""What an engine is, wherever it runs: statements and rows go in, queries answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from windrow.catalog import StreamEntry, free_name
from windrow.cql import NONE, InsertAnswer
from windrow.errors import AggregateError, WindrowError
from windrow.plan.printer import identifier
from windrow.runtime.health import Failing
from windrow.runtime.query import Query, instant_of
from windrow.runtime.questions import answered, inserted
from windrow.session import Result, Session
from windrow.types import Type
from windrow.units import Instant

Self = TypeVar("Self", bound="Engine")


def rejected_rows(rows: int) -> list[str]:
    """What `retry` says of rows."""
    return [f"{rows} rejected row{'' if rows == 1 else 's'}"] if rows else []


def has_ended(stream: str) -> WindrowError:
    """Rows of a stream are to be taken again after its end."""
    hint = "create a stream for them: push what engine.rejected gives"
    return WindrowError(f"stream {stream} has ended: no row of it can be taken any more", hint)


class Engine(ABC):
    """What `windrow.connect(...)` gives; `with` closes it at the end. It is a collection of queries by their names."""

    kind: str  # for people

    def __init__(self, session: Session, queries: Mapping[str, Query]) -> None:
        """`queries` has what runs, by names in lower case; whoever runs the queries changes it."""
        self.session = session
        self._by_name = queries

    def sql(self, text: str, **parameters: Any) -> list[Result]:
        """Run statements; queries, streams and table changes take effect with the next step, or micro-batch.

        A SELECT without a name is answered at once, from tables and from the answers of queries. `parameters` are the
        values of `:name` in the text: constants, whatever is in them.
        """
        return [self.answered(result) for result in self.execute(text, parameters)]

    @abstractmethod
    def execute(self, text: str, parameters: Mapping[str, Any] = NONE) -> Iterator[Result]:
        """Run statements one after the other, each when its result is asked for; none is answered yet."""

    def _made(self, result: Result) -> Result:
        """INSERT ... SELECT becomes the change of a table that it stands for; any other result is as it is."""
        if not isinstance(result.statement, InsertAnswer):
            return result
        return self.session.apply(inserted(result.statement, self.session.optimized, self._present))

    def answered(self, result: Result) -> Result:
        """With the rows of a SELECT as they are now; any other result as it is."""
        return answered(result, self.session.optimized, self._present)

    def _present(self, name: str) -> pa.Table:
        """The rows of a table, or of the answer of a query."""
        return self[name].latest_answer() if name in self else self._table(name.lower())

    @abstractmethod
    def _table(self, name: str) -> pa.Table:
        """The rows of a table as they are now, with the changes that were stated."""

    def query(self, cql: str, name: str | None = None) -> Query:
        """Keep the answer of a query up to date from the next step, or micro-batch, on."""
        name = name or free_name(self.session.catalog, "query")
        self.sql(f"CREATE QUERY {identifier(name)} AS {cql}")
        return self[name]

    @property
    def queries(self) -> list[Query]:
        """The queries, in the order they were created."""
        return list(self._by_name.values())

    def __getitem__(self, name: str) -> Query:
        """A query by its name."""
        query = self._by_name.get(name.lower())
        if query is None:
            raise WindrowError(f"there is no query {name}", f"queries here: {', '.join(self._by_name) or 'none'}")
        return query

    def __contains__(self, name: object) -> bool:
        """Whether there is a query of this name."""
        return isinstance(name, str) and name.lower() in self._by_name

    def __iter__(self) -> Iterator[str]:
        """The names of the queries, in the order they were created."""
        return (query.name for query in self.queries)

    def __repr__(self) -> str:
        streams = [entry.name for entry in self.session.catalog.entries(StreamEntry)]
        return f"{self.kind}: streams {', '.join(streams) or 'none'}; queries {', '.join(self) or 'none'}"

    def lookup(self, cql: str, at: Instant | None = None) -> pa.Table:
        """The answer of a query at once, from a synopsis that is kept for others: any window that it covers."""
        return self._lookup(cql, instant_of(at))

    @abstractmethod
    def _lookup(self, cql: str, at: int | None) -> pa.Table:
        """The same, in microseconds."""

    @abstractmethod
    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of rows that Python holds: Arrow, pandas, or an iterable of dictionaries."""

    @abstractmethod
    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream as they come; call `step` to see their effect."""

    @abstractmethod
    def end(self, stream: str) -> None:
        """No more rows of a stream will come than those that have been handed over."""

    @abstractmethod
    def step(self) -> bool:
        """Take rows that are there through the queries; False when all sources have ended."""

    @abstractmethod
    def run(self, poll: Callable[[], object] | None = None, follow: bool = False) -> None:
        """Until all that is there has been read; with `follow` it waits for more.

        `poll` is called every now and then meanwhile.
        """

    @abstractmethod
    def retry(self, stream: str) -> list[str]:
        """Have files of a stream that were rejected be read again, and rows be taken again; which these are.

        Each row once, as if it came now: what is still wrong with it has it rejected again, and one that is behind the
        watermark by now is late. Rows of which the text could not be read stay where they are.
        """

    @property
    @abstractmethod
    def watermark(self) -> int:
        """All rows before it are there: answers at earlier instants are final."""

    @property
    @abstractmethod
    def last_row(self) -> int:
        """The latest timestamp that any stream has shown."""

    def late(self, stream: str) -> pa.Table | None:
        """Rows that came behind the watermark; the newest are kept."""
        return self._side_output("late", stream)

    def rejected(self, stream: str) -> pa.Table | None:
        """Rows of a stream, or of a table's source, that could not be taken, with the reason; the newest are kept."""
        return self._side_output("rejected", stream)

    @abstractmethod
    def _side_output(self, kind: str, stream: str) -> pa.Table | None:
        """Late or rejected rows."""

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, and the size of the state."""

    @abstractmethod
    def health(self) -> list[Failing]:
        """What fails or is set aside, while everything else goes on; `status()["failing"]` is the same."""

    def resume_query(self, name: str) -> None:
        """Take up a query that was set aside, as if it were new: its windows fill with the rows that come from now on.

        Sinks and subscribers that have its old answer get what brings them to the new one. RESUME QUERY is the same.
        """
        self.sql(f"RESUME QUERY {identifier(name)}")

    def register_aggregate(
        self,
        name: str,
        arguments: Sequence[Type],
        result: Type,
        functions: Any,
        kind: str = "algebraic",
        duplicate_sensitive: bool = True,
        vectorized: bool = False,
    ) -> None:
        """Make an aggregate of your own known to CQL.

        `functions` has initial(), add(state, *values), merge(state, other), finish(state) and, when a part that was
        merged can be taken away again, subtract(state, part). They return new states and leave old ones as they are.
        `kind` is distributive, algebraic or holistic; a holistic aggregate may do without merge.
        A checkpoint keeps the functions: to register them again when it is resumed is right and changes nothing.
        """
        self.session.register_aggregate(name, arguments, result, functions, kind, duplicate_sensitive, vectorized)

    def register_function(
        self, name: str, arguments: Sequence[Type], result: Type, function: Callable[..., Any], vectorized: bool = False
    ) -> None:
        """Make a scalar function of your own known to CQL.

        `function` takes a value for each argument and gives one of the type `result`; with `vectorized` it takes arrays
        of Arrow and gives one of the same length. Equal arguments must give equal results: it is called once for each
        different row of them, and not for rows with a null, whose result is null. Where it raises, the result is null
        too, and `failures(name)` has the error. A checkpoint keeps it, as it keeps aggregates of your own.
        """
        self.session.register_function(name, arguments, result, function, vectorized)

    def failures(self, aggregate: str) -> list[AggregateError]:
        """What the functions of an aggregate of your own have raised; the newest are kept."""
        return self.session.failures(aggregate)

    @abstractmethod
    def close(self) -> None:
        """Nothing runs afterwards; what was to be kept is on disk."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
