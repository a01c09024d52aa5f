"""A function of an answer and its row, as a scorer: `lambda answer, row: row["k"] in answer`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from assay.core.describe import ScorerInfo, describes, mean_of, share
from assay.core.errors import UsageError
from assay.core.seams import Scorer
from assay.core.types import Sample, Score, Trace
from assay.own_functions import choose, name_of
from assay.scorers.from_metric import FromMetric
from assay.text.wording import in_python

OfRow = Callable[[str, Mapping[str, Any]], float]
_OF_METRIC, _OF_ROW = 3, 2


class RowFunction:
    """Scores what the function returns: true or false, or a number in [0, 1]; anything else is a failure."""

    only_computes = True

    def __init__(self, key: str, function: OfRow) -> None:
        self.name = key

        def metric(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
            return function(prediction, extras)

        self._scorer = FromMetric(key, metric, "none", {})

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        return await self._scorer(replace(sample, extras=sample.row or {}), trace)


def scorer_name(scorer: str | Callable[..., Any]) -> str:
    """The name by which a task has a scorer that may be a function of (answer, row), or a metric."""
    if isinstance(scorer, str):
        return scorer
    if not inspect.isfunction(scorer):
        raise UsageError(f"{in_python(scorer)} is no scorer: give a name, or a function of (answer, row)")
    takes = len(inspect.signature(scorer).parameters)
    if takes not in (_OF_METRIC, _OF_ROW):
        raise UsageError(f"{in_python(scorer)} takes {takes} values; a scorer takes (answer, row)")
    name = name_of(scorer) if takes == _OF_METRIC else name_of(_factory(scorer), made_of=scorer)
    choose(name)
    return name


def _factory(function: OfRow) -> Callable[..., Scorer]:
    called = function.__name__.strip("<>")

    @describes(ScorerInfo(values=(share("score"),), aggregates=(mean_of("score", name=called),)))
    def make(key: str) -> Scorer:
        return RowFunction(key, function)

    make.__name__ = called
    return make
