"""Many models on many tasks: one row per result, comparable columns, and ranks with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.core.types import Bounds
from assay.costs.spending import Cost
from assay.results.board.board_types import Latency, ScoreInterval, SliceRow, TaskRow
from assay.results.board.cost_notes import price_notes
from assay.results.board.overall import (
    interval_of_tasks,
    open_attempts,
    overall_between,
    overall_interval,
    overall_rows,
    overall_score,
    shown_bounds,
)
from assay.results.diff.other_number import other_number
from assay.results.diff.paired_columns import Side
from assay.results.report_settings import View
from assay.results.side_labels import labelled, numbered_sides, side_labels
from assay.results.standings.pairs import ModelPair
from assay.results.standings.ranks import Ranking, ranks_at_worst, ranks_of
from assay.results.standings.shared_samples import over_shared, shared_attempts, unequal_tasks
from assay.stats.paired_evidence import Basis
from assay.stats.ranking import Normalisation, RankRange, Standing, basis_of_ranks, standings
from assay.text.wording import count_of


class Cell(Struct, frozen=True, kw_only=True):
    """One model on one task."""

    score: float | None
    interval: ScoreInterval | None = None
    reason: str | None = None
    failed: int = 0
    weak_passes: int | None = None
    """None when nothing was graded."""
    slices: list[SliceRow] = []
    coverage: float | None = None
    """Scored attempts out of those that the run planned to score; None for a category."""
    scored: int | None = None
    compared: int | None = None
    """Scored attempts that the score is over: all of them, or those that every model was scored on."""
    bounds: Bounds | None = None
    """The score if every failed attempt had been wrong, and if every one had been right; None where none failed of
    those that it is over."""
    run_bounds: Bounds | None = None
    """The same of the run's own score, where the score here is over some of its samples."""


class ModelRow(Struct, frozen=True, kw_only=True):
    """One model's place and numbers."""

    label: str
    model: str
    source: str
    rank_low: int
    """The best rank the data allows, and the worst."""
    rank_high: int
    overall: float | None
    """Mean over the tasks that every model has a score on."""
    interval: ScoreInterval | None
    normalised: float | None
    win_rate: float | None
    mean_rank: float | None
    tasks: dict[str, Cell]
    categories: dict[str, Cell]
    cost: Cost | None
    """Of the evaluated model."""
    judge_cost: Cost | None
    tokens_in: int
    tokens_out: int
    judge_tokens: int
    latency: Latency | None
    failed: int
    timeouts: int
    remaining: int
    prompts_cut: int
    """Attempts whose prompt was cut to the model's context: models with different contexts got different prompts."""
    coverage: float
    """Scored attempts out of those that the run planned to score, over all its tasks."""
    scored: int
    compared: int
    """Scored attempts that the numbers above are over."""
    bounds: Bounds | None
    """The overall score if every failed attempt had been wrong, and if every one had been right; None where none failed
    of those that it is over."""
    run_bounds: Bounds | None = None
    """The same of the run's own overall score, where the one here is over some of its samples."""
    normalised_interval: ScoreInterval | None = None
    win_rate_interval: ScoreInterval | None = None
    mean_rank_interval: ScoreInterval | None = None
    """The last three are None when not every task can be paired sample by sample."""

    @property
    def rank(self) -> str:
        """`1`, or `1–2` when the data cannot tell."""
        return str(self.rank_low) if self.rank_low == self.rank_high else f"{self.rank_low}–{self.rank_high}"


class Standings(Struct, frozen=True, kw_only=True):
    """The leaderboard of many runs, best first."""

    level: float
    normalisation: Normalisation
    models: list[ModelRow]
    tasks: list[str]
    metrics: dict[str, str]
    """What the score of each task is, with the definition of a word that formats share."""
    shared: list[str]
    """Tasks that every model has a score on: overall numbers are over these."""
    ranking: str
    """How the ranks were determined."""
    notes: list[str]
    unequal: list[str] = []
    """Why some samples cannot be compared. Then every score is over those that every model was scored on with the same
    targets; costs, tokens and latency stay those of whole runs."""
    pairs: list[ModelPair] = []
    """Every two models on the samples that all share; empty where samples cannot be paired."""
    basis: Basis | None = None
    """What the ranks rest on; null where there is one model."""


