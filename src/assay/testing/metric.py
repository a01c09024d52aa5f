"""What every metric must do."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from assay.core.errors import FailureError
from assay.core.seams import Metric
from assay.testing.contract import bounded_work, clauses_about, expect, given, hold_to, same, shown
from assay.testing.hostile_texts import ODD, long_texts

TARGETS: tuple[tuple[str, ...], ...] = (
    (),
    ("",),
    ("Paris",),
    ("paris", "PARIS ", "Lyon"),
    ("B", "42", ""),
    ("e\u0301 \u5b57", "the cat sat on the mat. The End!"),
)
_TOLERANCE = 1e-6


class _Metric(NamedTuple):
    function: Metric
    extras: Mapping[str, Any]
    cases: Sequence[Mapping[str, Any]]
    any_order: bool

    def inputs(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for case in self.cases:
            yield case["prediction"], tuple(case["targets"])
        for targets in TARGETS:
            for prediction in (*ODD, *targets):
                yield prediction, targets

    def of(self, prediction: str, targets: Sequence[str], extras: Mapping[str, Any] | None = None) -> float | None:
        """The score, as the runner reads it; None where the metric says that it has none."""
        extras = copy.deepcopy(dict(self.extras)) if extras is None else extras
        with given(f"prediction={shown(prediction)}", f"targets={shown(targets)}", f"extras={shown(extras)}"):
            try:
                score = self.function(prediction, targets, extras)
            except FailureError:
                return None  # and the same input must fail again
            expect(isinstance(score, Real), f"returned {shown(score)}, which is not a number")
            return float(score)


def check_metric(
    metric: Metric,
    *,
    extras: Mapping[str, Any] | None = None,
    cases: Iterable[Mapping[str, Any]] = (),
    any_order: bool = True,
) -> None:
    """`BrokenContractError` where a metric is not pure, leaves [0, 1], raises, or reads a long text again and again.

    `extras` are those it cannot do without. `cases` are mappings with `prediction`, `targets`, `score` and, where
    needed, `extras`. `any_order=False` is for a metric to which the order of targets means something.
    """
    hold_to("metric", metric, CLAUSES, _Metric(metric, extras or {}, tuple(cases), any_order))


def gives_a_number_between_0_and_1_for_any_text(metric: _Metric) -> None:
    for prediction, targets in metric.inputs():
        score = metric.of(prediction, targets)
        with given(f"prediction={shown(prediction)}", f"targets={shown(targets)}"):
            expect(score is None or 0.0 <= score <= 1.0, f"returned {score!r}")


def gives_the_scores_of_its_cases(metric: _Metric) -> None:
    for case in metric.cases:
        score = metric.of(case["prediction"], case["targets"], case.get("extras"))
        with given(f"case {shown(dict(case))}"):
            expect(score is not None and abs(score - case["score"]) <= _TOLERANCE, f"the score is {score!r}")


def gives_the_same_score_for_the_same_arguments(metric: _Metric) -> None:
    """Regardless of earlier calls, and for lists as for tuples."""
    inputs = [*metric.inputs()]
    first = [metric.of(prediction, targets) for prediction, targets in inputs]
    for (prediction, targets), before in zip(reversed(inputs), reversed(first), strict=True):
        now = metric.of(prediction, list(targets))
        with given(f"prediction={shown(prediction)}", f"targets={shown(targets)}"):
            same(before, now, "two calls gave two scores")


def leaves_its_arguments_as_they_are(metric: _Metric) -> None:
    for prediction, targets in metric.inputs():
        listed, extras = list(targets), copy.deepcopy(dict(metric.extras))
        metric.of(prediction, listed, extras)
        with given(f"prediction={shown(prediction)}", f"targets={shown(targets)}"):
            same(list(targets), listed, "the targets before and after")
            same(dict(metric.extras), extras, "the extras before and after")


def takes_the_targets_in_any_order(metric: _Metric) -> None:
    for prediction, targets in metric.inputs() if metric.any_order else ():
        forwards, backwards = metric.of(prediction, targets), metric.of(prediction, targets[::-1])
        with given(f"prediction={shown(prediction)}", f"targets={shown(targets)}"):
            same(forwards, backwards, "the scores for these targets and for the same from last to first")


def reads_a_long_text_in_bounded_time(metric: _Metric) -> None:
    for python, text in long_texts():
        with given(f"prediction={python}", f"targets={TARGETS[-1]!r}"), bounded_work():
            try:
                metric.function(text, TARGETS[-1], copy.deepcopy(dict(metric.extras)))
            except FailureError:
                pass  # refused, in bounded time


CLAUSES = clauses_about("_Metric", globals())
