"""What a table holds at every instant, by running its statements on DuckDB in the order of their times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import duckdb
import pyarrow as pa
import sqlglot

from support.cql_text import moment, spark_text, tokens_of

BEGINNING = -(2**62)  # when statements without a time take effect


class TableHistory:
    def __init__(self, declaration: str, statements: Sequence[str]) -> None:
        words = tokens_of(declaration)
        self.is_retroactive = [word.upper() for word in words[-2:]] != ["NON", "RETROACTIVE"]
        self.name = words[2]
        self._declaration = _duckdb(words if self.is_retroactive else words[:-2])
        timed = [_timed(statement) for statement in statements]
        own = [(time, words) for time, words in timed if self.name in words[1:3]]
        self._statements = sorted(own, key=lambda one: one[0])
        self.at = cache(self._at)

    @property
    def changes(self) -> list[int]:
        return [time for time, _ in self._statements if time > BEGINNING]

    @property
    def last_change(self) -> int:
        return max((time for time, _ in self._statements), default=BEGINNING)

    def _at(self, now: int) -> pa.Table:
        """The rows at an instant; a change is there from its time on."""
        with duckdb.connect() as connection:
            connection.execute(self._declaration)
            for time, words in self._statements:
                if time <= now:
                    connection.execute(_duckdb(words))
            return connection.sql(f"SELECT * FROM {self.name}").to_arrow_table()


def _timed(statement: str) -> tuple[int, list[str]]:
    """A statement without AT, and its time."""
    words = tokens_of(statement)
    if words[-2].upper() == "AT":
        return moment(words[-1]), words[:-2]
    return BEGINNING, words


def _duckdb(words: Sequence[str]) -> str:
    return sqlglot.parse_one(spark_text(words), read="spark").sql("duckdb")
