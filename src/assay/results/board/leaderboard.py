"""The leaderboard of a run: one row per task, computed from the journal alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from assay import catalog
from assay.core.describe import Value, about
from assay.core.fingerprint import fingerprint, short_fingerprint
from assay.core.task import REFUSED_HERE
from assay.core.types import Bounds, PartSpec, Summary, TaskDefinition
from assay.costs.prices import Prices, find_prices
from assay.costs.spending import Cost, cost_of, judge_rows, total_cost, with_generation
from assay.results.board.amounts import Latencies
from assay.results.board.board_types import (
    SCHEMA,
    Leaderboard,
    ScorerRow,
    SliceRow,
    TaskRow,
    interval_of,
)
from assay.results.board.consistency import read_checked_board
from assay.results.board.groups import group_rows
from assay.results.board.journal_table import AttemptLine, TaskTable, read_tables
from assay.results.board.likelihood import calibration_of, likelihood_of
from assay.results.board.overall import overall_bounds, overall_interval, overall_score
from assay.results.board.python_metrics import KeptMetrics, broken_metrics, read_python_metrics
from assay.results.board.repairs import repair_notices
from assay.results.board.sandboxes import sandbox_notices, sandbox_of
from assay.results.board.slices import MOST, NO_VALUE, slice_rows, weak_slices
from assay.results.board.stretches import (
    Stretch,
    canary_spending,
    first_versions,
    read_stretches,
    stretch_notices,
    versions_of,
)
from assay.results.board.summaries import headline_over, summaries_of
from assay.results.board.variance_parts import cost_of_all, variance_row
from assay.results.measure import Measure, headline_of, measures_of, runs_code
from assay.results.metric_label import metric_label
from assay.results.per_example import PerExample, read_examples
from assay.results.report_settings import View, key_hint, missing_group, missing_key, view_of
from assay.results.server_template import template_notices
from assay.run_file import RunFile, read_run_file
from assay.stats.failure_bounds import whole_bounds, with_bounds
from assay.tasks.descriptions import largest_loss_of
from assay.tasks.task_parts import score_part, task_parts
from assay.text.wording import count_of

_L = TypeVar("_L", bound=AttemptLine)


def build_leaderboard(
    folder: Path,
    view: View | None = None,
    *,
    kind: type[_L] = AttemptLine,  # type: ignore[assignment]  # a default cannot be narrower than what may be given
    watch: Callable[[int, _L], object] | None = None,
    only: Callable[[_L], bool] | None = None,
) -> Leaderboard:
    """The leaderboard of a run folder, from its `run.json` and its journal, in `view` or else the run's own.

    `watch` is called with every line that counts, for callers that also need the journal; `only` selects the lines that
    the scores are computed from.
    """
    run = read_run_file(folder)
    view = view or view_of(run.config, folder)
    tables = read_tables(folder / "journal.jsonl", run.definitions, view, kind=kind, watch=watch, only=only)
    return board_of(folder, run, tables, view)


def board_of(folder: Path, run: RunFile, tables: dict[str, TaskTable], view: View) -> Leaderboard:
    """The leaderboard of tables that have been read."""
    examples = read_examples(folder / "journal.jsonl", measures_of(run.definitions)) if view.per_example else None
    return _board(folder, run, tables, view, examples)


def _board(
    folder: Path,
    run: RunFile,
    tables: dict[str, TaskTable],
    view: View,
    examples: dict[str, list[PerExample]] | None,
) -> Leaderboard:
    prices = (view.prices or find_prices(run=folder)).where_unbilled(run.unbilled)
    python = read_python_metrics(folder)
    rows = [
        _row(definition, tables[definition.name], run, view, python, prices, examples) for definition in run.definitions
    ]
    marked = weak_slices([row.slices for row in rows], view.level, turned=[bool(row.lower_is_better) for row in rows])
    rows = [msgspec.structs.replace(row, slices=slices) for row, slices in zip(rows, marked, strict=True)]
    overall, reason = overall_score(rows)
    name = str(run.model["name"])
    sandbox = sandbox_of(folder, run)
    stretches, damaged = read_stretches(folder)
    answered = _answered(tables)
    canary_cost = _canary_cost(stretches, prices, name)
    return Leaderboard(
        schema=SCHEMA,
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        overall_score=overall,
        overall_reason=reason,
        overall_interval=overall_interval(rows, overall, view.level),
        overall_bounds=overall_bounds(rows, view.level) if overall is not None else None,
        adapter=name,
        label=run.config.label,
        tasks=rows,
        groups=group_rows(run.definitions, rows, view.level),
        complete=all(row.complete for row in rows),
        failed=sum(row.failed for row in rows),
        timeouts=sum(row.timeouts for row in rows),
        fingerprint=_agreement(run, rows, tables),
        run_fingerprint=run.fingerprint,
        model=run.model,
        settings=run.settings,
        versions=versions_of([first_versions(run), *stretches]),
        sandbox=sandbox,
        level=view.level,
        cost=total_cost([*(row.cost for row in rows), canary_cost]),
        canary_cost=canary_cost,
        judge_cost=total_cost(row.judge_cost for row in rows),
        latency=Latencies.together(table.latencies for table in tables.values()).summary(),
        created=run.created,
        command=run.command,
        stretches=stretches,
        answered=answered,
        notices=[
            *_answers_of_earlier_runs(tables, run),
            *_partial_imports(run.definitions),
            *_answered_without_the_model(run.definitions, tables),
            *_without_logprobs(tables, run),
            *template_notices(run),
            *stretch_notices([first_versions(run), *stretches], damaged, answered),
            *_notices(tables, view),
            *_without_slices(run.definitions, rows, view),
            *sandbox_notices(sandbox),
            *repair_notices(run),
        ],
    )


def _answered(tables: dict[str, TaskTable]) -> dict[str, dict[str, int]]:
    """What answers name themselves, over all tasks, the most frequent first."""
    counts: Counter[tuple[str, str]] = sum((table.answered for table in tables.values()), Counter())
    named: dict[str, dict[str, int]] = {}
    for (name, value), count in counts.most_common():
        named.setdefault(name, {})[value] = count
    return named


def _canary_cost(stretches: Sequence[Stretch], prices: Prices, model: str) -> Cost | None:
    spent = canary_spending(stretches)
    return cost_of(spent, prices, model) if spent.answers else None


def read_leaderboard(path: Path | str, view: View | None = None) -> Leaderboard:
    """A leaderboard from its file, or computed from a run folder."""
    path = Path(path)
    return build_leaderboard(path, view) if path.is_dir() else read_checked_board(path)


def _row(
    definition: TaskDefinition,
    table: TaskTable,
    run: RunFile,
    view: View,
    python: KeptMetrics,
    prices: Prices,
    examples: dict[str, list[PerExample]] | None,
) -> TaskRow:
    remaining = _remaining(definition, table, run)
    for each in table.tables.values():
        each.remaining, each.planned = (
            remaining,
            (run.config.samples_of(definition), run.config.repeat_of(definition.name)),
        )
    summaries = summaries_of(definition, table, view.level, python)
    measure = table.measure = _on_its_scale(table)
    headline = _headline(definition, table, summaries)
    latency = table.latencies.summary()
    parts = task_parts(definition)
    scores = table.tables.get(measure.scorer)
    spent = _spent(definition, table, prices, str(run.model["name"]))
    cost = cost_of_all(spent["cost"], spent["judge_cost"])
    misdescribed = None if scores is None else measure.misdescribed(scores, headline.value)
    left_out = run.config.left_out_of(definition)
    return TaskRow(
        task=definition.name,
        metric=definition.metric,
        metric_definition=metric_label(definition),
        category=definition.category,
        display_name=definition.shown.display_name,
        declared=[*definition.provenance.declared],
        weight=definition.shown.weight,
        scorers=_scorers(definition),
        score=headline.value,
        reason=headline.reason,
        interval=interval_of(headline, view.level),
        bounds=_turned(headline.bounds) if measure.lower_is_better else headline.bounds,
        left_out=left_out,
        whole_bounds=None if misdescribed else _whole_bounds(definition, table, headline, left_out),
        has_score=headline_of(definition) is not None,
        lower_is_better=measure.lower_is_better,
        range=None if misdescribed else measure.score_bounds,
        compared_by=measure.proxy,
        made_of=None if misdescribed else measure.made_of,
        untested=misdescribed or measure.untested,
        largest_loss=largest_loss_of(definition),
        sha256=definition.dataset.sha256,
        fingerprint=run.tasks[definition.name],
        signature=f"{_scoring_signature(definition)}|{headline.signature}",
        scoring=score_part(definition),
        asking=parts.asking,
        judging=short_fingerprint(parts.judging) if parts.judging else "",
        latency_ms=latency.mean if latency else 0.0,
        latency=latency,
        aggregates=summaries,
        slices=_slices(definition, table, view, misdescribed=misdescribed is not None),
        repetitions=_repetitions(definition, table, run.config.repeat_of(definition.name), view.level),
        variance=variance_row(table, run.config.repeat_of(definition.name), view.level, cost),
        calibration=calibration_of(table.likelihoods, view.level),
        likelihood=likelihood_of(table.likelihoods, view.level),
        reused=run.reused.get(definition.name),
        per_example=UNSET if examples is None else _examples(examples.get(definition.name, []), table, headline),
        **_counts(definition, table, run, headline, broken_metrics(python, definition, table)),
        **spent,
    )


def _headline(definition: TaskDefinition, table: TaskTable, summaries: list[Summary]) -> Summary:
    """The task's score; a task that only describes has none, with the reason."""
    if headline_of(definition) is not None:
        return summaries[0]
    reason = "the task has no aggregate"
    if summaries:
        first = definition.aggregates[0]
        field = first.options.get("field")
        reason = (
            f"`{first.use}` lists the share of every value of `{field}`, and none of them is the score; "
            "`label` selects one"
        )
    scored, failed, timeouts = table.scored, table.failed, table.timeouts
    return Summary(
        name="none", value=None, scored=scored, failed=failed, timeouts=timeouts, reason=reason, signature="none"
    )


