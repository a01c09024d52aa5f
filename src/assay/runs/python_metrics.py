"""The Python metrics of a run: the author's `compute_metrics(scores)`, called in a worker process when the run ends."""

from __future__ import annotations

import math
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from assay.catalog import resolve
from assay.core.describe import Whole
from assay.core.fingerprint import short_fingerprint
from assay.core.types import PartSpec, Summary, TaskDefinition
from assay.results.board.journal_table import AttemptLine, TaskTable
from assay.results.board.python_metrics import FILE, KeptMetrics
from assay.results.measure import counts, is_own_object, runs_code, values_by
from assay.results.report_settings import GROUP, metadata_value
from assay.run_file import read_run_file, write_whole
from assay.stats.leaving_out import hangs_on, left_out
from assay.stats.metric_snippet import metric_snippet, metric_values
from assay.stats.score_table import ScoreTable
from assay.tasks.descriptions import own_options
from assay.trust.consent import untrusted

RESAMPLES = 200
FEWEST = 50
"""With fewer resamples the percentiles of a 95 % interval are meaningless."""
LONGEST_SECONDS = 20.0
"""A metric that would take longer over all resamples gets as many as fit, but not fewer than the fewest."""


class PythonMetrics:
    """The Python metrics of a run and the journal lines they are computed from.

    The definitions are those of a run folder: without `trust`, the user's consent, code that only the folder names
    is not run.
    """

    def __init__(self, definitions: Sequence[TaskDefinition], *, trust: bool = False) -> None:
        self._wanted = {
            definition.name: parts
            for definition in definitions
            if (parts := [part for part in definition.aggregates if runs_code(part)])
            and (trust or not untrusted(definition, out_of_a_run=True))
        }
        self._modules = {definition.name: definition.modules for definition in definitions}
        self._lines: dict[str, list[AttemptLine]] = {name: [] for name in self._wanted}

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def add(self, place: int, line: AttemptLine) -> None:
        if line.task in self._lines and not line.excluded:
            self._lines[line.task].append(line)

    async def write(self, folder: Path, tables: Mapping[str, TaskTable]) -> None:
        """Run every metric over the scores and keep the results, with the digest of those scores."""
        level = read_run_file(folder).config.level
        kept: KeptMetrics = {}
        for task, parts in self._wanted.items():
            lines = sorted(self._lines[task], key=lambda line: (line.index, line.attempt))
            metrics = {}
            for part in parts:
                scorer = part.options.get("scorer")
                within = [line for line in lines if counts(line, scorer)]
                if is_own_object(part):
                    metrics[part.key] = await _own_numbers(part, tables[task].tables[scorer], within, level)
                    continue
                scored = [(line, score) for line in within for score in line.scores if score.name == scorer]
                scores = [{"values": dict(score.values), "metadata": score.metadata or {}} for _, score in scored]
                clusters = [_unit_of(line) for line, _ in scored]
                if isinstance(part.about, Whole) and part.about.runs == "library":
                    aggregated_values = resolve("final_aggregation", part.use)
                    metrics[part.key] = await with_draws(await aggregated_values(part, scores), clusters)
                else:
                    source = part.options["compute_metrics_snippet"]
                    metrics[part.key] = await compute_metrics(
                        source, scores, part=part.key, clusters=clusters, modules=self._modules[task]
                    )
            kept[task] = {"digest": f"{tables[task].digest:x}", "metrics": metrics}
        write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(kept), indent=2))


def _unit_of(line: AttemptLine) -> tuple[bool, str]:
    """What is resampled as one: a group, or a sample; the same in every run."""
    group = metadata_value(line.metadata, GROUP)
    return (False, line.sample_id) if group is None else (True, group)


async def _own_numbers(part: PartSpec, table: ScoreTable, lines: Sequence[AttemptLine], level: float) -> dict[str, Any]:
    """The results of a custom aggregate, over resamples too where a comparison needs those."""
    found = own_summaries(part, table, level)
    whole = part.about if isinstance(part.about, Whole) else None
    if "error" in found or whole is None or whole.lower_is_better is None or not whole.smooth or whole.made_of:
        return found
    ranges, scorer = table.ranges, part.options.get("scorer")

    async def values_over(rows: Sequence[int] | None) -> dict[str, Any]:
        drawn, sample, before = ScoreTable(ranges), -1, None
        for row in range(len(lines)) if rows is None else rows:
            line = lines[row]
            # a sample that is drawn twice is two samples, each with all of its attempts
            sample += before is None or row <= before or lines[before].index != line.index
            before = row
            group = metadata_value(line.metadata, GROUP)
            drawn.add(values_by(scorer, line.scores), sample=sample, attempt=line.attempt, group=group)
        numbers = own_summaries(part, drawn, level)
        return {"values": {each["name"]: each["value"] for each in numbers.get("summaries", ())}}

    drawn = await with_draws(values_over, [_unit_of(line) for line in lines])
    return {**found, **drawn}


