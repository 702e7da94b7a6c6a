"""How the files of a source are written: their format, and what its options say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from windrow.catalog import Connector
from windrow.errors import WindrowError
from windrow.plan.expressions import Value


@dataclass(frozen=True)
class FileFormat:
    """`files` is a pattern of names below the folder; without one they end with the format's name, also as `.gz`."""

    name: str
    files: str | None = None
    delimiter: str = ","  # of CSV, as are the three after it
    header: bool = True
    quote: str = '"'
    null: str = ""
    array: bool = False  # of JSON: a file is one array of rows

    @property
    def is_lines(self) -> bool:
        """Whether a file is a text of lines that can be read on when it grows."""
        return self.name != "parquet" and not self.array

    @property
    def has_names(self) -> bool:
        """Whether the first line of a file says what the columns are called."""
        return self.name == "csv" and self.header

    def takes(self, name: str) -> bool:
        """Whether a file is one of the source's; the folders above it are part of its name."""
        if self.files is not None:
            return fnmatchcase(name, self.files) or fnmatchcase(name.rpartition("/")[2], self.files)
        return name.lower().endswith((f".{self.name}", f".{self.name}.gz"))


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_sign(value: Value) -> bool:
    return isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\r\n"


def _is_truth(value: Value) -> bool:
    return isinstance(value, bool)


# What an option may be, and how to say so.
_OPTIONS: dict[str, tuple[Callable[[Value], bool], str]] = {
    "files": (_is_text, "a pattern of names such as 'part-*.csv'"),
    "delimiter": (_is_sign, "one sign such as ';'"),
    "header": (_is_truth, "TRUE or FALSE"),
    "quote": (_is_sign, "one sign such as ''''"),
    "null": (_is_text, "the text that stands for no value, such as 'NA'"),
    "array": (_is_truth, "TRUE or FALSE"),
}


def file_format(connector: Connector) -> FileFormat:
    """What a connector says of its files; an option that makes no sense is refused."""
    for name, value in connector.options:
        accepts, wanted = _OPTIONS.get(name, (None, ""))
        if accepts is not None and not accepts(value):
            raise WindrowError(f"{name} cannot be {value!r}", f"write {name} => and {wanted}")
    return FileFormat(connector.name, **{name: value for name, value in connector.options if name in _OPTIONS})  # type: ignore[arg-type]