def _whole_bounds(
    definition: TaskDefinition, table: TaskTable, headline: Summary, left_out: int
) -> tuple[float, float] | None:
    scores = table.tables.get(table.measure.scorer)
    first = headline_of(definition)
    if not left_out or scores is None or first is None:
        return None
    return whole_bounds(headline, scores, first.about, left_out)


def _turned(bounds: Bounds | None) -> Bounds | None:
    """The bounds of a number where lower is better: a right attempt has the lowest."""
    return None if bounds is None else msgspec.structs.replace(bounds, wrong=bounds.right, right=bounds.wrong)


def _examples(examples: list[PerExample], table: TaskTable, headline: Summary) -> list[PerExample]:
    if table.measure.is_in_mean(headline.value):
        return examples
    return [msgspec.structs.replace(example, score=None) for example in examples]


def _counts(
    definition: TaskDefinition, table: TaskTable, run: RunFile, headline: Summary, broken: dict[str, str]
) -> dict[str, Any]:
    """How many attempts were planned, and their outcomes as the score counts them."""
    total = run.config.attempts_of(definition)
    made = table.scored + table.failed + table.timeouts
    remaining = _remaining(definition, table, run)
    planned = total - table.excluded
    return {
        "total": total,
        "correct": table.measure.correct(table.tables[table.measure.scorer]) if headline_of(definition) else None,
        "scored": headline.scored,
        "unscored": made - headline.scored - headline.failed - headline.timeouts,
        "failed": table.failed,
        "timeouts": table.timeouts,
        "excluded": table.excluded,
        "remaining": remaining,
        "complete": remaining == 0 and not table.failed and not table.timeouts and not broken,
        "coverage": headline.scored / planned if planned else 0.0,
        "refused": _refused(table),
        "truncated": table.truncated,
        "prompts_cut": table.prompts_cut,
        "nothing_extracted": table.nothing_extracted,
        "skipped_records": definition.skipped_records,
        "missing_scores": dict(sorted(table.missing_scores.items())) if len(definition.scorers) > 1 else {},
        "asked_again": dict(sorted(table.asked_again.items())),
        "failures": dict(sorted([*table.failure_kinds.items(), *((kind, 1) for kind in broken)])),
        "failure_examples": dict(sorted([*table.failure_example.items(), *broken.items()])),
        "outcomes": dict(sorted(table.outcomes.items())),
        "weak_passes": table.weak_passes,
    }


