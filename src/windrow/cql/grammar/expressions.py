"""Expressions: sqlglot's precedence of operators over atoms of our own.

An atom either is read or is an error with its place; nothing is guessed and nothing is skipped, so that a text means
one thing or is refused. Sub-queries and windows come from the grammars that inherit this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import NoReturn, TypeVar

from sqlglot import exp, parser
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.syntax import CastSyntax, TypedLiteral
from windrow.errors import CqlSyntaxError, Span, nearest
from windrow.plan.printer import RESERVED
from windrow.types import DATE, INTERVAL, SIMPLE_TYPES, TIMESTAMP, Type, decimal
from windrow.units import (
    CALENDAR_UNITS,
    UNITS,
    Duration,
    checked_duration,
    duration_of,
    parse_duration,
    parse_timestamp,
)

Item = TypeVar("Item")
Tree = TypeVar("Tree", bound=exp.Expr)

TYPE_SPELLINGS: dict[str, Type] = {
    **SIMPLE_TYPES,
    "BOOL": SIMPLE_TYPES["BOOLEAN"],
    "BYTE": SIMPLE_TYPES["TINYINT"],
    "SHORT": SIMPLE_TYPES["SMALLINT"],
    "INTEGER": SIMPLE_TYPES["INT"],
    "LONG": SIMPLE_TYPES["BIGINT"],
    "REAL": SIMPLE_TYPES["FLOAT"],
    "TEXT": SIMPLE_TYPES["STRING"],
    "VARCHAR": SIMPLE_TYPES["STRING"],
    "CHAR": SIMPLE_TYPES["STRING"],
    "BYTES": SIMPLE_TYPES["BINARY"],
    "BLOB": SIMPLE_TYPES["BINARY"],
    "DATETIME": SIMPLE_TYPES["TIMESTAMP"],
}
_STRAY = {
    ":": "a cast is written CAST(x AS type)",
    "INTO": "only a query with a name writes to a sink: CREATE QUERY name AS SELECT ... INTO ...",
    "REFRESH": "only a query with a name is refreshed: CREATE QUERY name AS SELECT ... REFRESH ...",
    "ESCAPE": "LIKE has no ESCAPE; use CONTAINS, STARTS_WITH or REGEXP_LIKE",
}
_CASE = "CASE WHEN condition THEN value ELSE value END"
_DOUBLED = {"=": "equality is written with one =", "&": "write AND", "|": "write OR, or || between texts"}
_EXPRESSION = "write a column, a constant, a call or something in parentheses"
MAX_NESTING = 40  # of atoms in each other; more is refused before Python's own limit is reached
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,18}")
NAME_TOKENS = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


class ExpressionGrammar(parser.Parser):
    """What every part of the grammar uses: failing with a place, matching words, reading expressions."""

    STRICT_CAST = True

    def fail(self, message: str, hint: str | None = None, token: Token | None = None) -> NoReturn:
        """Refuse the text at a token, at the present one when none is given."""
        raise CqlSyntaxError(message, self.span(token or self._curr), hint)

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """sqlglot's own refusals, where an operator lacks an operand."""
        unexpected = message.startswith("Invalid expression")
        text = f"{self.found} cannot stand here" if unexpected else f"this cannot be read: {message}"
        self.fail(text, self.stray_hint() or "the statement ends before it; separate statements with ;", token)

    def stray_hint(self) -> str | None:
        """What people mean by a sign that CQL does not have."""
        return _STRAY.get(self._curr.text.upper()) if self._curr else None

    def span(self, token: Token | None) -> Span:
        if token:
            return Span(token.start, token.end + 1)
        end = self._prev.end + 1 if self._prev else len(self.sql)
        return Span(end, end)

    @property
    def found(self) -> str:
        """The present token, as a message names it."""
        return f"{self._curr.text!r}" if self._curr else "the end of the statement"

    def at(self, node: Tree, first: Token) -> Tree:
        """Mark a node as standing from a token up to the last one read."""
        node.update_positions(line=first.line, col=first.col, start=first.start, end=self._prev.end)
        return node

    def word(self, *words: str) -> bool:
        """Read these words if they come next."""
        return bool(self._match_text_seq(*words))

    def ahead(self, *words: str) -> bool:
        return bool(self._match_text_seq(*words, advance=False))

    def expect(self, what: str, after: str, example: str) -> None:
        """Read a word or a sign that must come next; the example shows it in its place."""
        if not self._match_text_seq(what):
            self.fail(f"{what} is missing after {after}, here is {self.found}", f"write {example}")

    def close(self, after: str) -> None:
        """Read the parenthesis that ends what one before has begun."""
        if not self._match(TokenType.R_PAREN):
            self.fail(f") is missing after {after}, here is {self.found}", "close the parenthesis opened before it")

    def listed(self, read: Callable[[], Item]) -> list[Item]:
        """One or more, separated by commas."""
        items = [read()]
        while self._match(TokenType.COMMA):
            items.append(read())
        return items

    def name(self, what: str) -> exp.Identifier:
        """A name; reserved words must be quoted."""
        token = self._curr
        if not token or token.token_type not in NAME_TOKENS:
            hint = 'a name begins with a letter; any other is quoted, such as "2nd"'
            if token and token.text.upper() in RESERVED:
                hint = f'{token.text.upper()} is a reserved word; to use it as a name write "{token.text}"'
            self.fail(f"the name of {what} is missing, here is {self.found}", hint)
        quoted = token.token_type == TokenType.IDENTIFIER
        if not quoted and token.text.upper() in RESERVED:
            word = token.text.upper()
            self.fail(f"{word} cannot be the name of {what}", f'it is a reserved word; write "{token.text}"')
        if not token.text or "." in token.text:
            self.fail(f"{token.text!r} cannot be the name of {what}", "a name is not empty and has no dot in it")
        self._advance()
        return self.expression(exp.Identifier(this=token.text, quoted=quoted), token)

    def number(self) -> str:
        """The digits of a number, which comes next."""
        text = str(self._curr.text)
        if not _NUMBER.fullmatch(text):
            self.fail(f"{self.found} is not a number", "write it as 10, 0.5 or 1e9")
        self._advance()
        return text

    def whole_number(self, what: str) -> int:
        token = self._curr
        if not token or token.token_type != TokenType.NUMBER:
            self.fail(f"{what} is missing, here is {self.found}", "write a whole number, such as 10")
        if not _WHOLE.fullmatch(token.text):
            self.fail(f"{self.found} is not {what}", "write a whole number of up to 18 digits, such as 10")
        return int(self.number())

    def string(self, what: str) -> str:
        token = self._curr
        if not token or token.token_type != TokenType.STRING:
            self.fail(f"{what} is missing, here is {self.found}", "write it in single quotes")
        self._advance()
        return token.text

    def duration(self, after: str) -> Duration:
        """`10 MINUTES`, `1 hour 30 minutes`, `'90 s'`, with or without INTERVAL in front."""
        self._match(TokenType.INTERVAL)
        first = self._curr
        try:
            return self._duration(after)
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            hint = hint or "write 10 MINUTES or '1 hour 30 minutes'"
            raise CqlSyntaxError(message, self._since(first), hint) from None

    def _since(self, first: Token) -> Span:
        """From a token up to the last one read, or the token alone when it was not read."""
        return Span(first.start, max(first.end, self._prev.end if self._prev else 0) + 1)

    def _duration(self, after: str) -> Duration:
        if self._curr and self._curr.token_type == TokenType.STRING:
            text = self.string("an interval")
            return parse_duration(f"{text} {self._unit()}") if self._at_unit() else parse_duration(text)
        total, parts = 0, 0
        while self._at_number() and (parts == 0 or self._next.text.upper() in UNITS):
            sign = -1 if self._match(TokenType.DASH) else 1
            number = self.number()
            if not self._at_unit():
                self._missing_unit(number, after)
            total += sign * duration_of(number, self._unit())
            parts += 1
        if parts == 0:
            self.fail(f"an interval is missing after {after}, here is {self.found}", "write it as 10 MINUTES")
        return checked_duration(total)

    def _at_number(self) -> bool:
        sign = self._curr and self._curr.token_type == TokenType.DASH
        token = self._next if sign else self._curr
        return bool(token) and token.token_type == TokenType.NUMBER

    def _at_unit(self) -> bool:
        token = self._curr
        return (
            bool(token)
            and token.token_type == TokenType.VAR
            and (token.text.upper() in UNITS or token.text.upper() in CALENDAR_UNITS)
        )

    def _unit(self) -> str:
        self._advance()
        return str(self._prev.text)

    def _missing_unit(self, number: str, after: str) -> NoReturn:
        if self._curr and self._curr.token_type == TokenType.VAR:
            self.fail(f"{self._curr.text!r} is not a unit of time", nearest(self._curr.text, UNITS, "units"))
        rows = f", or ROWS {number} for a number of rows" if after == "RANGE" else ""
        self.fail(f"a unit of time is missing after {number}", f"write {after} {number} SECONDS{rows}", self._prev)

    def timestamp(self, what: str) -> int:
        """`TIMESTAMP '...'` or the string alone."""
        self.word("TIMESTAMP")
        token = self._curr
        text = self.string(what)
        try:
            return parse_timestamp(text)
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is not a time", "write it as '2026-01-31 12:00:00'", token)

    def data_type(self) -> Type:
        token = self._curr
        known = TYPE_SPELLINGS.get(token.text.upper()) if token else None
        if token and token.text.upper() in ("DECIMAL", "NUMERIC", "DEC"):
            self._advance()
            return self._decimal()
        if known is None:
            self._unknown_type()
        self._advance()
        if self._match(TokenType.L_PAREN):  # VARCHAR(20): the length is not checked
            self.whole_number("a length")
            self.close("the length")
        return known

    def _unknown_type(self) -> NoReturn:
        if not self._curr or self._curr.token_type not in NAME_TOKENS:
            self.fail(f"a type is missing, here is {self.found}", "write it after the name, such as price DOUBLE")
        hint = nearest(self._curr.text, [*TYPE_SPELLINGS, "DECIMAL"], "types")
        if not hint.startswith("did you mean"):
            hint = nearest(self._curr.text, [*SIMPLE_TYPES, "DECIMAL"], "types")
        self.fail(f"{self.found} is not a type", hint)

    def _decimal(self) -> Type:
        token, precision, scale = self._prev, 10, 0
        if self._match(TokenType.L_PAREN):
            precision = self.whole_number("the number of digits")
            scale = self.whole_number("the digits after the point") if self._match(TokenType.COMMA) else 0
            self.close("the digits")
        if not 1 <= precision <= 38 or scale > precision:
            self.fail(
                f"DECIMAL({precision}, {scale}) does not exist", "use 1 to 38 digits, no more after the point", token
            )
        return decimal(precision, scale)

    def condition(self) -> exp.Expr:
        """Any expression; whether it is a condition is seen later, when it has a type."""
        expression = self._parse_disjunction()
        assert expression is not None, "atoms are read or refused"
        return expression

    def expression(self, instance: Tree, token: Token | None = None, comments: list[str] | None = None) -> Tree:
        """Marks every node that sqlglot builds with its place."""
        node = super().expression(instance, token, comments)
        if token is None and self._prev:
            starts = [child.meta["start"] for child in node.iter_expressions() if child._meta and "start" in child.meta]
            node.meta.setdefault("start", min(starts, default=self._prev.start))
            node.meta.setdefault("end", self._prev.end)
        return node

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
        node = self._atom(first)
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
        self.fail(f"an expression is missing, here is {self.found}", hint)

    CALL_TOKENS = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.LEFT, TokenType.RIGHT})

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
                return self.at(exp.Column(this=exp.Star(), table=parts[-1]), first)
            parts.append(self._identifier())
        if len(parts) > 2:
            message = "a column has at most one name in front of it"
            raise CqlSyntaxError(message, self._since(first), f"write {parts[-2].name}.{parts[-1].name}")
        return self.at(exp.Column(this=parts[-1], table=parts[0] if len(parts) == 2 else None), first)

    def _identifier(self) -> exp.Identifier:
        token = self._curr
        if not token or token.token_type not in NAME_TOKENS:
            self.fail(f"a column is missing after the dot, here is {self.found}", "write alias.column or alias.*")
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
            self.fail(f"WHEN is missing after CASE, here is {self.found}", f"write {_CASE}")
        default = self.condition() if self._match(TokenType.ELSE) else None
        self.expect("END", "CASE", _CASE)
        return self.at(exp.Case(this=subject, ifs=branches, default=default), first)

    def _called(self, first: Token) -> exp.Expr:
        name = first.text.upper()
        self._advance(2)
        if name in ("CAST", "TRY_CAST"):
            value = self.condition()
            self.expect("AS", "the value", "CAST(value AS type)")
            node: exp.Expr = CastSyntax(this=value, type=self.data_type(), safe=name == "TRY_CAST")
        elif name == "EXTRACT":
            part = self._curr.text.upper() if self._curr else ""
            node = exp.Anonymous(this="EXTRACT", expressions=[self._extract_part(), *self._extract_source(part)])
        else:
            node = exp.Anonymous(this=first.text, expressions=self._arguments())
        self.close(f"the arguments of {name}")
        if self.ahead("OVER"):
            self.fail("OVER (...) is not part of CQL", "windows stand after the streams in FROM: s [RANGE 10 MINUTES]")
        return self.after_call(self.at(node, first))

    def after_call(self, node: exp.Expr) -> exp.Expr:
        """A hook for what may follow a call."""
        return node

    def _extract_part(self) -> exp.Expr:
        token = self._curr
        if not token or token.token_type != TokenType.VAR:
            self.fail(
                f"a part of a time is missing after EXTRACT(, here is {self.found}", "write EXTRACT(HOUR FROM ts)"
            )
        self._advance()
        return self.expression(exp.Literal.string(token.text.upper()), token)

    def _extract_source(self, part: str) -> list[exp.Expr]:
        self.expect("FROM", part or "EXTRACT(", "EXTRACT(HOUR FROM ts)")
        return [self.condition()]

    def _arguments(self) -> list[exp.Expr]:
        if self._curr and self._curr.token_type == TokenType.R_PAREN:
            return []
        return self.listed(self._argument)

    def _argument(self) -> exp.Expr:
        first = self._curr
        if self._match(TokenType.STAR):
            return self.expression(exp.Star(), first)
        if self._match(TokenType.DISTINCT):
            return self.at(exp.Distinct(expressions=self.listed(self.condition)), first)
        return self.condition()

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
            self.fail(f"a sub-query is missing after EXISTS (, here is {self.found}", "write EXISTS (SELECT ...)")
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
            message = f"after IS comes NULL, TRUE, FALSE or DISTINCT FROM, here is {self.found}"
            self.fail(message, "compare values with =")
        node = self.expression(exp.Is(this=this, expression=self._parse_type()))
        return self.expression(exp.Not(this=node)) if negated else node

    def at_query(self) -> bool:
        """Whether a query begins here, behind any number of parentheses."""
        index = self._index
        while self._curr and self._curr.token_type == TokenType.L_PAREN:
            self._advance()
        found = bool(self._curr) and self._curr.token_type in (TokenType.SELECT, TokenType.WITH)
        self._retreat(index)
        return found

    def query(self) -> exp.Expr:
        """A query; the grammar of queries says how."""
        raise NotImplementedError