def standings_of(
    sides: Sequence[Side],
    view: View,
    *,
    normalisation: Normalisation = "z",
    chance: Mapping[str, float] | None = None,
) -> Standings:
    """Rank runs and leaderboard files: where not all were scored on the same samples with the same targets, over the
    samples that they share, with what that leaves open.
    """
    labels = side_labels(sides)
    unequal = unequal_tasks(sides, labels)
    names = list(dict.fromkeys(row.task for side in sides for row in side.board.tasks))
    unknown = sorted(set(chance or {}) - set(names))
    if unknown:
        raise UsageError(f"--chance {unknown[0]}: no task is called that. Tasks: {', '.join(names)}")
    compared = over_shared(sides, view) if unequal else list(sides)
    rows = [{row.task: row for row in side.board.tasks} for side in compared]
    everywhere = [name for name in names if all(name in row and row[name].score is not None for row in rows)]
    unlike = {name: reason for name in everywhere if (reason := other_number(name, compared)) is not None}
    shared = [
        name for name in everywhere if name not in unlike and (name not in unequal or _has_common(compared, name))
    ]
    settings = Ranking(labels, view, normalisation, dict(chance or {}))
    directed = [name for name in shared if rows[0][name].lower_is_better is not None]
    averaged = _averaged(directed, rows)
    ranges, ranking, pairs = ranks_of(settings, compared, averaged or directed)
    # tasks that are not in the overall score count in wins and mean ranks
    spread = ranges if len(averaged) in (0, len(directed)) else ranks_of(settings, compared, directed)[0]
    at_worst = _at_worst(settings, sides, [name for name in names if name not in unlike]) if unequal else None
    scores = {
        label: {name: _upwards(each[name]) for name in directed} for label, each in zip(labels, rows, strict=True)
    }
    placed = {standing.model: standing for standing in standings(scores, normalisation=normalisation, chance=chance)}
    models = [
        _model_row(
            label, whole, part, shared, _widened(ranges, at_worst, label), spread[label], placed[label], view.level
        )
        for label, whole, part in zip(labels, sides, compared, strict=True)
    ]
    models.sort(key=lambda row: (row.rank_low, row.rank_high, *_order(row, at_worst), row.label))
    if at_worst is not None:
        ranking += (
            "; widened to what failed and remaining attempts leave open, and sorted as if they had all been wrong"
        )
    return Standings(
        level=view.level,
        normalisation=normalisation,
        models=models,
        tasks=names,
        metrics={name: _metric(name, sides) for name in names},
        shared=shared,
        ranking=ranking,
        notes=[
            *numbered_sides(sides),
            *_notes([name for name in names if name not in unlike], shared, unequal, models),
            *(f"{name}: {reason}, so no model is ranked by it" for name, reason in unlike.items()),
            *_notes_of_results(sides, labels),
        ],
        unequal=list(unequal.values()),
        pairs=pairs,
        basis=basis_of_ranks(view.level, len(sides), paired=bool(pairs)) if len(sides) > 1 else None,
    )


def _metric(task: str, sides: Sequence[Side]) -> str:
    """The metric that a task was scored with, or all of them."""
    rows = (row for side in sides for row in side.board.tasks if row.task == task)
    return " and ".join(dict.fromkeys(row.metric_definition for row in rows))


def _at_worst(settings: Ranking, sides: Sequence[Side], names: Sequence[str]) -> dict[str, RankRange] | None:
    rows = [{row.task: row for row in side.board.tasks} for side in sides]
    everywhere = [name for name in names if all(name in row for row in rows)]
    return ranks_at_worst(settings, sides, _averaged(everywhere, rows))


