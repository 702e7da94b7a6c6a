"""Values: numbers, texts, intervals, times and types, as they are written."""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot.tokenizer_core import TokenType

from windrow.cql.grammar.words import NAME_TOKENS, WordGrammar
from windrow.errors import CqlSyntaxError, all_names, close_names, did_you_mean, nearest
from windrow.types import SIMPLE_TYPES, Type, array, decimal, map_of, struct
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
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,18}")


class ValueGrammar(WordGrammar):
    def number(self) -> str:
        """The digits of a number, which comes next."""
        text = str(self._curr.text)
        if not _NUMBER.fullmatch(text):
            self.fail(f"{self.present} is not a number", "write it as 10, 0.5 or 1e9")
        self._advance()
        return text

    def whole_number(self, what: str) -> int:
        token = self._curr
        if not token or token.token_type != TokenType.NUMBER:
            self.fail(f"{what} is missing, here is {self.present}", "write a whole number, such as 10")
        if not _WHOLE.fullmatch(token.text):
            self.fail(f"{self.present} is not {what}", "write a whole number of up to 18 digits, such as 10")
        return int(self.number())

    def string(self, what: str) -> str:
        token = self._curr
        if not token or token.token_type != TokenType.STRING:
            self.fail(f"{what} is missing, here is {self.present}", "write it in single quotes")
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
            self.fail(f"an interval is missing after {after}, here is {self.present}", "write it as 10 MINUTES")
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
        if self.word("MAP", "<"):
            key = self.data_type()
            self.expect(",", "the type of the keys", "MAP<STRING, DOUBLE>")
            value = self.data_type()
            self.expect(">", "the type of the values", "MAP<STRING, DOUBLE>")
            return map_of(key, value)
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
            self.fail(f"a type is missing, here is {self.present}", "write it after the name, such as price DOUBLE")
        if self._curr.text.upper() in ("ARRAY", "STRUCT"):
            word = self._curr.text.upper()
            hint = "write ARRAY<DOUBLE>" if word == "ARRAY" else "write STRUCT<item: STRING, count: BIGINT>"
            self.fail(f"{word} needs to know what is in it", hint)
        close = close_names(self._curr.text, [*TYPE_SPELLINGS, "DECIMAL"])
        hint = did_you_mean(close) if close else all_names([*SIMPLE_TYPES, "DECIMAL"], "types")
        self.fail(f"{self.present} is not a type", hint)

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
