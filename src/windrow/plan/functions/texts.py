"""Functions of texts: patterns, parts, padding, encodings, JSON, URLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.plan.functions.signature import Function, array_of, function, gives, require
from windrow.types import BIGINT, BINARY, BOOLEAN, DOUBLE, INT, NULL, STRING, Type, array, is_nested, is_numeric


def _joined(arguments: Sequence[Type]) -> Type:
    for given in arguments:
        texts = given in (STRING, NULL) or (is_nested(given) and array_of(given).element in (STRING, NULL))
        require(texts, f"{given} is neither a text nor an array of texts")
    return STRING


def _chosen(arguments: Sequence[Type]) -> Type:
    require(arguments[0] in (INT, NULL), f"argument 1 is {arguments[0]}, it should be INT")
    return gives(STRING, STRING)(arguments[1:])


def _printed(arguments: Sequence[Type]) -> Type:
    return gives(STRING, STRING)(arguments[:1])


def _formatted_number(arguments: Sequence[Type]) -> Type:
    require(is_numeric(arguments[0]), f"argument 1 is {arguments[0]}, it should be a number")
    require(arguments[1] in (INT, NULL), f"argument 2 is {arguments[1]}, it should be INT")
    return STRING


def _text_or_bytes(result: Type) -> Callable[[Sequence[Type]], Type]:
    def rule(arguments: Sequence[Type]) -> Type:
        require(arguments[0] in (STRING, BINARY, NULL), f"argument 1 is {arguments[0]}, it should be STRING or BINARY")
        return result

    return rule


def _reversed(arguments: Sequence[Type]) -> Type:
    return STRING if arguments[0] in (STRING, NULL) else array_of(arguments[0])


def _written(arguments: Sequence[Type]) -> Type:
    return STRING


TEXTS: tuple[Function, ...] = (
    function("ILIKE(text, pattern)", 2, 2, gives(BOOLEAN, STRING)),
    function("SIMILAR_TO(text, pattern)", 2, 2, gives(BOOLEAN, STRING)),
    function("REGEXP_REPLACE(text, pattern, replacement [, from])", 3, 4, gives(STRING, STRING, STRING, STRING, INT)),
    function("REGEXP_EXTRACT(text, pattern [, group])", 2, 3, gives(STRING, STRING, STRING, INT)),
    function("REGEXP_EXTRACT_ALL(text, pattern [, group])", 2, 3, gives(array(STRING), STRING, STRING, INT)),
    function("REGEXP_COUNT(text, pattern)", 2, 2, gives(INT, STRING)),
    function("REGEXP_INSTR(text, pattern)", 2, 2, gives(INT, STRING)),
    function("REGEXP_SUBSTR(text, pattern)", 2, 2, gives(STRING, STRING)),
    function("SPLIT(text, pattern [, limit])", 2, 3, gives(array(STRING), STRING, STRING, INT)),
    function("STRING_SPLIT(text, delimiter)", 2, 2, gives(array(STRING), STRING)),
    function("CONCAT_WS(separator, text, ...)", 1, None, _joined),
    function("SUBSTRING_INDEX(text, delimiter, count)", 3, 3, gives(STRING, STRING, STRING, INT)),
    function("LOCATE(search, text [, from])", 2, 3, gives(INT, STRING, STRING, INT)),
    function("LPAD(text, length [, pad])", 2, 3, gives(STRING, STRING, INT, STRING)),
    function("RPAD(text, length [, pad])", 2, 3, gives(STRING, STRING, INT, STRING)),
    function("REPEAT(text, count)", 2, 2, gives(STRING, STRING, INT)),
    function("REVERSE(text or array)", 1, 1, _reversed),
    function("TRANSLATE(text, from, to)", 3, 3, gives(STRING, STRING)),
    function("OVERLAY(text, replacement, from [, length])", 3, 4, gives(STRING, STRING, STRING, INT)),
    function("INITCAP(text)", 1, 1, gives(STRING, STRING)),
    function("BTRIM(text [, characters])", 1, 2, gives(STRING, STRING)),
    function("ASCII(text)", 1, 1, gives(INT, STRING)),
    function("CHR(code)", 1, 1, gives(STRING, BIGINT)),
    function("ELT(n, text, ...)", 2, None, _chosen),
    function("FIND_IN_SET(text, list)", 2, 2, gives(INT, STRING)),
    function("FORMAT_STRING(format, value, ...)", 1, None, _printed),
    function("FORMAT_NUMBER(number, digits)", 2, 2, _formatted_number),
    function("LEVENSHTEIN(one, other [, most])", 2, 3, gives(INT, STRING, STRING, INT)),
    function("SOUNDEX(text)", 1, 1, gives(STRING, STRING)),
    function("LUHN_CHECK(digits)", 1, 1, gives(BOOLEAN, STRING)),
    function("MASK(text [, upper [, lower [, digit [, other]]]])", 1, 5, gives(STRING, STRING)),
    function("QUOTE(text)", 1, 1, gives(STRING, STRING)),
    function("OCTET_LENGTH(x)", 1, 1, _text_or_bytes(INT)),
    function("BASE64(x)", 1, 1, _text_or_bytes(STRING)),
    function("UNBASE64(text)", 1, 1, gives(BINARY, STRING)),
    function("ENCODE(text, charset)", 2, 2, gives(BINARY, STRING)),
    function("DECODE(bytes, charset)", 2, 2, gives(STRING, BINARY, STRING)),
    function("URL_ENCODE(text)", 1, 1, gives(STRING, STRING)),
    function("URL_DECODE(text)", 1, 1, gives(STRING, STRING)),
    function("PARSE_URL(url, part [, key])", 2, 3, gives(STRING, STRING)),
    function("JARO_WINKLER_SIMILARITY(one, other)", 2, 2, gives(DOUBLE, STRING)),
    function("GET_JSON_OBJECT(json, path)", 2, 2, gives(STRING, STRING)),
    function("JSON_QUERY(json, path)", 2, 2, gives(STRING, STRING)),
    function("JSON_ARRAY_LENGTH(json)", 1, 1, gives(INT, STRING)),
    function("JSON_OBJECT_KEYS(json)", 1, 1, gives(array(STRING), STRING)),
    function("TO_JSON(value)", 1, 1, _written),
)
