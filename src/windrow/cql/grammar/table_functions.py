"""Windows as other engines spell them: TUMBLE and HOP over a stream become the window in brackets that they mean."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.grammar.windows import WindowGrammar
from windrow.cql.syntax import Relation, WindowSyntax
from windrow.plan.windows import Range
from windrow.units import Duration

_EXAMPLES = {
    "TUMBLE": "TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' MINUTES))",
    "HOP": "TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))",
}
_OTHERS = {
    "CUMULATE": "write [SINCE time], or [RANGE t SLIDE s] for a window of one length",
    "SESSION": "write [RANGE t]: what is in view is what came in the last t",
}


class TableFunctionGrammar(WindowGrammar):
    def table_function(self) -> Relation | None:
        """`TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), size))`, with or without the words TABLE and DESCRIPTOR."""
        index, first = self._index, self._curr
        wrapped = self.word("TABLE") and bool(self._match(TokenType.L_PAREN))
        word = self._curr
        opens = self._next and self._next.token_type == TokenType.L_PAREN
        if not word or not opens or word.text.upper() not in (*_EXAMPLES, *_OTHERS):
            self._retreat(index)
            return None
        name = word.text.upper()
        if name in _OTHERS:
            self.fail(f"there is no {name} here", _OTHERS[name])
        self._advance(2)
        relation = self._windowed(name, first)
        self.close(f"the arguments of {name}")
        if wrapped:
            self.close(f"TABLE({name}(...)")
        return relation

    def _windowed(self, function: str, first: Token) -> Relation:
        """The slide comes before the length, as where it is spelled so."""
        self.word("TABLE")
        relation = Relation(this=self.name("a stream"))
        self.expect(",", "the stream", _EXAMPLES[function])
        described = self.word("DESCRIPTOR") and bool(self._match(TokenType.L_PAREN))
        time = self.name("a column")
        if described:
            self.close("the column")
        lengths = [self._interval(function) for _ in range(2 if function == "HOP" else 1)]
        if self._curr and self._curr.token_type == TokenType.COMMA:
            self.fail("a window has no offset", "windows end at multiples of their SLIDE, from 1970 on")
        window = WindowSyntax(extent=Range(lengths[-1]), slide=lengths[0], time=time)
        relation.set("window", self.at(window, first))
        return relation

    def _interval(self, function: str) -> Duration:
        self.expect(",", "the column", _EXAMPLES[function])
        first = self._curr
        length = self.duration(function)
        if length <= 0:
            self.fail("an interval of a window is longer than zero", f"write {_EXAMPLES[function]}", first)
        return length