def _averaged(directed: Sequence[str], rows: Sequence[Mapping[str, TaskRow]]) -> list[str]:
    """The tasks of the overall score, over which models are ranked; several scales have no mean."""
    counted = [{row.task for row in overall_rows([each[name] for name in directed])} for each in rows]
    return [name for name in directed if all(name in item for item in counted)]


def _has_common(compared: Sequence[Side], name: str) -> bool:
    attempts = shared_attempts(compared, name)
    return attempts is not None and len(attempts) > 0


def _widened(ranges: Mapping[str, RankRange], at_worst: Mapping[str, RankRange] | None, label: str) -> RankRange:
    ranks, worst = ranges[label], (at_worst or ranges)[label]
    return replace(ranks, low=min(ranks.low, worst.low), high=max(ranks.high, worst.high))


def _order(row: ModelRow, at_worst: Mapping[str, RankRange] | None) -> tuple[float, bool, float]:
    """Among models with the same ranks: first the better one at worst, then the better one overall."""
    worst = 0.0 if at_worst is None else -at_worst[row.label].score
    return worst, row.overall is None, -(row.overall or 0.0)


def _model_row(
    label: str,
    whole: Side,
    compared: Side,
    shared: Sequence[str],
    ranks: RankRange,
    spread: RankRange,
    placed: Standing,
    level: float,
) -> ModelRow:
    """`whole` is the whole result, `compared` the same over what every model was scored on."""
    board = whole.board
    rows = {row.task: row for row in compared.board.tasks}
    common = [rows[name] for name in shared]
    overall = overall_score(common)[0] if common else None
    cells = {name: _cell(row, whole, compared, is_shared=name in shared) for name, row in rows.items()}
    planned = sum(row.total - row.excluded for row in board.tasks)
    return ModelRow(
        label=label,
        model=board.adapter,
        source=str(whole.source),
        rank_low=ranks.low,
        rank_high=ranks.high,
        overall=overall,
        interval=overall_interval(common, overall, level),
        normalised=placed.score,
        normalised_interval=_around(placed.score, spread.normalised, level),
        win_rate=placed.win_rate,
        win_rate_interval=_around(placed.win_rate, spread.win_rate, level),
        mean_rank=placed.mean_rank,
        mean_rank_interval=_around(placed.mean_rank, spread.mean_rank, level),
        tasks=cells,
        categories=_categories(common, level),
        cost=board.cost,
        tokens_in=sum(row.tokens_in for row in board.tasks),
        tokens_out=sum(row.tokens_out for row in board.tasks),
        judge_cost=board.judge_cost,
        judge_tokens=sum(row.judge_tokens_in + row.judge_tokens_out for row in board.tasks),
        latency=board.latency,
        failed=board.failed,
        timeouts=board.timeouts,
        remaining=sum(row.remaining for row in board.tasks),
        prompts_cut=sum(row.prompts_cut for row in board.tasks),
        coverage=sum(row.scored for row in board.tasks) / planned if planned else 0.0,
        scored=sum(row.scored for row in board.tasks),
        compared=sum(cell.compared or 0 for cell in cells.values()),
        **_bounds_over(_overall_bounds(whole), restricted=compared is not whole),
    )


def _overall_bounds(side: Side) -> Bounds | None:
    """Over the run's own tasks; None when nothing failed, remains or was left out, or a task has no bounds."""
    bounds = {row.task: each for row in side.board.tasks if (each := _own_bounds(side, row)) is not None}
    return overall_between(side.board.tasks, bounds)


def _own_bounds(side: Side, row: TaskRow) -> Bounds | None:
    if row.score is not None or row.refused is not None:
        return shown_bounds(row)
    bounds = side.measures[row.task].bounds if open_attempts(row) else None
    return None if bounds is None else Bounds(low=bounds[0], high=bounds[1])


def _upwards(row: TaskRow) -> float | None:
    """A score for ranks, negated where lower is better."""
    return -row.score if row.score is not None and row.lower_is_better else row.score