def own_summaries(part: PartSpec, table: ScoreTable, level: float) -> dict[str, Any]:
    """The result of a custom aggregate, as plain data, or why there is none."""
    try:
        aggregate = resolve("aggregate", part.use, own_code=True)
        result = aggregate(table, **own_options(part, aggregate), level=level)
        numbers = msgspec.convert(result, list[Summary], from_attributes=True)
        if beyond := [
            number.name for number in numbers if number.value is not None and not math.isfinite(number.value)
        ]:
            raise ValueError(f"`{beyond[0]}` is no finite number")
        summaries = msgspec.to_builtins(numbers)
    except Exception as error:  # whatever it raises affects only its own number
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return {"error": message, "kind": "exception"}
    return {"level": level, "summaries": summaries}


async def compute_metrics(
    source: str,
    scores: Sequence[Mapping[str, Any]],
    *,
    part: str,
    clusters: Sequence[Any] | None = None,
    modules: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Call the snippet over the scores of all samples that count, then over resamples of their clusters."""
    snippet = metric_snippet(source, part, modules)  # the caller has checked that it may run

    async def values_over(rows: Sequence[int] | None) -> dict[str, Any]:
        return await metric_values(snippet, scores if rows is None else [scores[row] for row in rows])

    try:
        return await with_draws(values_over, range(len(scores)) if clusters is None else clusters)
    finally:
        await snippet.aclose()


ValuesOver = Callable[[Sequence[int] | None], Awaitable[dict[str, Any]]]
"""The numbers over some rows of the scores, or over all: `values`, or the `error`."""


async def with_draws(values_over: ValuesOver, clusters: Sequence[Any]) -> dict[str, Any]:
    """The numbers over all scores, and over resamples of their clusters."""
    numbers = await values_over(None)
    if "error" in numbers:
        return numbers
    units = sorted({*clusters})
    numbers |= {"scored": len(clusters), "units": len(units), "over": short_fingerprint(units)}
    if len(clusters) < 2:
        return {**numbers, "no_interval": "one sample has no spread to judge by"}
    started = perf_counter()
    await values_over(None)
    seconds = perf_counter() - started
    resamples = min(RESAMPLES, max(FEWEST, int(LONGEST_SECONDS / max(seconds, 1e-9))))
    if seconds * resamples > 3 * LONGEST_SECONDS:
        reason = f"{resamples} resamples of {seconds:.1f} s each would take too long"
        return {**numbers, "no_interval": reason}
    members = _members(clusters)
    hanging = await _hanging(values_over, members, numbers["values"], resamples)
    draws = await _draws(values_over, members, [name for name in numbers["values"] if name not in hanging], resamples)
    return {**numbers, "hanging": hanging, "draws": draws}


def _members(clusters: Sequence[Any]) -> list[list[int]]:
    """The rows of each cluster, in the order of the clusters' names, which is the same in every run."""
    rows: dict[Any, list[int]] = {}
    for row, cluster in enumerate(clusters):
        rows.setdefault(cluster, []).append(row)
    return [rows[cluster] for cluster in sorted(rows)]


async def _hanging(
    values_over: ValuesOver, members: Sequence[Sequence[int]], values: Mapping[str, float], most: int
) -> dict[str, str]:
    """The numbers that hang on so few samples that resamples say nothing about them, and why."""
    without: dict[str, list[float | None]] = {name: [] for name in values}
    for unit in left_out(len(members), most):
        kept = await values_over([row for place, rows in enumerate(members) if place != unit for row in rows])
        for name in values:
            without[name].append(kept.get("values", {}).get(name))
    reasons = {name: hangs_on(each, values[name]) for name, each in without.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


async def _draws(
    values_over: ValuesOver, members: Sequence[Sequence[int]], names: Sequence[str], resamples: int
) -> dict[str, list[float | None]]:
    """These numbers over each resample; None where the code could not make one.

    The same clusters give the same resamples: two runs can be subtracted, draw by draw.
    """
    random = np.random.default_rng(0)
    draws: dict[str, list[float | None]] = {name: [] for name in names}
    for _ in range(resamples if names else 0):
        chosen = random.integers(0, len(members), len(members))
        drawn = await values_over([row for cluster in chosen for row in members[cluster]])
        for name in names:
            draws[name].append(drawn.get("values", {}).get(name))
    return draws
