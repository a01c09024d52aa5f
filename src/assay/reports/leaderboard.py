"""The leaderboard: `leaderboard.v1`, one row per task, made of the journal and of nothing else."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from assay import catalog
from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.journal import read_records
from assay.core.run_file import RunFile, read_run_file, write_whole
from assay.core.task import REFUSED_HERE
from assay.core.types import PartSpec, Record, Summary, TaskDefinition
from assay.reports.journal_table import TaskTable, read_tables
from assay.reports.python_metrics import Kept, found_for, read_python_metrics

SCHEMA = "leaderboard.v1"


class Interval(Struct, frozen=True, kw_only=True):
    """Where the number may well lie, at this level."""

    low: float
    high: float
    level: float


class Bounds(Struct, frozen=True, kw_only=True):
    """What the score would be had every failed attempt been wrong, and had every one been right."""

    low: float
    high: float


class Latency(Struct, frozen=True, kw_only=True):
    """Milliseconds an attempt took, scoring included."""

    mean: float
    p50: float
    p95: float


class PerExample(Struct, frozen=True, kw_only=True):
    """One attempt, for reading and for comparing predictions between runs."""

    id: str
    attempt: int
    score: float | None
    prediction: str | None
    targets: tuple[str, ...]
    prompt: str | None = None
    answer: str | None = None
    values: dict[str, Any] = {}
    failure: str | None = None
    latency_ms: float = 0.0
    metadata: dict[str, Any] = {}


class TaskRow(Struct, frozen=True, kw_only=True):
    """One task's numbers and what produced them."""

    task: str
    metric: str
    score: float | None
    """None when nothing was scored; `reason` says why."""
    correct: int
    """Attempts with full marks."""
    total: int
    """Attempts the run set out to make."""
    latency_ms: float
    scored: int
    failed: int
    """Attempts that broke for another reason than time."""
    timeouts: int
    excluded: int
    owed: int
    """Attempts not made yet: the run was interrupted."""
    complete: bool
    coverage: float
    """Scored attempts out of those the run set out to score."""
    sha256: str
    """Of the task's content: the same questions and targets have the same one."""
    fingerprint: str
    """Of the whole task: content, how it is asked, how it is scored."""
    signature: str
    interval: Interval | None = None
    bounds: Bounds | None = None
    reason: str | None = None
    refused: str | None = None
    """Why no attempt of this task could be made here at all; such a task has no part in the overall score."""
    truncated: int = 0
    nothing_extracted: int = 0
    left_out: int = 0
    """Bad records of the task file that the run was told to leave out."""
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    judge_tokens_in: int = 0
    """What judges were given, apart from the evaluated model."""
    judge_tokens_out: int = 0
    latency: Latency | None = None
    failures: dict[str, int] = {}
    failure_examples: dict[str, str] = {}
    outcomes: dict[str, int] = {}
    category: str | None = None
    aggregates: list[Summary] = []
    per_example: list[PerExample] | UnsetType = UNSET


class Leaderboard(Struct, frozen=True, kw_only=True):
    """The scoreboard of one run."""

    schema: str
    timestamp: str
    overall_score: float | None
    adapter: str
    tasks: list[TaskRow]
    complete: bool
    failed: int
    timeouts: int
    fingerprint: str
    """Equal for runs that agree: same tasks, model and settings, same answers, same scores."""
    run_fingerprint: str
    model: dict[str, Any]
    settings: dict[str, Any]
    versions: dict[str, str]
    overall_reason: str | None = None
    overall_interval: Interval | None = None
    sandbox: dict[str, Any] | None = None


def build_leaderboard(folder: Path, *, include_per_example: bool | None = None) -> Leaderboard:
    """The leaderboard of a run folder, from its `run.json` and its journal."""
    run = read_run_file(folder)
    journal = folder / "journal.jsonl"
    tables = read_tables(journal, run.definitions)
    python = read_python_metrics(folder)
    wanted = run.config.include_per_example if include_per_example is None else include_per_example
    examples = _per_example(journal) if wanted else {}
    rows = [
        _row(definition, tables[definition.name], run, python, examples.get(definition.name, []) if wanted else UNSET)
        for definition in run.definitions
    ]
    overall, reason = _overall(rows)
    return Leaderboard(
        schema=SCHEMA,
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        overall_score=overall,
        overall_reason=reason,
        overall_interval=_overall_interval(rows, overall, run.config.level),
        adapter=str(run.model["name"]),
        tasks=rows,
        complete=all(row.complete for row in rows),
        failed=sum(row.failed for row in rows),
        timeouts=sum(row.timeouts for row in rows),
        fingerprint=_agreement(run, rows, tables),
        run_fingerprint=run.fingerprint,
        model=run.model,
        settings=run.settings,
        versions=run.versions,
        sandbox=run.sandbox,
    )


