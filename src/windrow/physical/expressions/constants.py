"""Constants as columns of length one."""

from __future__ import annotations

import numpy as np

from windrow.batch.column import Column, nulls
from windrow.batch.dictionary import Dictionary
from windrow.batch.wide import wide_of
from windrow.physical.expressions.vectors import decimals, vector
from windrow.plan.expressions import Literal
from windrow.types import DecimalType


def constant(literal: Literal, dictionary: Dictionary) -> Column:
    value, of = literal.value, literal.type
    if value is None:
        return nulls(of, 1, dictionary)
    if isinstance(value, str | bytes):
        code = dictionary.encode_one(value)
        return Column(of, np.array([code], np.int32), None, dictionary)
    if isinstance(of, DecimalType):
        return decimals(wide_of([int(value * 10**of.scale)]), None, of)  # exact: the literal has this scale
    return vector(of, np.array([value]), None)
