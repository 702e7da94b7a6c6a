"""The select list: expressions with their names, and `*` with what is left out of it or replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.table_functions import TableFunctionGrammar
from windrow.cql.grammar.words import NAME_TOKENS
from windrow.plan.printer import RESERVED

Tree = TypeVar("Tree", bound=exp.Expr)

# Clauses of SQL that CQL does not have, and what to write instead; they are no names of columns.
AFTER_QUERY = ("INTO", "REFRESH", "STARTING", "UNTIL", "FOR")  # of CREATE QUERY
NOT_OURS = {
    "QUALIFY": "filter in an outer query",
    "WINDOW": "windows stand after the streams in FROM: s [RANGE 10 MINUTES]",
    "FETCH": "write LIMIT n",
    "TABLESAMPLE": "answers are over all rows; an aggregate such as APPROX_QUANTILE(x, 0.5, 0.01) keeps fewer of them",
    "LATERAL": "write a join",
    "PIVOT": "write one CASE for each column",
}


class SelectListGrammar(TableFunctionGrammar):
    def item(self) -> exp.Expr:
        first = self._curr
        if self._match(TokenType.STAR):
            return self._changed_star(self.expression(exp.Star(), first), first)
        value = self.condition()
        if isinstance(value, exp.Column) and isinstance(value.this, exp.Star):
            self._changed_star(value.this, first)
            return self.at(value, first)
        if self._match(TokenType.ALIAS):
            return self.at(exp.Alias(this=value, alias=self.name("a column")), first)
        if self._curr and self._curr.token_type in NAME_TOKENS and self.is_free_name(self._curr):
            return self.at(exp.Alias(this=value, alias=self.name("a column")), first)
        return value

    def _changed_star(self, star: exp.Star, first: Token) -> exp.Star:
        """`* EXCEPT (a, b) REPLACE (x + 1 AS x)`."""
        if self._match(TokenType.EXCEPT) or self.word("EXCLUDE"):
            word = self._prev.text.upper()
            star.set("except_", self._in_parentheses(word, f"* {word} (a, b)", lambda: self.name("a column")))
        if self.word("REPLACE"):
            star.set("replace", self._in_parentheses("REPLACE", "* REPLACE (x + 1 AS x)", self._replacement))
        return self.at(star, first)

    def _in_parentheses(self, after: str, example: str, read: Callable[[], Tree]) -> list[Tree]:
        self.expect("(", after, example)
        items = self.listed(read)
        self.close(f"the columns of {after}")
        return items

    def _replacement(self) -> exp.Alias:
        first = self._curr
        value = self.condition()
        self.expect("AS", "the value", "* REPLACE (x + 1 AS x)")
        return self.at(exp.Alias(this=value, alias=self.name("a column")), first)

    def is_free_name(self, token: Token) -> bool:
        """A word that may stand as an alias without AS."""
        if token.token_type == TokenType.IDENTIFIER:
            return True
        word = token.text.upper()
        return word not in RESERVED and word not in NOT_OURS and word not in AFTER_QUERY
