"""Statements: what stands between semicolons."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.commands import KINDS, CommandGrammar
from windrow.cql.syntax import (
    AlterSyntax,
    ColumnSyntax,
    ConnectorSyntax,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateView,
    CreateWindow,
    DescribeSyntax,
    PunctuationSyntax,
)
from windrow.errors import CqlSyntaxError, nearest
from windrow.units import MAX_DURATION

_CREATED = tuple(f"the {kind.lower()}" for kind in KINDS)
_REFRESHES = (("EXACT",), ("BEST", "EFFORT"), ("ON", "LOOKUP"))
_STREAM_CLAUSES = (
    *("TIMESTAMP BY", "ARRIVAL", "SLACK", "LIFETIME BY", "HEARTBEAT", "PUNCTUATION", "FROM"),
    *("IDLE AFTER", "AHEAD"),
    *("LATE INTO", "REJECTED INTO"),
)
_ALTER = "write ALTER STREAM name SET AHEAD 1 HOUR, or IDLE AFTER 5 MINUTES, or SLACK 10 SECONDS"
_NONE = "leave it out to have none"
_ALTERED = ("AHEAD", "IDLE AFTER", "SLACK")
STATEMENTS = (
    *(
        "CREATE",
        "ALTER",
        "DROP",
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "SHOW",
        "DESCRIBE",
        "EXPLAIN",
        "SET",
        "RESUME",
    ),
    "WITH",
)


class StatementGrammar(CommandGrammar):
    def _parse_statement(self) -> exp.Expr | None:
        first = self._curr
        if not first or self._match(TokenType.SEMICOLON):  # sqlglot hands over a semicolon that has a comment
            return None
        if self.at_query():
            return self.query()
        read = {
            "CREATE": self._create,
            "ALTER": self._alter,
            "DROP": self._drop,
            "INSERT": self._insert,
            "UPDATE": self._update,
            "DELETE": self._delete,
            "SHOW": self._show,
            "DESCRIBE": lambda: DescribeSyntax(this=self.name("a stream, table, window or query")),
            "EXPLAIN": self._explain,
            "SET": self._set,
            "RESUME": self._resume,
        }.get(first.text.upper())
        if read is None:
            self.fail(f"{self.present} does not begin a statement", nearest(first.text, STATEMENTS, "statements"))
        self._advance()
        return self.at(read(), first)

    def _create(self) -> exp.Expr:
        """`IF NOT EXISTS` stands before the name, whatever is created."""
        node = self._created()
        node.set("if_not_exists", self._if_not_exists)
        return node

    def name(self, what: str) -> exp.Identifier:
        """What is created may be named with IF NOT EXISTS in front."""
        if what in _CREATED and self.word("IF", "NOT", "EXISTS"):
            self._if_not_exists = True
        return super().name(what)

    def _created(self) -> exp.Expr:
        self._if_not_exists = False
        if self.word("STREAM"):
            return self._create_stream()
        if self.word("TABLE"):
            return self._create_table()
        if self.word("WINDOW"):
            name = self.name("the window")
            self.expect("AS", "the name of the window", "CREATE WINDOW name AS SELECT ...")
            return CreateWindow(this=name, query=self.query())
        if self.word("VIEW"):
            name = self.name("the view")
            self.expect("AS", "the name of the view", "CREATE VIEW name AS SELECT ...")
            return CreateView(this=name, query=self.query())
        if self.word("QUERY") or self.word("MATERIALIZED", "VIEW"):
            return self._create_query()
        hint = f"write CREATE with one of {', '.join(KINDS)}"
        self.fail(f"{self.present} cannot be created" if self._curr else "CREATE stands alone", hint)

    def _create_stream(self) -> exp.Expr:
        node = CreateStream(this=self.name("the stream"), columns=self._columns("stream"))
        node.set("primary_key", self._primary_key)
        if self._match(TokenType.FROM):
            node.set("connector", self.connector("a source"))
        clauses: dict[str, Callable[[], tuple[str, object]]] = {
            "TIMESTAMP": self._times,
            "ARRIVAL": lambda: ("arrival", True),
            "SLACK": lambda: ("slack", self._pause("SLACK")),
            "LIFETIME": self._lifetime,
            "HEARTBEAT": lambda: ("heartbeat", self._pause("HEARTBEAT", _NONE)),
            "IDLE": self._idle,
            "AHEAD": self._ahead,
            "LATE": lambda: ("late_sink", self._side_sink("LATE")),
            "REJECTED": lambda: ("rejected_sink", self._side_sink("REJECTED")),
        }
        while self._curr:
            word = self._curr
            if self.word("PUNCTUATION"):
                node.append("punctuations", self._punctuation(word))
            elif (read := clauses.get(word.text.upper())) is not None and self.word(word.text.upper()):
                self._once(node, *read(), word)
            else:
                hint = nearest(word.text, _STREAM_CLAUSES, "clauses")
                self.fail(f"{self.present} is not a clause of CREATE STREAM", hint)
        return node

    def _alter(self) -> exp.Expr:
        if not self.word("STREAM"):
            self.fail(f"{self.present} cannot be altered" if self._curr else "ALTER stands alone", _ALTER)
        node = AlterSyntax(this=self.name("the stream"))
        self.expect("SET", "the name of the stream", _ALTER.removeprefix("write "))
        clauses: dict[str, Callable[[], tuple[str, object]]] = {
            "AHEAD": self._ahead,
            "IDLE": lambda: self._idle(is_altered=True),
            "SLACK": lambda: ("slack", self._pause("SLACK")),
        }
        while self._curr or len(node.args) == 1:
            word = self._curr
            if word is None or (read := clauses.get(word.text.upper())) is None or not self.word(word.text.upper()):
                hint = _ALTER if word is None else nearest(word.text, _ALTERED, "clauses")
                self.fail(f"{self.present} is nothing that ALTER STREAM sets" if word else "SET stands alone", hint)
            self._once(node, *read(), word)
        return node

    def _times(self) -> tuple[str, object]:
        self.expect("BY", "TIMESTAMP", "TIMESTAMP BY column")
        return "timestamp", self.listed(lambda: self.name("a column"))

    def _lifetime(self) -> tuple[str, object]:
        self.expect("BY", "LIFETIME", "LIFETIME BY column")
        return "lifetime", self.name("a column")

    def _idle(self, is_altered: bool = False) -> tuple[str, object]:
        """`IDLE AFTER interval`; in ALTER, `IDLE AFTER UNLIMITED` takes it away."""
        self.expect("AFTER", "IDLE", "IDLE AFTER 5 MINUTES")
        if is_altered and self.word("UNLIMITED"):
            return "idle_after", MAX_DURATION
        return "idle_after", self._pause(
            "IDLE AFTER", "write IDLE AFTER UNLIMITED to have none" if is_altered else _NONE
        )

    def _ahead(self) -> tuple[str, object]:
        """`AHEAD interval`, of arrival, `AHEAD interval OF NEWEST`, or `AHEAD UNLIMITED`."""
        if self.word("UNLIMITED"):
            return "ahead", MAX_DURATION
        length = self._pause("AHEAD")
        if not self.word("OF"):
            return "ahead", length
        self.expect("NEWEST", "AHEAD ... OF", "AHEAD 1 HOUR OF NEWEST")
        return "ahead_of_newest", length

    def _side_sink(self, which: str) -> ConnectorSyntax:
        self.expect("INTO", which, f"{which} INTO json('folder')")
        return self.connector("a sink")

    def _pause(self, after: str, otherwise: str | None = None) -> int:
        """`otherwise` says what to write in place of no time at all, where that is none."""
        first = self._curr
        length = self.duration(after)
        if length < 0:
            raise CqlSyntaxError(f"{after} is not negative", self._since(first), "write it without the sign")
        if length == 0 and otherwise is not None:
            raise CqlSyntaxError(f"{after} is longer than zero", self._since(first), otherwise)
        return length

    def _punctuation(self, first: Token) -> PunctuationSyntax:
        node = PunctuationSyntax()
        if self._match(TokenType.WHERE):
            node.set("where", self.condition())
        if self.word("BY"):
            node.set("by", self.listed(lambda: self.name("a column")))
        if not node.args:
            hint = "write PUNCTUATION WHERE condition BY column, or without BY for rows that end the time before them"
            self.fail(f"WHERE or BY is missing after PUNCTUATION, here is {self.present}", hint)
        self.at(node, first)
        return node

    def _once(self, node: exp.Expr, clause: str, value: object, word: Token) -> None:
        """Set what a clause says; `word` is the first of the clause."""
        if node.args.get(clause) is not None:
            self.fail(f"{word.text.upper()} is written twice", "once is enough", word)
        node.set(clause, value)

    def _create_table(self) -> exp.Expr:
        node = CreateTable(this=self.name("the table"), columns=self._columns("table"))
        node.set("primary_key", self._primary_key)
        while self._curr:
            word = self._curr
            if self.word("NON", "RETROACTIVE"):
                self._once(node, "non_retroactive", True, word)
            elif self._match(TokenType.FROM):
                self._once(node, "connector", self.connector("a source"), word)
            elif self.word("EFFECTIVE"):
                self.expect("BY", "EFFECTIVE", "EFFECTIVE BY column")
                self._once(node, "effective", self.name("a column"), word)
            else:
                clauses = ("NON RETROACTIVE", "FROM", "EFFECTIVE BY")
                self.fail(
                    f"{self.present} is not a clause of CREATE TABLE", nearest(self._curr.text, clauses, "clauses")
                )
        return node

    def _create_query(self) -> exp.Expr:
        name = self.name("the query")
        self.expect("AS", "the name of the query", "CREATE QUERY name AS SELECT ...")
        node = CreateQuery(this=name, query=self.query())
        while self._curr:
            word = self._curr
            if self.word("REFRESH"):
                self._once(node, "refresh", self._refresh(), word)
            elif self._match(TokenType.INTO):
                self._once(node, "sink", self.connector("a sink"), word)
            elif self.word("STARTING"):
                self.expect("NOW", "STARTING", "STARTING NOW")
                self._once(node, "starting_now", True, word)
            elif self.word("UNTIL"):
                self._once(node, "until", self.timestamp("a time"), word)
            elif self.word("FOR"):
                self._once(node, "lasting", self._pause("FOR", "write how long the query is to run"), word)
            else:
                hint = "after the query come REFRESH, INTO, STARTING NOW, and UNTIL a time or FOR an interval"
                self.fail(f"{self.present} cannot stand after the query", hint)
        return node

    def _refresh(self) -> str:
        for words in _REFRESHES:
            if self.word(*words):
                return " ".join(words).lower()
        hint = "write REFRESH EXACT, REFRESH BEST EFFORT or REFRESH ON LOOKUP"
        self.fail(f"EXACT, BEST EFFORT or ON LOOKUP is missing after REFRESH, here is {self.present}", hint)

    def _columns(self, kind: str) -> list[ColumnSyntax]:
        """None where FROM follows at once: they are those of the source."""
        self._primary_key: list[exp.Identifier] = []
        if self._curr and self._curr.token_type == TokenType.FROM:
            return []
        if not self._match(TokenType.L_PAREN):
            self.fail(
                f"the columns of the {kind} are missing, here is {self.present}", "write (ts TIMESTAMP, price DOUBLE)"
            )
        columns = [column for column in self.listed(self._column_or_key) if column is not None]
        self.close("the columns")
        return columns

    def _column_or_key(self) -> ColumnSyntax | None:
        if self.word("PRIMARY", "KEY"):
            word = self._prev
            self.expect("(", "PRIMARY KEY", "PRIMARY KEY (column)")
            self._set_key(self.listed(lambda: self.name("a column")), word)
            self.close("the columns of the key")
            return None
        first = self._curr
        column = ColumnSyntax(this=self.name("a column"), nullable=True)
        if not self._curr or self._curr.token_type != TokenType.ALIAS:
            column.set("type", self.data_type())
        while True:
            if not column.args.get("computed") and self._match(TokenType.ALIAS):
                column.set("computed", self.condition())
            elif self.word("NOT", "NULL"):
                column.set("nullable", False)
            elif self.word("PRIMARY", "KEY"):
                self._set_key([column.this], self._prev)
            else:
                break
        self.at(column, first)
        return column

    def _set_key(self, columns: list[exp.Identifier], word: Token) -> None:
        if self._primary_key:
            self.fail("PRIMARY KEY is written twice", "name all columns of the key in one PRIMARY KEY (a, b)", word)
        self._primary_key = columns

    def connector(self, what: str) -> ConnectorSyntax:
        first = self._curr
        node = ConnectorSyntax(this=self.name(what), arguments=[], options=[])
        if self._match(TokenType.L_PAREN) and not self._match(TokenType.R_PAREN):
            self.listed(lambda: self._connector_argument(node))
            self.close("the options")
        self.at(node, first)
        return node

    def _connector_argument(self, node: ConnectorSyntax) -> None:
        named = self._next and self._next.token_type in (TokenType.FARROW, TokenType.EQ)
        if not named:
            if node.args["options"]:
                self.fail("an option without a name stands after one with a name", "put it first")
            node.append("arguments", self._parse_unary())
            return
        token = self._curr  # any word: connectors of others call their options FROM, TABLE or GROUP
        if not token.text.isidentifier():
            self.fail(f"{self.present} cannot be the name of an option", "write name => value")
        self._advance(2)
        name = self.expression(exp.Identifier(this=token.text, quoted=False), token)
        node.append("options", exp.PropertyEQ(this=name, expression=self._parse_unary()))
