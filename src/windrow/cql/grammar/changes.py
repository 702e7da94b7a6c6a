"""Changes of tables: INSERT, UPDATE and DELETE, with the time at which they take effect."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from windrow.catalog.connectors import SINKS
from windrow.cql.grammar.queries import QueryGrammar
from windrow.cql.grammar.words import Tree
from windrow.cql.syntax import Change, ConnectorSyntax, CreateQuery, InsertQuery


class ChangeGrammar(QueryGrammar):
    def _insert(self) -> exp.Expr:
        example = "INSERT INTO table (column, ...) VALUES (constant, ...)"
        self.expect("INTO", "INSERT", example)
        if self._at_sink():
            sink = self.connector("a sink")
            return CreateQuery(query=self.query(), sink=sink)
        node = Change(this=self.name("the table"), kind="INSERT")
        if self._match(TokenType.L_PAREN):
            node.set("columns", self.listed(lambda: self.name("a column")))
            self.close("the columns")
        if self.at_query():
            columns = node.args.get("columns")
            return self._effect(InsertQuery(this=node.this, query=self.query(), columns=columns))
        self.expect("VALUES", "the table", example)
        node.set("rows", self.listed(self._row))
        return self._effect(node)

    def _at_sink(self) -> bool:
        """`json('folder')` or `memory(mode => 'upsert')`: the columns of a table are plain names."""
        if not self._curr or self._curr.text.lower() not in SINKS:
            return False
        if not self._next or self._next.token_type != TokenType.L_PAREN or self._index + 3 >= len(self._tokens):
            return False
        inside, after = self._tokens[self._index + 2 : self._index + 4]
        is_option = after.token_type in (TokenType.FARROW, TokenType.EQ)
        return inside.token_type in (TokenType.STRING, TokenType.R_PAREN) or is_option

    def connector(self, what: str) -> ConnectorSyntax:
        """`parquet('folder')`; the grammar of statements says how."""
        raise NotImplementedError

    def _row(self) -> exp.Tuple:
        first = self._curr
        self.expect("(", "VALUES", "VALUES (constant, ...), ...")
        node = exp.Tuple(expressions=self.listed(self.condition))
        self.close("the values")
        self.at(node, first)
        return node

    def _update(self) -> exp.Expr:
        node = Change(this=self.name("the table"), kind="UPDATE")
        self.expect("SET", "the table", "UPDATE table SET column = value WHERE condition")
        node.set("assignments", self.listed(self._assignment))
        return self._effect(self._condition_of(node))

    def _assignment(self) -> exp.EQ:
        name = self.name("a column")
        self.expect("=", "the column", "SET column = value")
        return exp.EQ(this=name, expression=self.condition())

    def _delete(self) -> exp.Expr:
        self.expect("FROM", "DELETE", "DELETE FROM table WHERE condition")
        return self._effect(self._condition_of(Change(this=self.name("the table"), kind="DELETE")))

    def _condition_of(self, node: Change) -> Change:
        if self._match(TokenType.WHERE):
            node.set("where", self.condition())
        return node

    def _effect(self, node: Tree) -> Tree:
        if self.word("AT"):
            node.set("effect", self.timestamp("the effect time after AT"))
        return node
