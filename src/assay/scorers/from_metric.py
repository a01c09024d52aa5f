"""A scorer out of a metric: post-process the prediction, compare it with the targets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from assay import catalog
from assay.core.attempt import failure_of
from assay.core.describe import ScorerInfo, about, describes, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Metric, Scorer
from assay.core.types import Failure, Sample, Score, Trace
from assay.metrics.evidence import evidence_of
from assay.metrics.post_process import nothing_extracted
from assay.own_functions import is_here
from assay.part_options import Doc, InFiles, Pattern, Problem, part
from assay.scorers.over_row import ONE_TARGET, EmptyGold, LookedAt, PostProcess, Target, Targets, over_row
from assay.text.wording import hint


class FromMetric:
    """Scores `score` in [0, 1]; anything else a metric returns is a failure at stage `metric`."""

    only_computes = True

    def __init__(
        self,
        name: str,
        metric: Metric,
        rule: str,
        options: dict[str, Any],
        *,
        built_in: bool = False,
    ) -> None:
        self.name = name
        self._metric = metric
        self._rule = rule
        self._post_process: Callable[[str], str] | None = (
            None if rule == "none" else catalog.resolve("post_process", rule)
        )
        self._options = options
        self._built_in = built_in

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        prediction = trace.prediction
        answer, extracted = None, True
        if self._post_process is not None:
            answer = self._post_process(prediction)
            extracted = not nothing_extracted(prediction, self._rule, answer)
        extras = {**self._options, **sample.extras} if self._options else sample.extras
        if not self._built_in:
            extras = _copied(extras)  # what a metric of the user's does to them must not reach other attempts
        try:
            returned = self._metric(prediction if answer is None else answer, sample.targets, extras)
        except FailureError:
            raise
        except TimeoutError as error:
            raise FailureError(Failure(stage="metric", part=self.name, kind="timeout", message=str(error))) from error
        except Exception as error:
            raise FailureError(failure_of(error, "metric", self.name)) from error
        value = _number(returned)
        if value is None or not 0.0 <= value <= 1.0:
            message = f"the metric returned {repr(returned if value is None else value)[:200]}, which is not in [0, 1]"
            raise FailureError(Failure(stage="metric", part=self.name, kind="bad_output", message=message))
        found = evidence_of(self._metric, prediction if answer is None else answer, sample.targets, extras, value)
        return Score(
            name=self.name,
            values={"score": value},
            answer=answer,
            extracted=extracted,
            metadata={"evidence": found} if found else None,
        )


def _copied(value: Any) -> Any:
    """A copy down to the last list: of the data of task files in a tenth of the time of `deepcopy`."""
    kind = type(value)
    if kind is dict:
        return {key: each if type(each) in _SCALARS else _copied(each) for key, each in value.items()}
    if kind is list:
        return [item if type(item) in _SCALARS else _copied(item) for item in value]
    return deepcopy(value)


_SCALARS = frozenset((str, int, float, bool, type(None)))


def _number(returned: object) -> float | None:
    """What a metric returned, numpy's numbers included; None when it is not a number."""
    if type(returned) is float:
        return returned
    try:
        return None if isinstance(returned, str | bytes) else float(returned)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _known_metric(options: Mapping[str, Any]) -> list[Problem]:
    name = str(options["metric"])
    if catalog.OWN_NAME.fullmatch(name) or is_here(name) or catalog.is_name("metric", name):
        return []
    return [(("metric",), f"unknown metric `{name}`. {hint(name, sorted(catalog.names('metric')), 'Known here')}")]


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    """A metric's number is a share, unless it says more of it; one that is a scorer too is described there."""
    name = str(options.get("metric"))
    ours = name in catalog.CATALOG["scorer"]
    # the caller has checked that the author's own code may run
    made = catalog.resolve("scorer" if ours else "metric", name, own_code=True)
    said, silent = about(made, options), ScorerInfo()
    if not ours and not _makes_scorers(made):
        silent = ScorerInfo(values=(share("score"),))
    info = said if isinstance(said, ScorerInfo) else silent
    return info if info.aggregates is not None else replace(info, aggregates=(mean_of("score", name=_word(name)),))


def _word(name: str) -> str:
    """What files call a metric of one's own: the last part of its name."""
    return name.rpartition(":")[2].partition("@")[0]


