"""Queries: SELECT blocks, set operations, WITH, FROM with windows and joins, ORDER BY ... LIMIT.

Clauses of SQL that CQL does not have are refused by name, with what to write instead.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.select_list import NOT_OURS, SelectListGrammar
from windrow.cql.grammar.words import NAME_TOKENS
from windrow.cql.syntax import JoinSyntax, OutputSyntax, Relation, span_of
from windrow.errors import CqlSyntaxError

OUTPUTS = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")
_JOIN_WORDS = frozenset(
    {TokenType.JOIN, TokenType.INNER, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.CROSS}
)


class QueryGrammar(SelectListGrammar):
    def query(self) -> exp.Expr:
        """[WITH ...] blocks joined by set operations [ORDER BY] [LIMIT]."""
        first = self._curr
        common = self._with()
        node = self._set_operations()
        self._ordering(node)
        if common:
            node.set("with_", common)
        return self.at(node, first)

    def _with(self) -> list[exp.CTE]:
        if not self._match(TokenType.WITH):
            return []
        if self.ahead("RECURSIVE"):
            self.fail("WITH RECURSIVE is not part of CQL", "name sub-queries with WITH, without recursion")
        return self.listed(self._common)

    def _common(self) -> exp.CTE:
        name = self.name("a sub-query in WITH")
        example = "WITH name AS (SELECT ...) SELECT ..."
        self.expect("AS", "the name", example)
        self.expect("(", "AS", example)
        query = self.query()
        self.close("the sub-query")
        return exp.CTE(this=query, alias=name)

    def _set_operations(self) -> exp.Expr:
        """UNION and EXCEPT from left to right; INTERSECT binds tighter."""
        first = self._curr
        node = self._intersections()
        while self._match(TokenType.UNION) or self._match(TokenType.EXCEPT):
            kind = exp.Union if self._prev.token_type == TokenType.UNION else exp.Except
            distinct = self._distinct()
            node = self.at(kind(this=node, expression=self._intersections(), distinct=distinct), first)
        return node

    def _intersections(self) -> exp.Expr:
        first = self._curr
        node = self._operand()
        while self._match(TokenType.INTERSECT):
            distinct = self._distinct()
            node = self.at(exp.Intersect(this=node, expression=self._operand(), distinct=distinct), first)
        return node

    def _distinct(self) -> bool:
        if self._match(TokenType.ALL):
            return False
        self._match(TokenType.DISTINCT)
        return True

    def _operand(self) -> exp.Expr:
        first = self._curr
        if self._match(TokenType.L_PAREN):
            query = self.query()
            self.close("the query")
            return self.at(exp.Subquery(this=query), first)
        return self._select()

    def _select(self) -> exp.Expr:
        first = self._curr
        if not self._match(TokenType.SELECT):
            self.fail(f"SELECT is missing, here is {self.present}", "a query is SELECT ... FROM ...")
        node = exp.Select(expressions=[])
        self._output(node)
        self._match(TokenType.ALL)
        if self._match(TokenType.DISTINCT):
            node.set("distinct", exp.Distinct())
        if not node.expressions:
            node.set("expressions", self.listed(self.item))
            self._close_output(node)
        if not self._match(TokenType.FROM):
            self._missing_from()
        node.set("from_", exp.From(this=self._from()))
        self._clauses(node)
        return self.at(node, first)

    def _missing_from(self) -> None:
        if self._curr and self._curr.token_type in (*NAME_TOKENS, TokenType.ALIAS):
            self.fail(f"{self.present} cannot stand here", "columns are separated by commas, aliases written with AS")
        hint = self.stray_hint() or "a query reads at least one stream, window or table"
        self.fail(f"FROM is missing, here is {self.present}", hint)

    def _output(self, node: exp.Select) -> None:
        """`ISTREAM`, `RSTREAM RESTORE`, `WSTREAM [ROWS 10]`, or the thesis's spelling `Rstream-restore(...)`."""
        first = self._curr
        if not first or first.token_type != TokenType.VAR or first.text.upper() not in OUTPUTS:
            return
        if self._is_nested_output():
            return
        self._advance()
        kind = first.text.upper()
        if self._curr and self._curr.token_type == TokenType.VAR and self._curr.text.upper() in OUTPUTS:
            self.fail("a query has one output stream", f"write {kind} or {self._curr.text.upper()}, not both")
        restore = self._restore()
        output = OutputSyntax(this=kind, restore=restore)
        node.set("output", output)
        if self.at_window():
            output.set("window", self.window())
        elif self._opens_list():
            self._advance()
            if self._match(TokenType.DISTINCT):
                node.set("distinct", exp.Distinct())
            node.set("expressions", self.listed(self.item))
            self.close(f"the columns of {kind}")
            if self.at_window():
                output.set("window", self.window())
        self._check_output(self.at(output, first))

    def _is_nested_output(self) -> bool:
        """`SELECT WSTREAM(...)[...] + 1`: an expression, which is refused when it is bound."""
        return bool(self._next) and self._next.token_type in (TokenType.COMMA, TokenType.FROM, TokenType.DOT)

    def _restore(self) -> bool:
        if (
            self._curr
            and self._curr.token_type == TokenType.DASH
            and self._next
            and self._next.text.upper() == "RESTORE"
        ):
            self._advance(2)
            return True
        return self.word("RESTORE")

    def _opens_list(self) -> bool:
        """The parenthesis belongs to ISTREAM(...) when it closes right before FROM or a window."""
        if not self._curr or self._curr.token_type != TokenType.L_PAREN:
            return False
        depth, index = 0, self._index
        while index < len(self._tokens):
            kind = self._tokens[index].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            index += 1
            if depth == 0:
                break
        after = self._tokens[index].token_type if index < len(self._tokens) else None
        return after in (TokenType.FROM, TokenType.L_BRACKET, None)

    def _check_output(self, output: OutputSyntax) -> None:
        kind, window, span = output.this, output.args.get("window"), span_of(output)
        if kind in ("WSTREAM", "DSTREAM") and output.args["restore"]:
            why = "an output window has no refreshes" if kind == "WSTREAM" else "deletions are never lost"
            message = f"{kind} RESTORE does not exist: {why}"
            raise CqlSyntaxError(message, span, "write ISTREAM RESTORE or RSTREAM RESTORE")
        if kind == "WSTREAM" and window is None:
            hint = "write WSTREAM(*)[ROWS 10] or WSTREAM(*)[RANGE 1 MINUTE]"
            raise CqlSyntaxError("WSTREAM needs a window", span, hint)
        if kind != "WSTREAM" and window is not None:
            raise CqlSyntaxError(f"{kind} takes no window", span, "only WSTREAM is a window on the output")

    def _close_output(self, node: exp.Select) -> None:
        if self.at_window():
            self.fail("a window cannot stand here", "windows stand after relations in FROM and after WSTREAM(...)")

    def _from(self) -> exp.Expr:
        node = self._joined()
        while self._match(TokenType.COMMA):
            node = JoinSyntax(this=node, expression=self._joined(), kind="CROSS")
        return node

    def _joined(self) -> exp.Expr:
        node = self._relation()
        while self._curr and self._curr.token_type in _JOIN_WORDS:
            first = self._curr
            kind = self._join_kind()
            right = self._relation()
            join = JoinSyntax(this=node, expression=right, kind=kind)
            if self._match(TokenType.ON):
                join.set("on", self.condition())
            elif self._match(TokenType.USING):
                self.expect("(", "USING", "JOIN t USING (k)")
                join.set("using", self.listed(lambda: self.name("a column")))
                self.close("the columns of USING")
            elif kind != "CROSS":
                self.fail(
                    f"ON is missing after {kind} JOIN, here is {self.present}", "write JOIN t ON s.k = t.k", first
                )
            node = join
        if self.ahead("NATURAL"):
            self.fail("NATURAL JOIN is not part of CQL", "name the columns: JOIN t ON s.k = t.k")
        return node

    def _join_kind(self) -> str:
        kind = "INNER"
        if not self._match(TokenType.JOIN):
            kind = self._curr.text.upper()
            self._advance()
            if kind in ("LEFT", "RIGHT", "FULL"):
                self._match(TokenType.OUTER)
            self.expect("JOIN", kind, f"{kind} JOIN t ON s.k = t.k")
        return kind

    def _relation(self) -> exp.Expr:
        first = self._curr
        if self._match(TokenType.L_PAREN):
            if not self.at_query():
                inner = self._from()
                self.close("the relations")
                return inner
            query = self.query()
            self.close("the sub-query")
            return self._decorated(Relation(this=query), first)
        return self._decorated(self.table_function() or Relation(this=self.name("a stream, window or table")), first)

    def _decorated(self, relation: Relation, first: Token) -> Relation:
        """Window and alias, in either order."""
        if self.at_window():
            relation.set("window", self.window())
        self._refuse_bare_window(relation)
        if self._match(TokenType.ALIAS) or (
            self._curr and self._curr.token_type in NAME_TOKENS and self.is_free_name(self._curr)
        ):
            relation.set("alias", self.name("an alias"))
        if self.at_window():
            if relation.args.get("window"):
                self.fail("a relation has one window", "put the first window into a sub-query")
            relation.set("window", self.window())
        self.at(relation, first)
        return relation

    def _refuse_bare_window(self, relation: Relation) -> None:
        """`FROM s RANGE 10 SECONDS`: the word of a window and what it takes, without brackets."""
        word = self._curr.text.upper() if self._curr else ""
        if word not in ("RANGE", "ROWS", "PARTITION", "SINCE") or not self._next:
            return
        begins = self._next.token_type in (TokenType.NUMBER, TokenType.STRING, TokenType.FROM, TokenType.INTERVAL)
        if begins or self._next.text.upper() in ("BY", "UNBOUNDED"):
            named = relation.this.name if isinstance(relation.this, exp.Identifier) else "(...)"
            example = f"{self._curr.text.upper()} {self._next.text}"
            hint = f"write {named} [{example} ...]: the window of a stream stands behind it in brackets"
            self.fail("a window stands in brackets", hint)

    def _clauses(self, node: exp.Select) -> None:
        if self._match(TokenType.WHERE):
            node.set("where", self.condition())
        if self._match(TokenType.GROUP_BY):
            every = bool(self._match(TokenType.ALL))
            node.set("group", exp.Group(expressions=[] if every else self.listed(self.condition), all=every))
        if self._match(TokenType.HAVING):
            node.set("having", self.condition())
        word = self._curr.text.upper() if self._curr else ""
        if word in NOT_OURS:
            self.fail(f"{word} is not part of CQL", NOT_OURS[word])
        if word in ("WHERE", "GROUP BY", "HAVING"):
            self.fail(
                f"{word} stands in the wrong place", "the order is FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT"
            )

    def _ordering(self, node: exp.Expr) -> None:
        if self._match(TokenType.ORDER_BY):
            node.set("order", exp.Order(expressions=self.listed(self.sort_key)))
        if self._match(TokenType.LIMIT):
            node.set("limit", self.whole_number("the number of rows after LIMIT"))
        if self._match(TokenType.OFFSET):
            if node.args.get("limit") is None:
                self.fail("OFFSET needs LIMIT in front of it", "write LIMIT n OFFSET m", self._prev)
            node.set("offset", self.whole_number("the number of rows after OFFSET"))
