"""Expressions: sqlglot's precedence of operators over atoms of our own.

An atom either is read or is an error with its place; nothing is guessed and nothing is skipped, so that a text means
one thing or is refused. Sub-queries and windows come from the grammars that inherit this one.
"""

from __future__ import annotations

from datetime import date
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.calls import CallGrammar
from windrow.cql.grammar.words import NAME_TOKENS
from windrow.cql.syntax import FieldSyntax, TypedLiteral
from windrow.plan.printer import RESERVED
from windrow.types import DATE, INTERVAL, SIMPLE_TYPES, TIMESTAMP
from windrow.units import parse_timestamp

_CASE = "CASE WHEN condition THEN value ELSE value END"
_DOUBLED = {"&": "write AND", "|": "write OR, or || between texts"}
_EXPRESSION = "write a column, a constant, a call or something in parentheses"
MAX_NESTING = 40  # of atoms in each other; more is refused before Python's own limit is reached


class ExpressionGrammar(CallGrammar):
    """Reads expressions."""

    def condition(self) -> exp.Expr:
        """Any expression; whether it is a condition is seen later, when it has a type."""
        expression = self._parse_disjunction()
        assert expression is not None, "atoms are read or refused"
        return expression

    def _parse_unary(self) -> exp.Expr | None:
        """A sign or NOT belongs to what it stands before."""
        first = self._curr
        node = super()._parse_unary()
        return self.at(node, first) if isinstance(node, exp.Neg | exp.Not) else node

    _nesting = 0

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr:
        first = self._curr
        if not first:
            self.fail("an expression is missing at the end of the statement", _EXPRESSION)
        if self._nesting == MAX_NESTING:
            self.fail("this is nested too deeply", "compute a part of it in a sub-query in FROM")
        self._nesting += 1
        node = self._postfixed(self._atom(first), first)
        self._nesting -= 1
        return node

    def _atom(self, first: Token) -> exp.Expr:
        """A constant, a column, a call, CASE, or something in parentheses."""
        kind = first.token_type
        if kind == TokenType.NUMBER:
            return self.expression(exp.Literal.number(self.number()), first)
        if kind == TokenType.DOT and self._next and self._next.token_type == TokenType.NUMBER:
            self._advance(2)
            return self.at(exp.Literal.number(f"0.{self._prev.text}"), first)
        if kind == TokenType.STRING:
            self._advance()
            return self.expression(exp.Literal.string(first.text), first)
        if kind in (TokenType.NULL, TokenType.TRUE, TokenType.FALSE):
            self._advance()
            node = exp.Null() if kind == TokenType.NULL else exp.Boolean(this=kind == TokenType.TRUE)
            return self.expression(node, first)
        if kind == TokenType.INTERVAL:
            return self.at(TypedLiteral(this=self.duration("INTERVAL"), type=INTERVAL), first)
        if kind == TokenType.CASE:
            return self._case(first)
        if kind == TokenType.L_PAREN:
            return self._parenthesised(first)
        if kind == TokenType.EXISTS:
            return self._exists(first)
        if kind == TokenType.COLON and self._next and self._next.token_type == TokenType.VAR:
            self._advance(2)
            return self.at(exp.Placeholder(this=self._prev.text), first)
        return self._named(first)

    def _named(self, first: Token) -> exp.Expr:
        """Things that begin with a name: typed constants, CAST, EXTRACT, calls, columns."""
        if first.text.upper() in ("TIMESTAMP", "DATE") and self._next.token_type == TokenType.STRING:
            return self._typed_constant(first)
        if self._next and self._next.token_type == TokenType.L_PAREN and first.token_type in self.CALL_TOKENS:
            return self._called(first)
        if first.text.upper() == "X" and self._next.token_type == TokenType.STRING:
            return self._bytes(first)
        if first.token_type not in NAME_TOKENS or (
            first.text.upper() in RESERVED - {"WINDOW"} and first.token_type == TokenType.VAR
        ):
            self._no_expression(first)
        return self._column(first)

    def _no_expression(self, first: Token) -> NoReturn:
        hint = _EXPRESSION
        if first.text.upper() in RESERVED:
            hint = f'{_EXPRESSION}; a column called {first.text.lower()} is written "{first.text.lower()}"'
        if self._prev and self._prev.text == first.text and first.text in _DOUBLED:
            hint = _DOUBLED[first.text]
        self.fail(f"an expression is missing, here is {self.present}", hint)

    CALL_TOKENS = frozenset(
        {TokenType.VAR, TokenType.IDENTIFIER, TokenType.LEFT, TokenType.RIGHT, TokenType.ILIKE, TokenType.RLIKE}
    )

    def _typed_constant(self, first: Token) -> exp.Expr:
        self._advance()
        text = self.string("a time")
        try:
            if first.text.upper() == "TIMESTAMP":
                return self.at(TypedLiteral(this=parse_timestamp(text), type=TIMESTAMP), first)
            days = date.fromisoformat(text.strip()).toordinal() - date(1970, 1, 1).toordinal()
            return self.at(TypedLiteral(this=days, type=DATE), first)
        except (ValueError, OverflowError):
            example = "'2026-01-31 12:00:00'" if first.text.upper() == "TIMESTAMP" else "'2026-01-31'"
            self.fail(f"{text!r} is not a {first.text.upper()}", f"write it as {example}", self._prev)

    def _bytes(self, first: Token) -> exp.Expr:
        self._advance()
        try:
            value = bytes.fromhex(self.string("a row of hex digits"))
        except ValueError:
            self.fail("these are not pairs of hex digits", "write X'00ff'", self._prev)
        return self.at(TypedLiteral(this=value, type=SIMPLE_TYPES["BINARY"]), first)

    def _column(self, first: Token) -> exp.Expr:
        parts = [self._identifier()]
        while self._match(TokenType.DOT):
            if self._match(TokenType.STAR):
                star = self.expression(exp.Star(), self._prev)
                return self.at(exp.Column(this=star, table=parts[-1]), first)
            parts.append(self._identifier())
        if len(parts) == 1:
            return self.at(exp.Column(this=parts[0]), first)
        node: exp.Expr = self.at(exp.Column(this=parts[1], table=parts[0]), first)
        for part in parts[2:]:
            node = self.at(FieldSyntax(this=node, field=part.name), first)
        return node

    def _identifier(self) -> exp.Identifier:
        token = self._curr
        if not token or token.token_type not in NAME_TOKENS:
            self.fail(f"a column is missing after the dot, here is {self.present}", "write alias.column or alias.*")
        self._advance()
        quoted = token.token_type == TokenType.IDENTIFIER
        return self.expression(exp.Identifier(this=token.text, quoted=quoted), token)

    def _case(self, first: Token) -> exp.Expr:
        self._advance()
        subject = None if self._curr and self._curr.token_type == TokenType.WHEN else self.condition()
        branches = []
        while self._match(TokenType.WHEN):
            when = self.condition()
            self.expect("THEN", "the condition", _CASE)
            branches.append(exp.If(this=when, true=self.condition()))
        if not branches:
            self.fail(f"WHEN is missing after CASE, here is {self.present}", f"write {_CASE}")
        default = self.condition() if self._match(TokenType.ELSE) else None
        self.expect("END", "CASE", _CASE)
        return self.at(exp.Case(this=subject, ifs=branches, default=default), first)

    def _parenthesised(self, first: Token) -> exp.Expr:
        self._advance()
        if self.at_query():
            query = self.query()
            self.close("the sub-query")
            return self.at(exp.Subquery(this=query), first)
        inner = self.condition()
        if self._curr and self._curr.token_type == TokenType.COMMA:
            self.fail("a list in parentheses is not an expression", "compare one column at a time")
        self.close("the expression")
        return self.at(exp.Paren(this=inner), first)

    def _exists(self, first: Token) -> exp.Expr:
        self._advance()
        self.expect("(", "EXISTS", "EXISTS (SELECT ...)")
        if not self.at_query():
            self.fail(f"a sub-query is missing after EXISTS (, here is {self.present}", "write EXISTS (SELECT ...)")
        query = self.query()
        self.close("the sub-query")
        return self.at(exp.Exists(this=query), first)

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        self.expect("(", "IN", "x IN (1, 2) or x IN (SELECT ...)")
        if self.at_query():
            node = exp.In(this=this, query=self.query())
        else:
            node = exp.In(this=this, expressions=self.listed(self.condition))
        self.close("the values of IN")
        return self.expression(node)

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        self.expect("AND", "the lower end of BETWEEN", "x BETWEEN low AND high")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr:
        negated = bool(self._match(TokenType.NOT))
        if self.word("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self.expression(kind(this=this, expression=self._parse_bitwise()))
        if not self._curr or self._curr.token_type not in (TokenType.NULL, TokenType.TRUE, TokenType.FALSE):
            message = f"after IS comes NULL, TRUE, FALSE or DISTINCT FROM, here is {self.present}"
            self.fail(message, "compare values with =")
        node = self.expression(exp.Is(this=this, expression=self._parse_type()))
        return self.expression(exp.Not(this=node)) if negated else node

    def at_query(self) -> bool:
        """Whether a query begins here, behind any number of parentheses."""
        index = self._index
        while self._curr and self._curr.token_type == TokenType.L_PAREN:
            self._advance()
        starts = bool(self._curr) and self._curr.token_type in (TokenType.SELECT, TokenType.WITH)
        self._retreat(index)
        return starts

    def query(self) -> exp.Expr:
        """A query; the grammar of queries says how."""
        raise NotImplementedError