def _on_its_scale(table: TaskTable) -> Measure:
    scores, column = table.tables.get(table.measure.scorer), table.measure.column
    return table.measure.on(None if scores is None or column is None else scores.range_of(column))


def _remaining(definition: TaskDefinition, table: TaskTable, run: RunFile) -> int:
    """The attempts that are planned and not yet made."""
    made = table.scored + table.failed + table.timeouts
    return run.config.attempts_of(definition) - made - table.excluded


_REFUSED = f"/{REFUSED_HERE}"


def _refused(table: TaskTable) -> str | None:
    """Why no attempt could be made here; where another machine made some, the others are ordinary failures."""
    if table.scored or table.excluded or table.partly:
        return None
    return next((text for kind, text in table.failure_example.items() if kind.endswith(_REFUSED)), None)


def _spent(definition: TaskDefinition, table: TaskTable, prices: Prices, model: str) -> dict[str, Any]:
    """Tokens and money, of the evaluated model, of those that judged, and of those that wrote the samples."""
    judges = judge_rows(with_generation(table.judges, [definition]), prices)
    return {
        "cached": table.spent.cached,
        "from_earlier_runs": table.spent.from_earlier_runs,
        "tokens_in": table.spent.tokens_in,
        "tokens_out": table.spent.tokens_out,
        "tokens_unknown": table.spent.unknown,
        "cost": cost_of(table.spent, prices, model),
        "judges": judges,
        "judge_tokens_in": sum(judge.tokens_in for judge in judges),
        "judge_tokens_out": sum(judge.tokens_out for judge in judges),
        "judge_cost": total_cost(judge.cost for judge in judges),
    }


