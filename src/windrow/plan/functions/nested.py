"""Access to what is in structs, arrays and maps."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.errors import nearest
from windrow.plan.expressions import Expression, Literal
from windrow.plan.functions.signature import Function, SignatureError, require
from windrow.types import NULL, ArrayType, MapType, StructType, Type, array, common_type, is_integer


def _field(arguments: Sequence[Expression]) -> Type:
    """Of an array of structs the array of the fields."""
    source, name = arguments[0].type, arguments[1]
    assert isinstance(name, Literal) and isinstance(name.value, str), name
    if isinstance(source, ArrayType) and isinstance(source.element, StructType) and not isinstance(source, MapType):
        return array(_field_of(source.element, name.value))
    hint = "fields are those of STRUCT columns, and of arrays of them"
    require(isinstance(source, StructType), f"{source} has no field {name.value}", hint)
    assert isinstance(source, StructType), source
    return _field_of(source, name.value)


def _field_of(source: StructType, name: str) -> Type:
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


NESTED: tuple[Function, ...] = (
    Function("FIELD", "struct.field", 2, 2, _element, _field),
    Function("ELEMENT", "array[0] or map[key]", 2, 2, _element),
)
