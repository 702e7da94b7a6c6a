"""Windows: what stands in brackets after a stream, a sub-query or WSTREAM(...)."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.expressions import ExpressionGrammar
from windrow.cql.syntax import WindowedCall, WindowSyntax, span_of
from windrow.errors import CqlSyntaxError, close_names, did_you_mean
from windrow.plan.expressions import Literal
from windrow.plan.windows import (
    Between,
    Extent,
    Latest,
    Now,
    Range,
    RangeAgo,
    RowCount,
    Rows,
    RowsAgo,
    Since,
    Unbounded,
)
from windrow.types import BOOLEAN
from windrow.units import Duration, Timestamp, format_duration

_FORMS = ("RANGE", "ROWS", "PARTITION", "SINCE", "FROM", "NOW", "WINDOW")
_EXAMPLES = "write [RANGE 10 MINUTES], [RANGE 10 MINUTES SLIDE 30 SECONDS], [ROWS 100] or [PARTITION BY k ROWS 10]"
_UNSET = Literal(None, BOOLEAN)  # stands for a predicate that has no types yet


class WindowGrammar(ExpressionGrammar):
    def at_window(self) -> bool:
        return bool(self._curr) and self._curr.token_type == TokenType.L_BRACKET

    def window(self) -> WindowSyntax:
        """`[extent [SLIDE ...] [INTERNAL]]`; the bracket comes next."""
        first = self._curr
        self._advance()
        node = WindowSyntax(extent=None)
        node.set("extent", self._extent(node, first))
        self._slide(node)
        node.set("internal", self.word("INTERNAL"))
        if not self._match(TokenType.R_BRACKET):
            hint = "after the extent come SLIDE and INTERNAL, then the bracket closes"
            self.fail(f"] is missing at the end of the window, here is {self.present}", hint)
        self._check(node, first)
        self.at(node, first)
        return node

    def after_call(self, node: exp.Expr) -> exp.Expr:
        """WSTREAM(...)[...] inside an aggregate; nothing else takes brackets."""
        if not self.at_window() or not self._opens_window():
            return node
        if not isinstance(node, exp.Anonymous) or node.name.upper() != "WSTREAM":
            self.fail("a window cannot stand here", "windows stand after streams and sub-queries in FROM")
        if len(node.expressions) != 1:
            hint = "write SUM(WSTREAM(SUM(a))[ROWS 10])"
            raise CqlSyntaxError("WSTREAM takes one aggregate here", span_of(node), hint)
        call = WindowedCall(this=node.expressions[0], window=self.window())
        call.meta.update(node.meta, end=self._prev.end)
        return call

    def _extent(self, node: WindowSyntax, first: Token) -> Extent:
        if self.word("RANGE") or self.word("WINDOW"):
            return self._range()
        if self.word("PARTITION"):
            self.expect("BY", "PARTITION", "[PARTITION BY k ROWS 10]")
            return self._partitioned(node)
        if self.word("ROWS"):
            return self._rows()
        if self.word("SINCE"):
            return Since(Timestamp(self.timestamp("a time")))
        if self._match(TokenType.FROM):
            return self._fixed()
        if self.word("NOW"):
            return Now()
        if self._match(TokenType.R_BRACKET):
            self.fail("the window is empty", _EXAMPLES, first)
        if self.ahead("SLIDE"):
            self.fail("SLIDE needs a window in front of it", "write [RANGE 10 MINUTES SLIDE 30 SECONDS]")
        close = close_names(self._curr.text, _FORMS) if self._curr else []
        self.fail(f"{self.present} does not begin a window", did_you_mean(close) if close else _EXAMPLES)

    def _range(self) -> Extent:
        if self.word("UNBOUNDED"):
            return Unbounded()
        if self._match(TokenType.FROM):
            return self._range_ago(self._prev)
        return Range(self._length("RANGE", allow_zero=False))

    def _range_ago(self, first: Token) -> Extent:
        example = "[RANGE FROM 20 MINUTES TO 5 MINUTES AGO]"
        begin = self._length("FROM", allow_zero=False)
        self.expect("TO", "the beginning of the range", example)
        end = self._length("TO", allow_zero=True)
        self.expect("AGO", "the end of the range", example)
        if end == begin:
            raise CqlSyntaxError("the range is empty", self._since(first), f"write a longer one first: {example}")
        if end > begin:
            hint = f"write FROM {format_duration(end)} TO {format_duration(begin)} AGO"
            raise CqlSyntaxError("the range ends before it begins", self._since(first), hint)
        return RangeAgo(begin, end)

    def _length(self, after: str, allow_zero: bool) -> Duration:
        first = self._curr
        length = self.duration(after)
        if length < 0:
            raise CqlSyntaxError(
                "an interval of a window is not negative", self._since(first), "write it without the sign"
            )
        if length == 0 and not allow_zero:
            raise CqlSyntaxError(
                "a window is longer than zero", self._since(first), "write [NOW] for this instant alone"
            )
        return length

    def _rows(self) -> Extent:
        if self._match(TokenType.FROM):
            return self._rows_ago(self._prev)
        return Rows(self._count("ROWS"))

    def _rows_ago(self, first: Token) -> Extent:
        example = "[ROWS FROM 1000 TO 100 AGO]"
        begin = self.whole_number("the number of rows after FROM")
        self.expect("TO", "the beginning of the rows", example)
        end = self.whole_number("the number of rows after TO")
        self.expect("AGO", "the end of the rows", example)
        if end >= begin:
            hint = f"the first number is the larger one: {example}"
            raise CqlSyntaxError("the rows end before they begin", self._since(first), hint)
        return RowsAgo(begin, end)

    def _count(self, after: str) -> int:
        token = self._curr
        if token and token.token_type == TokenType.DASH:
            self.fail("a number of rows is not negative", "write it without the sign")
        count = self.whole_number(f"the number of rows after {after}")
        if count == 0:
            message = "a window of no rows has no answer" if after == "ROWS" else "a SLIDE of no rows never moves"
            self.fail(message, "write at least 1", token)
        if self._at_unit() and after == "ROWS":
            self.fail("ROWS takes a number of rows", f"for time write RANGE {count} {self._curr.text.upper()}")
        return count

    def _partitioned(self, node: WindowSyntax) -> Extent:
        node.set("partition", self.listed(lambda: self._column(self._curr)))
        if self.word("ROWS"):
            return Rows(self._count("ROWS"))
        if self._match(TokenType.WHERE):
            node.set("predicate", self.condition())
            return Latest((), _UNSET)
        self.fail(
            f"ROWS or WHERE is missing after PARTITION BY, here is {self.present}",
            "write [PARTITION BY k ROWS 10], or [PARTITION BY k WHERE condition]",
        )

    def _fixed(self) -> Extent:
        begin = self.timestamp("the beginning of the window")
        self.expect("TO", "the beginning of the window", "[FROM '2026-01-01' TO '2026-02-01']")
        end = self.timestamp("the end of the window")
        if end <= begin:
            self.fail("the window ends before it begins", "write the earlier time first", self._prev)
        return Between(Timestamp(begin), Timestamp(end))

    def _slide(self, node: WindowSyntax) -> None:
        if not self.word("SLIDE"):
            return
        if self._at_number() and self._next and self._next.text.upper() in ("ROWS", "ROW"):
            node.set("slide", RowCount(self._count("SLIDE")))
            self._advance()
            return
        counts_rows = isinstance(node.args["extent"], Rows)
        if counts_rows and self._at_number() and self._next and self._next.token_type != TokenType.VAR:
            node.set("slide", RowCount(self._count("SLIDE")))  # [ROWS 1000 SLIDE 100]
            return
        first = self._curr
        slide = self.duration("SLIDE")
        if slide <= 0:
            raise CqlSyntaxError(
                "SLIDE is longer than zero", self._since(first), "leave SLIDE out to refresh on every row"
            )
        node.set("slide", slide)

    def _check(self, node: WindowSyntax, first: Token) -> None:
        extent, slide = node.args["extent"], node.args.get("slide")
        if slide is not None and isinstance(extent, Now | Between | Latest):
            hint = "SLIDE goes with RANGE, ROWS, SINCE and RANGE UNBOUNDED"
            raise CqlSyntaxError("this window takes no SLIDE", self._since(first), hint)
        if isinstance(slide, RowCount) and not isinstance(extent, Rows | Range):
            hint = "SLIDE n ROWS goes with RANGE t and ROWS n"
            raise CqlSyntaxError("this window does not slide by rows", self._since(first), hint)
