"""Statements about what is there: DROP, SHOW, EXPLAIN, SET, RESUME."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from windrow.cql.grammar.changes import ChangeGrammar
from windrow.cql.grammar.words import NAME_TOKENS
from windrow.cql.syntax import DropSyntax, ExplainSyntax, ResumeSyntax, SetSyntax, ShowCreate, ShowSyntax
from windrow.errors import nearest

KINDS = ("STREAM", "TABLE", "WINDOW", "VIEW", "QUERY")
PLURALS = ("STREAMS", "TABLES", "WINDOWS", "VIEWS", "QUERIES", "FUNCTIONS", "SETTINGS", "SHARING")
FORMS = ("TREE", "JSON", "PICTURE")


class CommandGrammar(ChangeGrammar):
    def _drop(self) -> exp.Expr:
        kind = next((kind for kind in KINDS if self.word(kind)), None)
        if kind is None and self.word("MATERIALIZED", "VIEW"):
            kind = "QUERY"
        if kind is None:
            hint = f"write DROP with one of {', '.join(KINDS)} and a name"
            self.fail(f"{self.present} cannot be dropped" if self._curr else "DROP stands alone", hint)
        exists = self.word("IF", "EXISTS")
        return DropSyntax(this=self.name(f"the {kind.lower()}"), kind=kind, if_exists=exists)

    def _resume(self) -> exp.Expr:
        self.expect("QUERY", "RESUME", "RESUME QUERY name")
        return ResumeSyntax(this=self.name("the query"))

    def _show(self) -> exp.Expr:
        if self._match(TokenType.CREATE):
            kind = next((kind for kind in KINDS if self.word(kind)), None)
            return ShowCreate(this=self.name(f"a {kind.lower()}" if kind else "what is shown"), kind=kind)
        word = self._curr.text.upper() if self._curr else ""
        if word not in PLURALS:
            message = f"{self.present} cannot be shown" if self._curr else "SHOW stands alone"
            self.fail(message, nearest(word, PLURALS, "things to show"))
        self._advance()
        return ShowSyntax(this=word)

    def _explain(self) -> exp.Expr:
        form = next((form for form in FORMS if self.word(form)), None)
        if self.at_query():
            return ExplainSyntax(this=self.query(), format=form)
        if not self._curr or self._curr.token_type not in NAME_TOKENS:
            hint = "write EXPLAIN SELECT ..., or EXPLAIN and the name of a query"
            self.fail(f"a query is missing after EXPLAIN, here is {self.present}", hint)
        if self._next and form is None:
            self.fail(f"{self.present} is not a form of EXPLAIN", nearest(self._curr.text, FORMS, "forms"))
        return ExplainSyntax(this=self.name("a query"), format=form)

    def _set(self) -> exp.Expr:
        first = self._curr
        if not first or first.token_type not in NAME_TOKENS:
            self.fail(f"the name of a setting is missing, here is {self.present}", "SHOW SETTINGS lists them")
        self._advance()
        name = self.expression(exp.Identifier(this=first.text, quoted=False), first)  # EXPLAIN is one, though reserved
        if not self._match(TokenType.EQ):
            self.expect("TO", "the name of the setting", f"SET {first.text} = value")
        token = self._curr
        if not token or token.token_type in (TokenType.L_PAREN, TokenType.COMMA):
            self.fail(f"the value of the setting is missing, here is {self.present}", "write SET name = value")
        self._advance()
        return SetSyntax(this=name, value=token.text)
