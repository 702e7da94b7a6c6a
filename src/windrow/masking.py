"""Secrets are not shown: passwords, tokens and keys in options of connectors, and in addresses.

Whatever people may read goes through here: errors, log messages, and how connectors are printed. What is stored, so
that a source can be read again, keeps its values.
"""

from __future__ import annotations

import logging
import re

_WORDS = "password|passwd|passphrase|pwd|secret|token|credential|signature|(?:access|api|account|private)_?key"
_NAME = rf"(?:{_WORDS})[\w.-]*"  # and whatever is before it
_SECRETS = re.compile(
    rf"""(?ix)
    (?: {_NAME} \s* => \s* ' (?P<option> (?:[^']|'')* ) '     # an option of a connector
    | {_NAME} = (?P<setting> [^\s'"&,;)]+ )                    # in an address, or in what a database is reached by
    | {_NAME} ["'] \s* : \s* ["'] (?P<json> [^"']* )
    | [a-z][a-z0-9+.-]* :// [^\s/@:'"]* : (?P<login> [^\s/@'"]+ ) @ )
    """
)


def is_secret(option: str) -> bool:
    """Whether the value of an option is not to be shown."""
    return re.search(_NAME, option, re.IGNORECASE) is not None


def masked(text: str) -> str:
    """With stars for the letters of secrets, so that everything stays at its place."""
    return _SECRETS.sub(_covered, text)


def _covered(found: re.Match[str]) -> str:
    whole, start = found.group(), found.start()
    begin, end = next(found.span(name) for name in found.re.groupindex if found.group(name) is not None)
    return whole[: begin - start] + "*" * (end - begin) + whole[end - start :]


class _Masks(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = masked(record.getMessage()), ()
        return True


logging.getLogger("windrow").addFilter(_Masks())
