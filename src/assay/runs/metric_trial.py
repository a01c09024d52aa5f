"""Tries the Python metrics of a run on made-up scores before a model is called, and refuses what cannot work.

The scores are not known yet, so only errors that do not depend on them are refused: code that cannot be loaded, breaks
before it has looked at any score, uses a name or a module that is not there, reads a value that its scorer never gives,
or returns no mapping. A metric that breaks on the scores that there are fails the finished run (`python_metrics.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.describe import Whole
from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import PartSpec, TaskDefinition
from assay.overriding import override
from assay.results.measure import is_own_object
from assay.run_config import RunConfig
from assay.runs.python_metrics import own_summaries
from assay.snippets.process import Snippet
from assay.stats.metric_snippet import read_result
from assay.stats.score_table import ScoreTable
from assay.tasks.descriptions import with_aggregates_described
from assay.text.wording import hint

_MARKS, _NUMBERS, _LABELS = (True, False), (1.0, 0.5, 0.0), ("a", "b")


class MetricError(UsageError):
    """A metric that cannot work; code that knows the file can add its location."""

    def __init__(self, task: str, part: PartSpec, problem: str) -> None:
        super().__init__(f"task `{task}`: metric `{part.key}`: {problem}")
        scorer = str(part.options.get("scorer", ""))
        self.problem = problem
        self.field = f"scorers.{scorer}.metrics.{part.key.removeprefix(f'{scorer}.')}.compute_metrics_snippet"


async def try_metrics(definitions: Sequence[TaskDefinition], config: RunConfig) -> None:
    """`UsageError` when a Python metric of these tasks breaks whatever the scores will be; they may run their code."""
    for definition in definitions:
        scorers = {part.key: part for part in definition.scorers}
        for part in with_aggregates_described(definition).aggregates:
            if is_own_object(part):
                problem = _try_own(part, config.level)
            elif isinstance(part.about, Whole) and part.about.runs == "snippet":
                scorer = scorers[part.options["scorer"]]
                problem = await _try_snippet(part, scorer, definition, config)
            else:
                continue  # made-up scores say nothing about another program's own aggregations
            if problem is not None:
                raise MetricError(definition.name, part, problem)


async def _try_snippet(part: PartSpec, scorer: PartSpec, definition: TaskDefinition, config: RunConfig) -> str | None:
    """Why the snippet cannot work; None when it may."""
    from assay.formats.declarative.schema.scorers import values_given  # only YAML has snippets

    snippet = Snippet(
        part.options["compute_metrics_snippet"],
        function="compute_metrics",
        stage="metric",
        part=part.key,
        context=BuildContext(own_code=True, timeout_seconds=config.timeout_seconds, modules=definition.modules),
    )
    known, count = values_given(scorer.use, scorer.options), config.attempts_of(definition)
    try:
        answer = await snippet.try_out({"values": _made_up(known, scorer), "count": count, "known": known is not None})
    except FailureError as error:
        return error.failure.message
    finally:
        await snippet.aclose()
    return _problem(answer, known or ())


def _made_up(known: Sequence[str] | None, scorer: PartSpec) -> list[dict[str, Any]]:
    """The values of a few scores, as different as they can be."""
    labels = scorer.options.get("valid_labels") or _LABELS
    kinds = {"is_correct": _MARKS, "label": labels}
    columns = {name: kinds.get(name, _NUMBERS) for name in known or ("score",)}
    rows = max(map(len, columns.values()))
    return [{name: values[row % len(values)] for name, values in columns.items()} for row in range(rows)]


def _problem(answer: Mapping[str, Any], known: Sequence[str]) -> str | None:
    trial = answer.get("trial")
    if trial is None:  # it was killed, or took too long: with fewer or other scores it might not
        return None
    if name := trial["not_given"]:
        return f"{answer['message']}: it reads the value `{name}`, which its scorer never gives. {hint(name, known)}"
    if "result" not in answer:
        return str(answer["message"]) if trial["regardless"] else None
    wrong = read_result(answer["result"]).get("error")
    no_mapping = not isinstance(answer["result"], dict | None)
    return wrong if trial["regardless"] or no_mapping else None


def _try_own(part: PartSpec, level: float) -> str | None:
    """The same for a custom aggregate, which is given an empty table: it fails before it has read it."""
    table = _Watched()
    with warnings.catch_warnings(action="ignore"):  # such as numpy's of a mean of nothing
        problem: str | None = own_summaries(part, table, level).get("error")
    return None if object.__getattribute__(table, "looked") else problem


class _Watched(ScoreTable):
    """A table that knows whether it has been read."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = False

    @override
    def __getattribute__(self, name: str) -> Any:
        self.looked = True
        return super().__getattribute__(name)

    @override
    def __len__(self) -> int:
        self.looked = True
        return super().__len__()