def _slices(definition: TaskDefinition, table: TaskTable, view: View, *, misdescribed: bool) -> list[SliceRow]:
    first = headline_of(definition)
    headline = None if first is None else headline_over(definition, first, view.level)
    if headline is None or first is None or (misdescribed and runs_code(first)):
        return []
    return [
        row
        for key in view.by
        if key in table.slices
        for row in slice_rows(key, table.slices[key], headline, table.measure, view.level)
    ]


def _repetitions(definition: TaskDefinition, table: TaskTable, repeat: int, level: float) -> list[Summary]:
    """For k = 1, 2, 5, 10, … and as many as there are."""
    scores = table.tables.get(table.measure.scorer)
    if repeat < 2 or table.measure.column is None or scores is None or not len(scores):
        return []
    if table.measure.lower_is_better is not False:
        return []  # pass@k counts attempts with full marks
    from assay.stats.repetitions import repetitions  # most runs make one attempt per sample

    aggregate = partial(repetitions, field=table.measure.column, k=attempts_counted(repeat), level=level)
    value = Value(name=table.measure.column, range=table.measure.bounds)
    return with_bounds(
        aggregate(scores), aggregate, scores, about(repetitions, {"field": value.name}, {value.name: value})
    )


def attempts_counted(repeat: int) -> list[int]:
    """The k of pass@k and its kin."""
    return sorted({*(item for item in (1, 2, 5, 10, 20, 50, 100) if item < repeat), repeat})


def _answers_of_earlier_runs(tables: dict[str, TaskTable], run: RunFile) -> list[str]:
    """How many answers the run has in common with earlier runs."""
    parts = {
        "answers": [table.spent for table in tables.values()],
        "judges' answers": [spent for table in tables.values() for spent in table.judges.values()],
    }
    how = "--changed" if run.reused else "the cache"
    return [
        f"{earlier:,} of {sum(item.answers for item in of):,} {what} came from an earlier run, through {how}"
        for what, of in parts.items()
        if (earlier := sum(item.from_earlier_runs for item in of))
    ]


