"""Compiling expressions: once for a plan, into functions from batches to columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow.compute as pc

from windrow.batch.batch import Batch
from windrow.batch.column import Column, nulls
from windrow.batch.dictionary import Dictionary
from windrow.operators.operator import CompiledExpression, Predicate
from windrow.physical.expressions import arithmetic, comparison, logic, moments, nested, text
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.constants import constant
from windrow.physical.expressions.functions import arrays, json_values, numbers, patterns, texts, times
from windrow.physical.expressions.functions.user import of_user
from windrow.physical.expressions.vectors import spread
from windrow.plan.expressions import Call, Case, Cast, ColumnReference, Expression, Literal

Evaluate = Callable[[Batch], Column]


class ExpressionCompiler:
    """Compiles expressions over the columns of one edge; strings are codes of one dictionary."""

    def __init__(self, ordinals: Mapping[str, int], dictionary: Dictionary) -> None:
        self._ordinals = ordinals
        self._dictionary = dictionary

    def column(self, expression: Expression) -> CompiledExpression:
        """A function that gives a column of the batch's length."""
        if isinstance(expression, ColumnReference):
            return self._reference(expression)
        evaluate, of, dictionary = self._compile(expression), expression.type, self._dictionary

        def computed(batch: Batch) -> Column:
            return spread(evaluate(batch), len(batch)) if len(batch) else nulls(of, 0, dictionary)

        return computed

    def predicate(self, expression: Expression) -> Predicate:
        """A function that gives True where the condition is true."""
        evaluate = self._compile(expression)

        def holds(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            if not len(batch):
                return np.zeros(0, np.bool_)
            return np.ascontiguousarray(np.broadcast_to(logic.is_true(evaluate(batch)), len(batch)))

        return holds

    def _compile(self, expression: Expression) -> Evaluate:
        if isinstance(expression, ColumnReference):
            return self._reference(expression)
        if isinstance(expression, Literal):
            value = constant(expression, self._dictionary)
            return lambda batch: value
        if isinstance(expression, Cast):
            return self._cast(expression)
        if isinstance(expression, Case):
            return self._case(expression)
        return self._call(expression)

    def _reference(self, reference: ColumnReference) -> Evaluate:
        ordinal = self._ordinals[reference.name]
        return lambda batch: batch.columns[ordinal]

    def _cast(self, expression: Cast) -> Evaluate:
        source, of, dictionary = self._compile(expression.argument), expression.type, self._dictionary
        return lambda batch: cast(source(batch), of, dictionary)

    def _case(self, expression: Case) -> Evaluate:
        conditions = [self._compile(when) for when, _ in expression.branches]
        results = [self._compile(then) for _, then in expression.branches]
        otherwise, of, dictionary = self._compile(expression.otherwise), expression.type, self._dictionary

        def evaluate(batch: Batch) -> Column:
            met, values = [when(batch) for when in conditions], [then(batch) for then in results]
            return logic.case(met, values, otherwise(batch), of, dictionary)

        return evaluate

    def _call(self, expression: Call) -> Evaluate:
        arguments = [self._compile(argument) for argument in expression.arguments]
        of, dictionary, kernel = expression.type, self._dictionary, kernel_of(expression)
        return lambda batch: kernel([argument(batch) for argument in arguments], of, dictionary)


def kernel_of(expression: Call) -> Kernel:
    """The kernel of a function; the part of a time is known when compiling."""
    name = expression.function
    if expression.user is not None:
        return of_user(expression.user)
    if name in ("EXTRACT", "DATE_TRUNC"):
        unit = expression.arguments[0]
        assert isinstance(unit, Literal) and isinstance(unit.value, str), unit
        compute = moments.extract if name == "EXTRACT" else moments.truncate
        part = unit.value
        return lambda arguments, of, dictionary: compute(arguments, of, dictionary, part)
    return KERNELS[name]


KERNELS: dict[str, Kernel] = {
    **{operator: arithmetic.arithmetic(operator) for operator in "+-*/%"},
    "NEGATE": arithmetic.negate,
    "=": comparison.equality(np.equal),
    "<>": comparison.equality(np.not_equal),
    "<": comparison.comparison(np.less),
    "<=": comparison.comparison(np.less_equal),
    ">": comparison.comparison(np.greater),
    ">=": comparison.comparison(np.greater_equal),
    "IS DISTINCT FROM": comparison.is_distinct_from,
    "IN": comparison.is_in,
    "GREATEST": comparison.extreme(smallest=False),
    "LEAST": comparison.extreme(smallest=True),
    "AND": logic.conjunction,
    "OR": logic.disjunction,
    "NOT": logic.negation,
    "IS NULL": logic.is_null,
    "COALESCE": logic.coalesce,
    "NULLIF": logic.null_if,
    "IF": logic.if_else,
    "ABS": arithmetic.absolute,
    "SIGN": arithmetic.of_floats(np.sign),
    "CEIL": arithmetic.rounding(np.ceil),
    "FLOOR": arithmetic.rounding(np.floor),
    "ROUND": arithmetic.round_to_digits,
    "SQRT": arithmetic.of_floats(np.sqrt),
    "EXP": arithmetic.of_floats(np.exp),
    "LN": arithmetic.logarithm(np.log),
    "LOG": arithmetic.logarithm_to_base,
    "LOG10": arithmetic.logarithm(np.log10),
    "POWER": arithmetic.of_floats(arithmetic.power),
    "LIKE": text.of_text(text.like),
    "||": text.concatenated,
    "CONCAT": text.concatenated,
    "UPPER": text.of_text(text.upper),
    "LOWER": text.of_text(text.lower),
    "LENGTH": text.of_text(lambda texts: pc.utf8_length(texts)),
    "TRIM": text.of_text(lambda texts: pc.utf8_trim(texts, " ")),
    "LTRIM": text.of_text(lambda texts: pc.utf8_ltrim(texts, " ")),
    "RTRIM": text.of_text(lambda texts: pc.utf8_rtrim(texts, " ")),
    "SUBSTRING": text.of_text(text.substring),
    "LEFT": text.of_text(text.left),
    "RIGHT": text.of_text(text.right),
    "REPLACE": text.of_text(text.replaced),
    "POSITION": text.of_text(text.position),
    "STARTS_WITH": text.of_text(text.starts_with),
    "ENDS_WITH": text.of_text(text.ends_with),
    "CONTAINS": text.of_text(text.contains),
    "SPLIT_PART": text.of_text(text.split_part),
    "REGEXP_LIKE": text.of_text(text.regexp_like),
    **{name: moments.field(name) for name in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
    "FIELD": text.of_text(nested.field),
    "ELEMENT": text.of_text(nested.element),
    "STRUCT": nested.struct_of(every=1),
    "NAMED_STRUCT": nested.struct_of(every=2),
    **numbers.KERNELS,
    **texts.KERNELS,
    **patterns.KERNELS,
    **json_values.KERNELS,
    **times.KERNELS,
    **arrays.KERNELS,
    "DAYOFWEEK": moments.day_of_week,
    "TO_DATE": moments.to_date,
    "UNIX_MICROS": moments.as_microseconds,
    "TIMESTAMP_MICROS": moments.as_microseconds,
}
