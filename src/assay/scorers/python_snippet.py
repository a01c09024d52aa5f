"""`python` and `python_all_samples`: the author's `compute_scores`; and the evidence of system tasks."""

from __future__ import annotations

import ast
import asyncio
import math
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict, Unpack

from assay.core.describe import ScorerInfo, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Failure, Sample, Score, ScoreValue, Trace
from assay.part_options import PythonOption, part
from assay.snippets.payload import payload_of
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.text.wording import show_no_score


@describes(ScorerInfo(aggregates=(), runs="snippet"))
@part(
    "The author's `compute_scores`, one sample at a time.",
    example="""\
type: python
compute_scores_snippet: |
  def compute_scores(sample, solver_output):
      return {"words": len(solver_output.output.split())}
metrics: [{type: mean, field: words}]
""",
)
class PythonScorer:
    """What the author's `compute_scores(sample, solver_output)` returns; `compute_scores(sample)` for datasets."""

    def __init__(
        self,
        key: str,
        *,
        compute_scores_snippet: Annotated[
            str, PythonOption("Returns a mapping of names to values.", "compute_scores", ("sample", "solver_output"), 1)
        ],
        has_solver: bool = True,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self.name = key
        takes = 2 if has_solver else 1
        self._snippet = _snippet(
            key, "compute_scores", compute_scores_snippet, time_limit_seconds, context, takes=takes, fits=True
        )
        self._has_solver = has_solver

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        arguments: list[dict[str, Any]] = [{"value": sample.row or {}}]
        if self._has_solver:
            arguments.append({"solver_output": payload_of(trace)})
        return score_of(self.name, await self._snippet.call(*arguments, fit=True), f"sample `{sample.id}`")

    async def aclose(self) -> None:
        await self._snippet.aclose()


@describes(ScorerInfo(aggregates=(), sees_all=True, runs="snippet"))
@part(
    "The author's `compute_scores(samples)`, over the whole dataset at once.",
    example="""\
type: python_all_samples
compute_scores_snippet: |
  def compute_scores(samples):
      questions = [sample["question"] for sample in samples]
      return [{"repeated": questions.count(question) > 1} for question in questions]
metrics: [{type: mean, field: repeated}]
""",
)
class AllSamplesScorer:
    """One entry per sample from the author's `compute_scores(samples)`, which sees the whole dataset.

    It is called once, when the first sample is scored.
    """

    def __init__(
        self,
        key: str,
        *,
        compute_scores_snippet: Annotated[
            str, PythonOption("Returns a list of such mappings, one per sample.", "compute_scores", ("samples",))
        ],
        has_solver: bool = True,
        time_limit_seconds: float = 10 * TIME_LIMIT_SECONDS,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if context.dataset is None:
            raise UsageError(f"scorer `{key}`: python_all_samples needs the task's dataset")
        self.name = key
        self._snippet = _snippet(key, "compute_scores", compute_scores_snippet, time_limit_seconds, context, takes=1)
        self._dataset = context.dataset
        self._all: asyncio.Task[dict[str, Any]] | None = None

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        if self._all is None:
            self._all = asyncio.ensure_future(self._compute())
        entries = await asyncio.shield(self._all)
        entry, where = entries[sample.id], f"sample `{sample.id}`"
        if "is_not" in entry:
            raise _failure(self.name, f"{where}: compute_scores returned {entry['is_not']}")
        return score_of(self.name, entry["is"], where)

    async def _compute(self) -> dict[str, Any]:
        samples = [(sample.id, sample.row or {}) for sample in self._dataset]
        result = await self._snippet.call({"value": [row for _, row in samples]}, each=True)
        if not isinstance(result, list) or len(result) != len(samples):
            got = f"{len(result)} entries" if isinstance(result, list) else type(result).__name__
            raise _failure(self.name, f"compute_scores must return a list of {len(samples)} entries, it returned {got}")
        return {name: entry for (name, _), entry in zip(samples, result, strict=True)}

    async def aclose(self) -> None:
        if self._all is not None and not self._all.done():
            self._all.cancel()
        await self._snippet.aclose()


@describes(ScorerInfo(aggregates=(), runs="snippet"))
class SystemEvidence:
    """The metrics that a system task's `compute_evidence()` returns."""

    def __init__(
        self,
        key: str,
        *,
        compute_evidence_snippet: str,
        time_limit_seconds: float = 10 * TIME_LIMIT_SECONDS,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self.name = key
        self._snippet = _snippet(
            key, "compute_evidence", compute_evidence_snippet, time_limit_seconds, context, takes=0
        )

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        result = await self._snippet.call()
        metrics = result.get("metrics") if isinstance(result, dict) else None
        if not isinstance(metrics, dict) or not metrics:
            raise _failure(self.name, 'compute_evidence must return {"metrics": {name: {"value": number}}}')
        values: dict[str, ScoreValue] = {}
        reasons: dict[str, str] = {}
        for name, entry in metrics.items():
            value = entry.get("value") if isinstance(entry, dict) else entry
            if not isinstance(value, (int, float)) or not _is_finite(value):
                raise _failure(self.name, f"the metric `{name}` needs a number as `value`, got {show_no_score(value)}")
            values[name] = float(value) if isinstance(value, bool) else value
            if isinstance(entry, dict) and entry.get("reason"):
                reasons[name] = str(entry["reason"])
        return Score(name=self.name, values=values, metadata={"reasons": reasons} if reasons else None)

    async def aclose(self) -> None:
        await self._snippet.aclose()


def score_of(name: str, result: Any, where: str) -> Score:
    """A flat mapping of values, or {"scores": …, "metadata": …}."""
    if not isinstance(result, dict):
        raise _failure(name, f"{where}: compute_scores must return a mapping, it returned {type(result).__name__}")
    structured = isinstance(result.get("scores"), dict)
    values = result["scores"] if structured else result
    metadata = _metadata_of(name, result, where) if structured else {}
    kept: dict[str, ScoreValue] = {}
    for key, value in values.items():
        if isinstance(value, int) and not _is_finite(value):
            raise _failure(name, f"{where}: `{key}` is an integer beyond what a number can hold (about 1.8e308)")
        if isinstance(value, (str, bool, int, float)) or value is None:
            kept[key] = value
        else:
            metadata[key] = value  # lists and mappings cannot be aggregated; they are evidence
    if values and not kept:
        lists = ", ".join(f"`{key}`" for key in values)
        message = (
            f"{where}: compute_scores returned no score: {lists} holds a list or a mapping; scores are single values"
        )
        raise _failure(name, message)
    return Score(name=name, values=kept, metadata=metadata or None)


def written_scores(options: Mapping[str, Any]) -> list[str]:
    """The names of scores that the code of a scorer shows: the literal keys of the mappings that it returns."""
    try:
        tree = ast.parse(str(options.get("compute_scores_snippet") or ""))
    except (SyntaxError, ValueError, RecursionError):
        return []
    names: dict[str, None] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name == "compute_scores":
            for node in ast.walk(function):
                value = node.value if isinstance(node, ast.Return) else None
                each = value.elts if isinstance(value, ast.List) else [value]
                names |= dict.fromkeys(name for item in each for name in _literal_scores(item))
    return [*names]


def _literal_scores(value: ast.expr | None) -> list[str]:
    if isinstance(value, ast.ListComp):
        return _literal_scores(value.elt)
    if isinstance(value, ast.IfExp):
        return [*_literal_scores(value.body), *_literal_scores(value.orelse)]
    if not isinstance(value, ast.Dict):
        return []
    found = {
        key.value: item
        for key, item in zip(value.keys, value.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    inner = found.get("scores")
    return _literal_scores(inner) if isinstance(inner, ast.Dict) else [*found]


def _metadata_of(name: str, result: dict[str, Any], where: str) -> dict[str, Any]:
    """What stands beside `scores`: a score outside of them would be counted in no metric, or in place of them."""
    if others := [key for key in result if key not in ("scores", "metadata")]:
        raise _failure(
            name, f"{where}: compute_scores returned `{others[0]}` beside `scores`; put it into one of the two"
        )
    metadata = result.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        message = f"{where}: compute_scores must return a mapping as `metadata`, it returned {type(metadata).__name__}"
        raise _failure(name, message)
    return dict(metadata or {})


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


def _snippet(
    key: str, function: str, source: str, seconds: float, context: BuildContext, **called: Unpack[_Called]
) -> Snippet:
    return Snippet(
        source, function=function, stage="scorer", part=key, time_limit_seconds=seconds, context=context, **called
    )


class _Called(TypedDict, total=False):
    takes: int
    fits: bool


def _failure(part: str, message: str) -> FailureError:
    return FailureError(Failure(stage="scorer", part=part, kind="bad_output", message=message))