def write_leaderboard_file(path: Path, leaderboard: Leaderboard) -> None:
    """Write it whole or not at all, indented so that two of them can be diffed."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(leaderboard), indent=2) + b"\n")


def read_leaderboard(path: Path | str) -> Leaderboard:
    """A leaderboard from its file, or made of a run folder."""
    path = Path(path)
    if path.is_dir():
        return build_leaderboard(path)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Leaderboard)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such leaderboard file or run folder") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a {SCHEMA} file: {error}") from error


def _row(
    definition: TaskDefinition, table: TaskTable, run: RunFile, python: Kept, examples: list[PerExample] | UnsetType
) -> TaskRow:
    size = definition.dataset.size if run.config.limit is None else min(run.config.limit, definition.dataset.size)
    total = size * run.config.repeat
    summaries = _summaries(definition, table, run.config.level, python)
    headline = summaries[0] if summaries else Summary(name="score", value=None, reason="the task has no aggregate")
    owed = total - table.scored - table.failed - table.timeouts - table.excluded
    planned = total - table.excluded
    refused = next((text for kind, text in table.failure_example.items() if kind.endswith(f"/{REFUSED_HERE}")), None)
    latency = _latency(table)
    return TaskRow(
        task=definition.name,
        metric=definition.metric,
        score=headline.value,
        correct=table.correct,
        total=total,
        latency_ms=latency.mean if latency else 0.0,
        scored=table.scored,
        failed=table.failed,
        timeouts=table.timeouts,
        excluded=table.excluded,
        owed=owed,
        complete=owed == 0 and not table.failed and not table.timeouts,
        coverage=table.scored / planned if planned else 0.0,
        sha256=definition.dataset.sha256,
        fingerprint=run.tasks[definition.name],
        signature=f"{_scoring_signature(definition)}|{headline.signature}",
        interval=_interval(headline, run.config.level),
        bounds=_bounds(definition, headline, table),
        reason=headline.reason,
        refused=refused,
        truncated=table.truncated,
        nothing_extracted=table.nothing_extracted,
        left_out=definition.left_out,
        cached=table.cached,
        tokens_in=table.tokens_in,
        tokens_out=table.tokens_out,
        judge_tokens_in=table.judge_tokens_in,
        judge_tokens_out=table.judge_tokens_out,
        latency=latency,
        failures=dict(sorted(table.failure_kinds.items())),
        failure_examples=dict(sorted(table.failure_example.items())),
        outcomes=dict(sorted(table.outcomes.items())),
        category=definition.category,
        aggregates=summaries,
        per_example=examples,
    )


def _summaries(definition: TaskDefinition, table: TaskTable, level: float, python: Kept) -> list[Summary]:
    found: list[tuple[PartSpec, Summary]] = []
    for part in definition.aggregates:
        options = {key: value for key, value in part.options.items() if key != "scorer"}
        if part.use == "python":
            options["found"] = found_for(python, definition.name, part.key, table)
        aggregate = catalog.resolve("aggregate", part.use)
        summaries = aggregate(table.tables[part.options.get("scorer")], **options, level=level)
        found.extend((part, summary) for summary in summaries)
    return _with_own_names(found)


def _with_own_names(found: list[tuple[PartSpec, Summary]]) -> list[Summary]:
    """A name that two aggregates give begins with the aggregate's key, and with its scorer's if need be."""
    names = [[summary.name for _, summary in found]]
    names.append([f"{part.key.rpartition('.')[2]}_{summary.name}" for part, summary in found])
    names.append([f"{part.options.get('scorer')}_{name}" for (part, _), name in zip(found, names[1], strict=True)])
    own = []
    for at, (_, summary) in enumerate(found):
        level = next((level for level in names if level.count(level[at]) == 1), names[-1])
        own.append(summary if level is names[0] else msgspec.structs.replace(summary, name=level[at]))
    return own


def _scoring_signature(definition: TaskDefinition) -> str:
    """How a prediction became a score: the definition, not the word the task file used for it."""
    return "+".join(_part_signature(part) for part in definition.scorers) or "none"


def _part_signature(part: PartSpec) -> str:
    name = str(part.options.get("metric", part.use))
    rule = part.options.get("post_process", "none")
    return name if rule == "none" else f"{name}({rule})"


def _interval(headline: Summary, level: float) -> Interval | None:
    if headline.low is None or headline.high is None:
        return None
    return Interval(low=headline.low, high=headline.high, level=level)


def _bounds(definition: TaskDefinition, headline: Summary, table: TaskTable) -> Bounds | None:
    """Only a mean of scores in [0, 1] has them, and only when something failed."""
    failed = table.failed + table.timeouts
    first = definition.aggregates[0] if definition.aggregates else None
    in_unit = first is not None and first.use == "mean" and first.options.get("field") in ("score", "is_correct")
    if not failed or headline.value is None or not in_unit:
        return None
    total = headline.value * headline.scored
    planned = headline.scored + failed
    return Bounds(low=total / planned, high=(total + failed) / planned)


def _latency(table: TaskTable) -> Latency | None:
    if not table.seconds:
        return None
    milliseconds = np.asarray(table.seconds) * 1000
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return Latency(mean=round(float(milliseconds.mean()), 3), p50=round(float(p50), 3), p95=round(float(p95), 3))


def _overall(rows: list[TaskRow]) -> tuple[float | None, str | None]:
    """The mean of the task scores; a task without a score leaves the overall score out, a refused one itself."""
    counted = [row for row in rows if row.refused is None]
    if not counted:
        return None, "no task could be run"
    missing = [row.task for row in counted if row.score is None]
    if missing:
        return None, f"no sample was scored in {', '.join(missing)}"
    refused = [row.task for row in rows if row.refused is not None]
    note = f"over {len(counted)} of {len(rows)} tasks; refused: {', '.join(refused)}" if refused else None
    return math.fsum(row.score for row in counted if row.score is not None) / len(counted), note


def _overall_interval(rows: list[TaskRow], overall: float | None, level: float) -> Interval | None:
    """Tasks are independent: the variance of their mean is the sum of their variances over the squared count."""
    counted = [row for row in rows if row.refused is None]
    if overall is None or any(row.interval is None for row in counted):
        return None
    halves = [(row.interval.high - row.interval.low) / 2 for row in counted if row.interval is not None]
    half = math.sqrt(math.fsum(width * width for width in halves)) / len(counted)
    return Interval(low=max(0.0, overall - half), high=min(1.0, overall + half), level=level)


def _agreement(run: RunFile, rows: list[TaskRow], tables: dict[str, TaskTable]) -> str:
    parts = [(row.fingerprint, row.signature, row.score, row.total, f"{tables[row.task].digest:x}") for row in rows]
    return fingerprint([run.model, run.settings, parts])


def _per_example(journal: Path) -> dict[str, list[PerExample]]:
    """Every attempt that counts, in the order of the dataset."""
    latest: dict[str, Record] = {}
    for record in read_records(journal) if journal.exists() else ():
        latest[record.key] = record
    found: dict[str, list[PerExample]] = {}
    for record in sorted(latest.values(), key=lambda record: (record.task, record.index, record.attempt)):
        found.setdefault(record.task, []).append(per_example(record))
    return found


def per_example(record: Record) -> PerExample:
    values = {name: value for score in record.scores for name, value in score.values.items()}
    score = values.get("score", values.get("is_correct"))
    trace = record.trace
    return PerExample(
        id=record.sample_id,
        attempt=record.attempt,
        score=float(score) if isinstance(score, int | float) and not record.failures else None,
        prediction=trace.prediction if trace is not None else None,
        targets=record.targets,
        prompt=trace.prompt if trace is not None else None,
        answer=next((score.answer for score in record.scores if score.answer is not None), None),
        values=values,
        failure=f"{record.failures[0].kind}: {record.failures[0].message}" if record.failures else None,
        latency_ms=round(record.seconds * 1000, 3),
        metadata=record.metadata,
    )
