"""A scorer out of a metric: post-process the prediction, compare it with the targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from assay import catalog
from assay.core.errors import FailureError
from assay.core.seams import BuildContext, Metric
from assay.core.types import Failure, Sample, Score, Trace
from assay.metrics.post_process import nothing_extracted


class FromMetric:
    """Scores `score` in [0, 1]; anything else a metric returns is a failure at stage `metric`."""

    only_computes = True
    """Asks nobody and keeps nothing: any process may do its work."""

    def __init__(self, name: str, metric: Metric, rule: str, options: dict[str, Any]) -> None:
        self.name = name
        self._metric = metric
        self._rule = rule
        self._post_process: Callable[[str], str] | None = (
            None if rule == "none" else catalog.resolve("post_process", rule)
        )
        self._options = options

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        prediction = trace.prediction
        answer, extracted = None, True
        if self._post_process is not None:
            answer = self._post_process(prediction)
            extracted = not nothing_extracted(prediction, self._rule, answer)
        extras = {**self._options, **sample.extras} if self._options else sample.extras
        try:
            told: object = self._metric(prediction if answer is None else answer, sample.targets, extras)
            value = math.nan if isinstance(told, str | bytes) else float(told)  # type: ignore[arg-type]
        except FailureError:
            raise
        except TimeoutError as error:
            raise FailureError(Failure(stage="metric", part=self.name, kind="timeout", message=str(error))) from error
        except Exception as error:
            message = f"{type(error).__name__}: {error}"[:2000]
            raise FailureError(Failure(stage="metric", part=self.name, kind="exception", message=message)) from error
        if not 0.0 <= value <= 1.0 or math.isnan(value):
            said = repr(told if isinstance(told, str | bytes) else value)[:200]
            message = f"the metric returned {said}, which is not in [0, 1]"
            raise FailureError(Failure(stage="metric", part=self.name, kind="bad_output", message=message))
        return Score(name=self.name, values={"score": value}, answer=answer, extracted=extracted)


def from_metric(
    key: str, *, metric: str, post_process: str = "none", context: BuildContext | None = None, **options: Any
) -> FromMetric:
    """The catalog's `metric` scorer: `metric` and `post_process` by name, other options go to the metric as extras."""
    own_code = context is not None and context.own_code
    return FromMetric(key, catalog.resolve("metric", metric, own_code=own_code), post_process, options)


def contains(key: str, *, post_process: str = "none", context: object = None) -> FromMetric:
    """The assertion `contains` as a scorer: a target occurs in the prediction, case ignored."""
    return from_metric(key, metric="contains", post_process=post_process)


def label_in_set(
    key: str, *, allowed: Sequence[str] | None = None, post_process: str = "none", context: object = None
) -> FromMetric:
    """The assertion `label_in_set` as a scorer: the prediction is one of `allowed`, here or in the sample's extras."""
    options: dict[str, Any] = {} if allowed is None else {"allowed": list(allowed)}
    return from_metric(key, metric="label_in_set", post_process=post_process, **options)


def forbidden_patterns(
    key: str, *, patterns: Sequence[str] | None = None, post_process: str = "none", context: object = None
) -> FromMetric:
    """The forbidden-pattern scan as a scorer: 1.0 when none of `patterns`, here or in the sample's extras, is found."""
    options: dict[str, Any] = {} if patterns is None else {"patterns": list(patterns)}
    return from_metric(key, metric="forbidden_patterns", post_process=post_process, **options)