def _answered_without_the_model(definitions: Sequence[TaskDefinition], tables: Mapping[str, TaskTable]) -> list[str]:
    """Tasks whose own Python gave answers without calling the model that they are attributed to."""
    sentences = []
    for definition in definitions:
        needs, table = catalog.solver_needs(definition.solver), tables[definition.name]
        if table.unasked and needs.asks_model and needs.runs == "snippet":
            made = table.scored + table.failed + table.timeouts + table.excluded
            sentences.append(
                f"{definition.name}: {table.unasked:,} of {made:,} attempts made 0 model calls: those answers are its "
                "solver's own, not the model's"
            )
    return sentences


def _without_logprobs(tables: Mapping[str, TaskTable], run: RunFile) -> list[str]:
    """What `--logprobs` asked for and some answers do not have: servers may leave it out without a word."""
    if run.config.logprobs is None:
        return []
    return [
        f"{name}: {count_of(table.without_logprobs, 'attempt')} without log-probabilities, which --logprobs asks for"
        for name, table in tables.items()
        if table.without_logprobs
    ]


def _partial_imports(definitions: Sequence[TaskDefinition]) -> list[str]:
    return [
        f"{definition.name}: a partial import, whose scores are not those of the program it comes from; "
        f"not carried over: {'; '.join(definition.provenance.not_carried_over)}"
        for definition in definitions
        if definition.provenance.not_carried_over
    ]


def _without_slices(definitions: Sequence[TaskDefinition], rows: Sequence[TaskRow], view: View) -> list[str]:
    """Tasks that have no scores of slices, though slices were asked for."""
    named = [
        definition.name
        for definition, row in zip(definitions, rows, strict=True)
        if row.score is not None and not row.slices and runs_code(definition.aggregates[0])
    ]
    if not view.by or not named:
        return []
    return [f"--by: no slices of {', '.join(named)}: only other code than assay's computes the score, over all samples"]


def _notices(tables: dict[str, TaskTable], view: View) -> list[str]:
    notices = []
    for key in view.by:
        if any(key in table.too_many for table in tables.values()):
            notices.append(f"--by metadata.{key}: more than {MOST} different values are no slices; none are shown")
        elif all(set(table.slices.get(key, {})) <= {NO_VALUE} for table in tables.values()):
            known = dict.fromkeys(name for table in tables.values() for name in table.other_keys)
            notices.append(f"{missing_key('--by', key)}. {key_hint(key, known)}")
    scores = [each for table in tables.values() for each in table.tables.values()]
    return notices + missing_group(view, [score.groupless for score in scores])


def _scorers(definition: TaskDefinition) -> list[ScorerRow]:
    """The scorers as a YAML task describes them."""
    titles = definition.shown.scorers
    return [
        ScorerRow(key=part.key, type=part.use, **msgspec.structs.asdict(titles[part.key]))
        for part in definition.scorers
        if part.key in titles
    ]


def _scoring_signature(definition: TaskDefinition) -> str:
    """How a prediction became a score: by its definition, not by the name in the task file."""
    return "+".join(_part_signature(part) for part in definition.scorers) or "none"


def _part_signature(part: PartSpec) -> str:
    name = str(part.options.get("metric", part.use))
    if (version := part.options.get("prompt_version")) is not None:
        name = f"{name}.v{version}"
    rule = part.options.get("post_process", "none")
    return name if rule == "none" else f"{name}({rule})"


def _agreement(run: RunFile, rows: list[TaskRow], tables: dict[str, TaskTable]) -> str:
    parts = [
        (row.fingerprint, "|".join(row.signature.split("|")[:2]), row.score, row.total, f"{tables[row.task].digest:x}")
        for row in rows
    ]
    return fingerprint([run.model, run.settings, parts])