def _cell(row: TaskRow, whole: Side, compared: Side, *, is_shared: bool) -> Cell:
    columns = compared.tasks.get(row.task)
    original = next(task for task in whole.board.tasks if task.task == row.task)
    scored = row.scored if columns is None else int(columns.in_score.sum())
    return Cell(
        score=row.score,
        interval=row.interval,
        reason=row.refused or row.reason,
        failed=row.failed + row.timeouts,
        weak_passes=row.weak_passes,
        slices=row.slices,
        coverage=row.coverage,
        scored=row.scored,
        compared=scored if is_shared else 0,
        **_bounds_over(
            _own_bounds(whole, original) if open_attempts(original) or original.left_out else None,
            restricted=compared is not whole,
        ),
    )


def _bounds_over(bounds: Bounds | None, *, restricted: bool) -> dict[str, Bounds | None]:
    """Bounds are over the samples of the score next to them; of those that every model was scored on none failed."""
    return {"bounds": None, "run_bounds": bounds} if restricted else {"bounds": bounds, "run_bounds": None}


def _categories(rows: Sequence[TaskRow], level: float) -> dict[str, Cell]:
    """The mean of each category's tasks, with the tasks' intervals combined as for the overall score."""
    grouped: dict[str, list[TaskRow]] = {}
    for row in rows:
        if row.category is not None and row.score is not None:
            grouped.setdefault(row.category, []).append(row)
    cells = {}
    for category, members in grouped.items():
        score = sum(row.score or 0.0 for row in members) / len(members)
        cells[category] = Cell(score=score, interval=interval_of_tasks(members, level))
    return cells


def _around(value: float | None, ends: tuple[float, float] | None, level: float) -> ScoreInterval | None:
    """Percentiles of the resampled number, widened to include the measured one.

    None where every resample gives the same number: a width of zero would claim certainty.
    """
    if value is None or ends is None:
        return None
    low, high = min(ends[0], value), max(ends[1], value)
    if low == high:
        return None
    return ScoreInterval(low=low, high=high, level=level, method="bootstrap|n=1000|seed=0")


OVER_SHARED = "scores are over the samples that every model was scored on; cost, tokens and latency are not"


def _notes(
    names: Sequence[str], shared: Sequence[str], unequal: Mapping[str, str], models: Sequence[ModelRow]
) -> list[str]:
    notes = []
    if unequal:
        notes.append(OVER_SHARED)
    notes.extend(unequal.values())
    missing = [name for name in names if name not in shared]
    if missing:
        notes.append(f"overall numbers leave out what not every model has a score on: {', '.join(missing)}")
    notes += failed_note(models)
    notes += _attempts_note("with a prompt cut to the context", {row.label: row.prompts_cut for row in models})
    notes += _attempts_note("not yet run", {row.label: row.remaining for row in models})
    for row in models:
        weak = [f"{cell.weak_passes:,} of {name}" for name, cell in row.tasks.items() if cell.weak_passes]
        if weak:
            notes.append(f"{row.label}: weak passes, which rest on the program's own word: {', '.join(weak)}")
    return notes


def failed_note(models: Sequence[ModelRow]) -> list[str]:
    return _attempts_note("failed", {row.label: row.failed + row.timeouts for row in models})


def _notes_of_results(sides: Sequence[Side], labels: Sequence[str]) -> list[str]:
    """The notices of the results' leaderboards, those of all once, which prices they use, and why a cost is unknown."""
    boards = [side.board for side in sides]
    notices = labelled(labels, [board.notices for board in boards])
    # every model has a cell for its cost here
    unknown = [board.cost for board in boards if board.cost is not None and board.cost.amount is None]
    return [*notices, *price_notes(boards, unknown)]


def _attempts_note(what: str, counts: Mapping[str, int]) -> list[str]:
    """One sentence, however many models it is about."""
    some = {label: count for label, count in counts.items() if count}
    if len(some) > 1:
        return [f"attempts {what}: {', '.join(f'{label} {count:,}' for label, count in some.items())}"]
    return [f"{label}: {count_of(count, 'attempt')} {what}" for label, count in some.items()]