@describes(lambda options, _: _described(options))
@part(
    "A metric by its name: built in, from an installed package, or your own.",
    example='metric: my_metrics:starts_politely, ground_truth: "{{ sample.answer }}"',
    one_of=ONE_TARGET,
    check=_known_metric,
)
def from_metric(
    key: str,
    *,
    metric: Annotated[str, Meta(min_length=1), Doc("A metric's name, or `package.module:function`.")],
    ground_truth: Target = None,
    ground_truths: Targets = None,
    value: LookedAt = None,
    empty_gold: EmptyGold = "refused",
    post_process: PostProcess = "none",
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
    **options: Annotated[Any, Doc("What the metric finds in its extras.")],
) -> Scorer:
    """The catalog's `metric` scorer: `metric` and `post_process` by name, other options go to the metric as extras.

    For samples that are rows, `ground_truth` or `ground_truths` is the template of the targets, `value` that of the
    text compared. A custom scorer factory, that is a class or a function with a parameter `key`, is not a
    metric: the scorer it makes is used instead of this one.
    """
    found = catalog.resolve("metric", metric, own_code=context.own_code)
    if not _makes_scorers(found):
        built_in = metric in catalog.CATALOG["metric"]
        if not built_in:
            check_metric(metric, found)
        scorer = FromMetric(key, found, post_process, options, built_in=built_in)
        templates = {"target": ground_truth, "targets": ground_truths}
        return over_row(scorer, templates, context=context, value=value, has_solver=has_solver, empty_gold=empty_gold)
    given = options if post_process == "none" else {**options, "post_process": post_process}
    offered = {"key": key, "context": context}
    make: Any = found
    made: Scorer = make(**catalog.arguments_for("scorer", metric, found, given, offered))
    return made


def _makes_scorers(made: Any) -> bool:
    return isinstance(made, type) or (inspect.isfunction(made) and "key" in inspect.signature(made).parameters)


def check_metric(name: str, function: Metric) -> None:
    """Refuse a function that cannot be called as a metric, before any model call."""
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"the metric `{name}` is `async`; a metric computes, and a scorer may wait")
    try:
        inspect.signature(function).bind("", (), {})
    except ValueError:
        return  # built-in functions without a signature
    except TypeError as error:
        raise UsageError(f"the metric `{name}` must take (prediction, targets, extras): {error}") from error


@describes(ScorerInfo(values=(share("score"),), aggregates=(mean_of("score", name="contains"),)))
def contains(key: str, *, post_process: str = "none", context: BuildContext = NO_CONTEXT) -> Scorer:
    """The assertion `contains` as a scorer: a target occurs in the prediction, case ignored."""
    return from_metric(key, metric="contains", post_process=post_process)


@describes(ScorerInfo(values=(share("score"),), aggregates=(mean_of("score", name="label_in_set"),)))
@part("Whether the answer is one of the allowed labels.", example="allowed: [good, fair, poor]")
def label_in_set(
    key: str,
    *,
    allowed: Annotated[Sequence[str] | None, Meta(min_length=1), Doc("The labels."), InFiles()] = None,
    value: LookedAt = None,
    empty_gold: EmptyGold = "refused",
    post_process: PostProcess = "none",
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """The assertion `label_in_set` as a scorer: the prediction is one of `allowed`, here or in the sample's extras."""
    options: dict[str, Any] = {} if allowed is None else {"allowed": list(allowed)}
    return from_metric(key, metric="label_in_set", post_process=post_process, value=value, context=context, **options)


@describes(
    ScorerInfo(
        values=(share("score"),), aggregates=(mean_of("score", name="forbidden_patterns"),), empty_may_score=True
    )
)
@part("Whether none of the patterns is found in the answer.", example="patterns: ['(?i)as an ai', 'I cannot']")
def forbidden_patterns(
    key: str,
    *,
    patterns: Annotated[
        Sequence[Annotated[str, Pattern()]] | None, Meta(min_length=1), Doc("Regular expressions."), InFiles()
    ] = None,
    value: LookedAt = None,
    empty_gold: EmptyGold = "refused",
    post_process: PostProcess = "none",
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """The forbidden-pattern scan as a scorer: 1.0 when none of `patterns`, here or in the sample's extras, is found."""
    options: dict[str, Any] = {} if patterns is None else {"patterns": list(patterns)}
    return from_metric(
        key, metric="forbidden_patterns", post_process=post_process, value=value, context=context, **options
    )
