"""Words: what every part of the grammar reads with. Failing with a place, words and names.

sqlglot's parser gives the tokens and the nodes; everything that is read here is read, or is an error with its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from sqlglot import exp, parser
from sqlglot.tokenizer_core import Token, TokenType

from windrow.errors import CqlSyntaxError, Span
from windrow.plan.printer import RESERVED

Item = TypeVar("Item")
Tree = TypeVar("Tree", bound=exp.Expr)

_STRAY = {
    ":": "a cast is written x::type or CAST(x AS type)",
    "INTO": "only a query with a name writes to a sink: CREATE QUERY name AS SELECT ... INTO ...",
    "REFRESH": "only a query with a name is refreshed: CREATE QUERY name AS SELECT ... REFRESH ...",
    "ESCAPE": "LIKE has no ESCAPE; use CONTAINS, STARTS_WITH or REGEXP_LIKE",
}
NAME_TOKENS = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


class WordGrammar(parser.Parser):
    """What every part of the grammar uses."""

    def fail(self, message: str, hint: str | None = None, token: Token | None = None) -> NoReturn:
        """Refuse the text at a token, at the present one when none is given."""
        raise CqlSyntaxError(message, self.span(token or self._curr), hint)

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """sqlglot's own refusals, where an operator lacks an operand."""
        unexpected = message.startswith("Invalid expression")
        text = f"{self.present} cannot stand here" if unexpected else f"this cannot be read: {message}"
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
    def present(self) -> str:
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
            self.fail(f"{what} is missing after {after}, here is {self.present}", f"write {example}")

    def close(self, after: str) -> None:
        """Read the parenthesis that ends what one before has begun."""
        if not self._match(TokenType.R_PAREN):
            self.fail(f") is missing after {after}, here is {self.present}", "close the parenthesis opened before it")

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
            self.fail(f"the name of {what} is missing, here is {self.present}", hint)
        quoted = token.token_type == TokenType.IDENTIFIER
        if not quoted and token.text.upper() in RESERVED:
            word = token.text.upper()
            self.fail(f"{word} cannot be the name of {what}", f'it is a reserved word; write "{token.text}"')
        if not token.text or "." in token.text:
            self.fail(f"{token.text!r} cannot be the name of {what}", "a name is not empty and has no dot in it")
        self._advance()
        return self.expression(exp.Identifier(this=token.text, quoted=quoted), token)

    def _since(self, first: Token) -> Span:
        """From a token up to the last one read, or the token alone when it was not read."""
        return Span(first.start, max(first.end, self._prev.end if self._prev else 0) + 1)

    def expression(self, instance: Tree, token: Token | None = None, comments: list[str] | None = None) -> Tree:
        """Marks every node that sqlglot builds with its place."""
        node = super().expression(instance, token, comments)
        if token is None and self._prev:
            starts = [child.meta["start"] for child in node.iter_expressions() if child._meta and "start" in child.meta]
            node.meta.setdefault("start", min(starts, default=self._prev.start))
            node.meta.setdefault("end", self._prev.end)
        return node
