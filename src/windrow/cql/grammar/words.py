"""Words: what every part of the grammar reads with. Failing with a place, names, numbers, intervals, times, types.

sqlglot's parser gives the tokens and the nodes; everything that is read here is read, or is an error with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from sqlglot import exp, parser
from sqlglot.tokenizer_core import Token, TokenType

from windrow.errors import CqlSyntaxError, Span, all_names, close_names, did_you_mean, nearest
from windrow.plan.printer import RESERVED
from windrow.types import SIMPLE_TYPES, Type, array, decimal, struct
from windrow.units import (
    CALENDAR_UNITS,
    UNITS,
    Duration,
    DurationError,
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
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,18}")
NAME_TOKENS = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


class WordGrammar(parser.Parser):
    """What every part of the grammar uses."""

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
        except DurationError as error:
            hint = error.hint or "write 10 MINUTES or '1 hour 30 minutes'"
            raise CqlSyntaxError(error.message, self._since(first), hint) from None

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
        if self.word("ARRAY", "<"):
            element = self.data_type()
            self.expect(">", "the type of the elements", "ARRAY<DOUBLE>")
            return array(element)
        if self.word("STRUCT", "<"):
            fields = self.listed(self._field)
            self.expect(">", "the fields", "STRUCT<item: STRING, count: BIGINT>")
            return struct(*fields)
        if known is None:
            self._unknown_type()
        self._advance()
        if self._match(TokenType.L_PAREN):  # VARCHAR(20): the length is not checked
            self.whole_number("a length")
            self.close("the length")
        return known

    def _field(self) -> tuple[str, Type]:
        """A name and a type; before a colon even reserved words are plain names."""
        if self._curr and self._next and self._next.token_type == TokenType.COLON:
            name = self._curr.text
            self._advance(2)
        else:
            name = self.name("a field").name
        return name, self.data_type()

    def _unknown_type(self) -> NoReturn:
        if not self._curr or self._curr.token_type not in NAME_TOKENS:
            self.fail(f"a type is missing, here is {self.found}", "write it after the name, such as price DOUBLE")
        if self._curr.text.upper() in ("ARRAY", "STRUCT"):
            word = self._curr.text.upper()
            hint = "write ARRAY<DOUBLE>" if word == "ARRAY" else "write STRUCT<item: STRING, count: BIGINT>"
            self.fail(f"{word} needs to know what is in it", hint)
        close = close_names(self._curr.text, [*TYPE_SPELLINGS, "DECIMAL"])
        hint = did_you_mean(close) if close else all_names([*SIMPLE_TYPES, "DECIMAL"], "types")
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

    def expression(self, instance: Tree, token: Token | None = None, comments: list[str] | None = None) -> Tree:
        """Marks every node that sqlglot builds with its place."""
        node = super().expression(instance, token, comments)
        if token is None and self._prev:
            starts = [child.meta["start"] for child in node.iter_expressions() if child._meta and "start" in child.meta]
            node.meta.setdefault("start", min(starts, default=self._prev.start))
            node.meta.setdefault("end", self._prev.end)
        return node
