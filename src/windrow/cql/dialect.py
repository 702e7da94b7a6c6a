"""CQL as a dialect of sqlglot: its words and its grammar.

Only words that the grammar needs are keywords; every other word is free to be a name.
"""

from __future__ import annotations

import re

from sqlglot import exp, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from windrow.cql.grammar.statements import StatementGrammar
from windrow.errors import CqlError, CqlSyntaxError, Span

_WORDS = """ALL AND AS ASC BETWEEN CASE CREATE CROSS DELETE DESC DISTINCT DROP ELSE END EXCEPT EXISTS FALSE FROM FULL
    HAVING IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR OUTER RIGHT SELECT SET
    THEN TRUE UNION UPDATE USING VALUES WHEN WHERE WITH""".split()
_TOKENS = {"AS": TokenType.ALIAS}


class Cql(Dialect):
    class Tokenizer(tokens.Tokenizer):
        QUOTES = ["'"]
        IDENTIFIERS = ['"', "`"]
        COMMENTS = ["--", ("/*", "*/")]
        COMMANDS = set()
        KEYWORDS = {
            **{word: _TOKENS.get(word) or TokenType[word] for word in _WORDS},
            "GROUP BY": TokenType.GROUP_BY,
            "ORDER BY": TokenType.ORDER_BY,
            "::": TokenType.DCOLON,
            "->": TokenType.ARROW,
            "->>": TokenType.DARROW,
            "ILIKE": TokenType.ILIKE,
            "RLIKE": TokenType.RLIKE,
            "SIMILAR TO": TokenType.SIMILAR_TO,
            "==": TokenType.EQ,
            "<=>": TokenType.NULLSAFE_EQ,
            "||": TokenType.DPIPE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
            "<=": TokenType.LTE,
            ">=": TokenType.GTE,
            "=>": TokenType.FARROW,
        }

    Parser = StatementGrammar


_DIALECT = Cql()


def read(text: str) -> list[exp.Expr]:
    """The syntax trees of the statements in a text; every refusal is a CqlError that knows its place."""
    try:
        trees = _DIALECT.parser().parse(_DIALECT.tokenize(text), text)
    except CqlError as error:
        raise error.locate(text) from None
    except RecursionError:
        raise CqlSyntaxError("this is nested too deeply", Span(0, 0), "split it with WITH").locate(text) from None
    except SqlglotError:
        raise _unreadable(text) from None
    return [tree for tree in trees if tree is not None]


_CLOSED = re.compile(
    r"""[^'"`/-]+ | '(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | --[^\n]* | /\*.*?\*/ | /(?!\*) | -(?!-)""",
    re.S | re.X,
)


def _unreadable(text: str) -> CqlError:
    """What the tokenizer refuses: an open quote or comment, which it reports at the end of the text."""
    start = 0
    while closed := _CLOSED.match(text, start):
        start = closed.end()
    sign = text[start : start + 1]
    if sign == "/":
        message, hint = "a comment is opened here and not closed", "close it with */"
    else:
        message, hint = (
            "a quote is opened here and not closed",
            f"close it with {sign}; a {sign} inside is written {sign}{sign}",
        )
    return CqlSyntaxError(message, Span(start, len(text)), hint).locate(text)
