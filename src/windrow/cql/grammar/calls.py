"""Calls and what may stand behind a value: arguments, FILTER, WITHIN GROUP, `::type`, fields, elements, JSON paths."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.values import ValueGrammar
from windrow.cql.grammar.words import NAME_TOKENS
from windrow.cql.syntax import CastSyntax, ElementSyntax, FieldSyntax

WINDOW_WORDS = frozenset({"RANGE", "ROWS", "PARTITION", "SINCE", "FROM", "NOW", "WINDOW", "SESSION", "SLIDE"})
_JSON = {TokenType.ARROW: "JSON_QUERY", TokenType.DARROW: "GET_JSON_OBJECT"}
# Words that stand between the arguments of a call, as the standard has it.
_BETWEEN = {
    "POSITION": ("IN",),
    "OVERLAY": ("PLACING", "FROM", "FOR"),
    "SUBSTRING": ("FROM", "FOR"),
    "SUBSTR": ("FROM", "FOR"),
}


class CallGrammar(ValueGrammar):
    """Reads calls, and goes on behind any value."""

    def condition(self) -> exp.Expr:
        """An expression; the grammar of expressions says how."""
        raise NotImplementedError

    def _atom(self, first: Token) -> exp.Expr:
        """A value without what may stand behind it."""
        raise NotImplementedError

    def _postfixed(self, node: exp.Expr, first: Token) -> exp.Expr:
        """`::type`, `[place]`, `.field`, `-> 'path'` and `->> 'path'`, as many as there are."""
        while self._curr:
            kind = self._curr.token_type
            if kind == TokenType.DCOLON:
                self._advance()
                node = self.at(CastSyntax(this=node, type=self.data_type(), safe=False), first)
            elif kind == TokenType.L_BRACKET and not self._opens_window():
                self._advance()
                node = ElementSyntax(this=node, expression=self.condition())
                if not self._match(TokenType.R_BRACKET):
                    self.fail(f"] is missing after the place of the element, here is {self.present}", "write tags[0]")
                self.at(node, first)
            elif kind == TokenType.DOT and self._next and self._next.token_type in NAME_TOKENS:
                self._advance(2)
                node = self.at(FieldSyntax(this=node, field=self._prev.text), first)
            elif kind in _JSON:
                self._advance()
                path = self._atom(self._curr) if self._curr else self.condition()
                if isinstance(path, exp.Literal):  # a place in an array is a path too
                    path = self.at(exp.Literal.string(path.this), self._prev)
                node = self.at(exp.Anonymous(this=_JSON[kind], expressions=[node, path]), first)
            else:
                break
        return node

    def _opens_window(self) -> bool:
        """Whether the bracket that comes next is that of a window."""
        return bool(self._next) and self._next.text.upper() in WINDOW_WORDS | {"]"}

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
            node = exp.Anonymous(this=first.text, expressions=self._arguments(name))
            if self._match(TokenType.ORDER_BY):
                node.set("order", self.listed(self.sort_key))
        self.close(f"the arguments of {name}")
        self._within_group(node)
        self._filter(node)
        if self.ahead("OVER"):
            self.fail("OVER (...) is not part of CQL", "windows stand after the streams in FROM: s [RANGE 10 MINUTES]")
        return self.after_call(self.at(node, first))

    def _within_group(self, node: exp.Expr) -> None:
        """The values of PERCENTILE_CONT and the like come first, whatever is written."""
        if not self.ahead("WITHIN"):
            return
        example = "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"
        self.word("WITHIN")
        if not self.word("GROUP"):
            self.fail(f"GROUP is missing after WITHIN, here is {self.present}", f"write {example}")
        self.expect("(", "WITHIN GROUP", example)
        if not self._match(TokenType.ORDER_BY):
            self.fail(f"ORDER BY is missing in WITHIN GROUP, here is {self.present}", f"write {example}")
        node.set("within", self.listed(self.sort_key))
        self.close("WITHIN GROUP")

    def _filter(self, node: exp.Expr) -> None:
        if not self.ahead("FILTER", "("):
            return
        self._advance(2)
        if not self._match(TokenType.WHERE):
            self.fail(f"WHERE is missing after FILTER (, here is {self.present}", "write COUNT(*) FILTER (WHERE x > 0)")
        node.set("filter", self.condition())
        self.close("the condition of FILTER")

    def after_call(self, node: exp.Expr) -> exp.Expr:
        """A hook for what may follow a call."""
        return node

    def sort_key(self) -> exp.Expr:
        """An expression with its direction."""
        first = self._curr
        key = exp.Ordered(this=self.condition())
        if self._match(TokenType.DESC):
            key.set("desc", True)
        else:
            self._match(TokenType.ASC)
        if self.word("NULLS", "FIRST"):
            key.set("nulls_first", True)
        elif self.word("NULLS", "LAST"):
            key.set("nulls_first", False)
        return self.at(key, first)

    def _extract_part(self) -> exp.Expr:
        token = self._curr
        if not token or token.token_type != TokenType.VAR:
            self.fail(
                f"a part of a time is missing after EXTRACT(, here is {self.present}", "write EXTRACT(HOUR FROM ts)"
            )
        self._advance()
        return self.expression(exp.Literal.string(token.text.upper()), token)

    def _extract_source(self, part: str) -> list[exp.Expr]:
        self.expect("FROM", part or "EXTRACT(", "EXTRACT(HOUR FROM ts)")
        return [self.condition()]

    def _arguments(self, name: str) -> list[exp.Expr]:
        if self._curr and self._curr.token_type in (TokenType.R_PAREN, TokenType.ORDER_BY):
            return []
        arguments = [self._operand_of_in() if name == "POSITION" else self._argument()]
        while self._match(TokenType.COMMA) or any(self.word(word) for word in _BETWEEN.get(name, ())):
            arguments.append(self._argument())
        return arguments

    def _operand_of_in(self) -> exp.Expr:
        operand = self._parse_bitwise()
        assert operand is not None, "atoms are read or refused"
        return operand

    def _argument(self) -> exp.Expr:
        first = self._curr
        if self._match(TokenType.STAR):
            return self.expression(exp.Star(), first)
        if self._match(TokenType.DISTINCT):
            return self.at(exp.Distinct(expressions=self.listed(self.condition)), first)
        return self.condition()
