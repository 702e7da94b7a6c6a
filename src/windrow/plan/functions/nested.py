"""Structs, arrays and maps: access to what is in them, and functions of them as wholes."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.errors import nearest
from windrow.plan.expressions import ColumnReference, Expression, Literal
from windrow.plan.functions.signature import (
    Function,
    SignatureError,
    TypingRule,
    array_of,
    function,
    gives,
    require,
    shared,
)
from windrow.types import (
    BIGINT,
    BOOLEAN,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    StructType,
    Type,
    array,
    common_type,
    is_integer,
    map_of,
    struct,
)


def _field(arguments: Sequence[Expression]) -> Type:
    """Of an array of structs the array of the fields."""
    source, name = arguments[0].type, str(arguments[1].value) if isinstance(arguments[1], Literal) else ""
    if isinstance(source, ArrayType) and not isinstance(source, MapType) and isinstance(source.element, StructType):
        return array(_field_of(source.element, name))
    return _field_of(source, name)


def _field_of(source: Type, name: str) -> Type:
    if not isinstance(source, StructType):
        hint = "fields are those of STRUCT columns, and of arrays of them"
        raise SignatureError(f"{source} has no field {name}", hint)
    found = next((of for known, of in source.fields if known == name), None)
    if found is None:
        known = [known for known, _ in source.fields]
        raise SignatureError(f"{source} has no field {name}", nearest(name, known, "fields"))
    return found


def _element(arguments: Sequence[Type]) -> Type:
    source, place = arguments
    if isinstance(source, MapType):
        require(common_type(place, source.key) == source.key, f"the keys are {source.key}, this is {place}")
        return source.value
    hint = "elements are those of ARRAY and MAP columns"
    require(isinstance(source, ArrayType), f"{source} has no elements", hint)
    require(is_integer(place) or place == NULL, f"the place of an element is a whole number, this is {place}")
    assert isinstance(source, ArrayType), source
    return source.element


def _made(arguments: Sequence[Type]) -> Type:
    return array(shared(arguments) if arguments else NULL)


def _same_array(arguments: Sequence[Type]) -> Type:
    return array_of(arguments[0])


def _with_element(arguments: Sequence[Type], place: int = 1) -> Type:
    """The array, where what stands beside it is an element."""
    given = array_of(arguments[0])
    fits = common_type(given.element, arguments[place]) == given.element
    require(fits, f"the elements are {given.element}, this is {arguments[place]}")
    return given


def _with_place(arguments: Sequence[Type]) -> Type:
    require(is_integer(arguments[1]), f"the place of an element is a whole number, this is {arguments[1]}")
    return _with_element(arguments, 2)


def _found(result: Type) -> TypingRule:
    def rule(arguments: Sequence[Type]) -> Type:
        _with_element(arguments)
        return result

    return rule


def _two_arrays(arguments: Sequence[Type]) -> Type:
    return array(shared([array_of(given).element for given in arguments]))


def _whether(arguments: Sequence[Type]) -> Type:
    _two_arrays(arguments)
    return BOOLEAN


def _zipped(arguments: Sequence[Type]) -> Type:
    return array(struct(*((str(place), array_of(given).element) for place, given in enumerate(arguments))))


def _one_element(arguments: Sequence[Type]) -> Type:
    return array_of(arguments[0]).element


def _joined(arguments: Sequence[Type]) -> Type:
    require(array_of(arguments[0]).element in (STRING, NULL), f"{arguments[0]} is no array of texts")
    return gives(STRING, STRING)(arguments[1:])


def _repeated(arguments: Sequence[Type]) -> Type:
    require(is_integer(arguments[1]), "the count should be a whole number")
    return array(arguments[0])


def _sorted(arguments: Sequence[Type]) -> Type:
    require(len(arguments) < 2 or arguments[1] == BOOLEAN, "the second argument should be TRUE or FALSE")
    return array_of(arguments[0])


def _sliced(arguments: Sequence[Type]) -> Type:
    require(all(map(is_integer, arguments[1:])), "start and length should be whole numbers")
    return array_of(arguments[0])


def _flattened(arguments: Sequence[Type]) -> Type:
    return array_of(array_of(arguments[0]).element)


def _sequence(arguments: Sequence[Type]) -> Type:
    """Of whole numbers, or of times in steps of an interval."""
    if arguments[0] == TIMESTAMP:
        require(tuple(arguments) == (TIMESTAMP, TIMESTAMP, INTERVAL), "times go in steps of an INTERVAL")
        return array(TIMESTAMP)
    require(all(map(is_integer, arguments)), "a sequence is of whole numbers, or of times")
    return array(shared(arguments))


def _counted(arguments: Sequence[Type]) -> Type:
    require(isinstance(arguments[0], ArrayType), f"{arguments[0]} has no elements")
    return INT


def _map(arguments: Sequence[Type]) -> Type:
    require(len(arguments) % 2 == 0, "keys and values come in pairs")
    return map_of(shared(arguments[::2]), shared(arguments[1::2]))


def _as_map(given: Type) -> MapType:
    require(isinstance(given, MapType), f"{given} is no map")
    assert isinstance(given, MapType), given
    return given


def _has_key(arguments: Sequence[Type]) -> Type:
    _element(arguments)
    return BOOLEAN


def _merged(arguments: Sequence[Type]) -> Type:
    maps = [_as_map(given) for given in arguments]
    return map_of(shared([one.key for one in maps]), shared([one.value for one in maps]))


def _from_entries(arguments: Sequence[Type]) -> Type:
    entry = array_of(arguments[0]).element
    require(isinstance(entry, StructType) and len(entry.fields) == 2, f"{arguments[0]} is no array of pairs")
    assert isinstance(entry, StructType), entry
    return map_of(entry.fields[0][1], entry.fields[1][1])


def _struct(arguments: Sequence[Expression]) -> Type:
    """Fields are called by their columns, else by their places."""
    names = [
        argument.name.rpartition(".")[2] if isinstance(argument, ColumnReference) else f"col{place}"
        for place, argument in enumerate(arguments, 1)
    ]
    return struct(*((name, argument.type) for name, argument in zip(names, arguments, strict=True)))


def _named_struct(arguments: Sequence[Expression]) -> Type:
    fields = []
    require(len(arguments) % 2 == 0, "names and values come in pairs")
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        if not isinstance(name, Literal) or not isinstance(name.value, str):
            raise SignatureError("the name of a field should be a text written out")
        fields.append((name.value, value.type))
    return struct(*fields)


NESTED: tuple[Function, ...] = (
    Function("FIELD", "struct.field", 2, 2, _element, _field),
    Function("ELEMENT", "array[0] or map[key]", 2, 2, _element),
    Function("STRUCT", "STRUCT(a, b, ...)", 1, None, _element, _struct),
    Function("NAMED_STRUCT", "NAMED_STRUCT(name, value, ...)", 2, None, _element, _named_struct),
    function("ARRAY(a, b, ...)", 1, None, _made),
    function("ARRAY_APPEND(array, x)", 2, 2, _with_element),
    function("ARRAY_PREPEND(array, x)", 2, 2, _with_element),
    function("ARRAY_COMPACT(array)", 1, 1, _same_array),
    function("ARRAY_CONTAINS(array, x)", 2, 2, _found(BOOLEAN)),
    function("ARRAY_DISTINCT(array)", 1, 1, _same_array),
    function("ARRAY_EXCEPT(one, other)", 2, 2, _two_arrays),
    function("ARRAY_INTERSECT(one, other)", 2, 2, _two_arrays),
    function("ARRAY_UNION(one, other)", 2, 2, _two_arrays),
    function("ARRAYS_OVERLAP(one, other)", 2, 2, _whether),
    function("ARRAYS_ZIP(one, other, ...)", 1, None, _zipped),
    function("ARRAY_INSERT(array, place, x)", 3, 3, _with_place),
    function("ARRAY_JOIN(array, delimiter [, instead of nulls])", 2, 3, _joined),
    function("ARRAY_MAX(array)", 1, 1, _one_element),
    function("ARRAY_MIN(array)", 1, 1, _one_element),
    function("ARRAY_POSITION(array, x)", 2, 2, _found(BIGINT)),
    function("ARRAY_REMOVE(array, x)", 2, 2, _with_element),
    function("ARRAY_REPEAT(x, count)", 2, 2, _repeated),
    function("ARRAY_SORT(array)", 1, 1, _same_array),
    function("SORT_ARRAY(array [, ascending])", 1, 2, _sorted),
    function("SLICE(array, start, length)", 3, 3, _sliced),
    function("FLATTEN(array)", 1, 1, _flattened),
    function("SEQUENCE(start, stop [, step])", 2, 3, _sequence),
    function("CARDINALITY(array or map)", 1, 1, _counted),
    function("ELEMENT_AT(array or map, place or key)", 2, 2, _element),
    function("MAP(key, value, ...)", 2, None, _map),
    function("MAP_KEYS(map)", 1, 1, lambda given: array(_as_map(given[0]).key)),
    function("MAP_VALUES(map)", 1, 1, lambda given: array(_as_map(given[0]).value)),
    function("MAP_ENTRIES(map)", 1, 1, lambda given: array(_as_map(given[0]).element)),
    function("MAP_CONTAINS_KEY(map, key)", 2, 2, _has_key),
    function("MAP_FROM_ARRAYS(keys, values)", 2, 2, lambda given: map_of(*(array_of(one).element for one in given))),
    function("MAP_FROM_ENTRIES(entries)", 1, 1, _from_entries),
    function("MAP_CONCAT(one, other, ...)", 1, None, _merged),
    function(
        "STR_TO_MAP(text [, between pairs [, between key and value]])", 1, 3, gives(map_of(STRING, STRING), STRING)
    ),
)
