"""From aggregate calls to the synopses that keep them."""

from __future__ import annotations

from collections.abc import Callable

from windrow.aggregates.user.user_functions import UserFunctions
from windrow.batch.dictionary import Dictionary
from windrow.operators.synopses.maintain_join import JoinSynopsisColumn
from windrow.operators.synopses.maintain_synopsis import SynopsisColumn
from windrow.physical.aggregates import KERNELS
from windrow.plan import running_nodes
from windrow.plan.expressions import AggregateCall
from windrow.plan.synopsis_kinds import JoinSynopsisKind, SynopsisKind
from windrow.synopses import (
    BasicInterval,
    Interval,
    IntervalStates,
    JoinSynopsisForm,
    NestedLandmarks,
    PairSynopsis,
    Running,
    RunningStates,
    Synopsis,
    TwoStacks,
    WordAggregate,
)

_OF_WORDS: dict[SynopsisKind, Callable[[WordAggregate], Synopsis]] = {
    SynopsisKind.RUNNING: Running,
    SynopsisKind.INTERVAL: Interval,
    SynopsisKind.BASIC_INTERVAL: BasicInterval,
    SynopsisKind.LANDMARKS: NestedLandmarks,
    SynopsisKind.TWO_STACKS: TwoStacks,
}


_OF_PAIRS = {
    JoinSynopsisKind.BASIC: JoinSynopsisForm.BASIC,
    JoinSynopsisKind.INTERVAL: JoinSynopsisForm.INTERVAL,
    JoinSynopsisKind.RUNNING: JoinSynopsisForm.RUNNING,
}


def synopsis_column(
    call: AggregateCall, arguments: tuple[int, ...], kind: str, indexed: bool, dictionary: Dictionary
) -> SynopsisColumn:
    """An aggregate in a synopsis of a kind; `arguments` are the ordinals of its columns."""
    kernels = None if call.user is not None else KERNELS[call.function]
    index = kernels.index if indexed and kernels is not None else None
    if kernels is not None and kernels.sketch is not None:
        sketch = kernels.sketch
        return SynopsisColumn(arguments, sketch=lambda: sketch(call), index=index)
    return SynopsisColumn(arguments, synopsis=lambda: _synopsis_for(call, SynopsisKind(kind), dictionary), index=index)


def _synopsis_for(call: AggregateCall, kind: SynopsisKind, dictionary: Dictionary) -> Synopsis:
    """What keeps an aggregate by the positions of its elements."""
    if call.user is not None:
        user = call.user
        functions = UserFunctions(
            user.name, user.functions, user.vectorized, user.result, dictionary, user.failures.report
        )
        return RunningStates(functions) if kind is SynopsisKind.RUNNING else IntervalStates(functions)
    ranked = KERNELS[call.function].ranked
    return _OF_WORDS[kind](_words(call, dictionary)) if ranked is None else ranked(call)


def join_column(
    call: AggregateCall, arguments: tuple[int, ...], kind: str, plan: running_nodes.JoinSynopsis, dictionary: Dictionary
) -> JoinSynopsisColumn:
    """An aggregate over pairs in a join synopsis of a kind."""
    shape = _join_form(kind), plan.slice, plan.slices, plan.difference
    return JoinSynopsisColumn(arguments, lambda: PairSynopsis(_words(call, dictionary), *shape))


def _join_form(kind: str) -> JoinSynopsisForm:
    return _OF_PAIRS[JoinSynopsisKind(kind)]


def _words(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    words = KERNELS[call.function].words
    assert words is not None, call
    return words(call, dictionary)
