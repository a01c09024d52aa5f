"""Standings as a document and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from assay.core.types import Bounds
from assay.costs.spending import is_worth_showing, money
from assay.pages.document import Block, Cell, Items, Sentence, Span, TextTable
from assay.pages.documents.leaderboard import interval_header, percentiles
from assay.results.board.board_types import ScoreInterval
from assay.results.csv_cells import harmless
from assay.results.standings.standing_rows import Cell as TaskCell
from assay.results.standings.standing_rows import ModelRow, Standings
from assay.text.numbers import interval, number, percent, signed, signed_interval
from assay.text.printable import one_line
from assay.text.wording import few

CsvField = tuple[str, str | float | None]


def standings_document(standings: Standings) -> list[Block]:
    """Ranks and totals, then scores per task, per category and per slice."""
    limits = shared_alone(standings)
    blocks: list[Block] = [
        *([Sentence(Span(limits, "strong"))] if limits else []),
        *_places(standings),
        scores_table(standings),
    ]
    blocks += [part for part in (categories_table(standings), slices_table(standings)) if part is not None]
    blocks += [Sentence(item) for item in how_made(standings)]
    return [*blocks, Items([one_line(note) for note in standings.notes])] if standings.notes else blocks


def shared_alone(standings: Standings) -> str:
    """That not all were scored on the same, on what they are compared, and how to mend that; empty where all were."""
    if not standings.unequal:
        return ""
    some = [row for row in standings.models if row.failed + row.timeouts + row.remaining]
    shared = f"compared on the {min(row.compared for row in standings.models):,} that all share"
    if not some:
        return f"! not scored on the same samples with the same targets: {shared}"
    who = few([one_line(row.label) for row in some], 3)
    again = f"rerun the command of {few([row.source for row in some], 3)} to complete it"
    return f"! not all attempts of {who} were scored: {shared}, open ones improve no rank; {again}"


def ranks_document(standings: Standings) -> list[Block]:
    """Ranks and overall scores alone, for a page that says the rest elsewhere."""
    quality = _places(standings)[0]
    kept = [at for at, name in enumerate(quality.header) if name not in _BESIDES_RANKS]
    rows = [[row[at] for at in kept] for row in quality.rows]
    table = TextTable(header=[quality.header[at] for at in kept], rows=rows, numeric_from=2)
    return [table, Sentence(f"Ranks: {standings.ranking.partition(';')[0]}.")]


_BESIDES_RANKS = ("coverage", "compared", "normalised", "win rate", "mean rank")


def how_made(standings: Standings) -> list[str]:
    """What the scores are, and how ranks and normalised scores come from them."""
    ranks = f"Ranks: {standings.ranking}. Normalised: {NORMALISED[standings.normalisation]}."
    metrics = {task: standings.metrics[task] for task in standings.tasks}
    about = "of the answers to these questions; intervals and ranks are about such questions"
    return [f"Scores: {metrics_in_words(metrics)}, {about}.", ranks]


def metrics_in_words(metrics: Mapping[str, str]) -> str:
    """Which metric each task has, those of one metric together."""
    tasks: dict[str, list[str]] = {}
    for task, metric in metrics.items():
        tasks.setdefault(metric, []).append(task)
    if len(tasks) == 1:
        return one_line(next(iter(tasks)))
    return one_line("; ".join(f"{metric} of {few(names)}" for metric, names in tasks.items()))


NORMALISED = {
    "z": "mean distance from the models' mean, in standard deviations, so that every task weighs the same",
    "chance": "0 is guessing, 1 is perfect",
    "none": "the scores as they are",
}


def standings_csv(standings: Standings) -> str:
    """One line per model, everything in columns; empty where there is no number."""
    categories = _category_names(standings)
    rows = [_csv_fields(row, standings.tasks, categories) for row in standings.models]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_harmless(name) for name, _ in fields] for fields in rows[:1])
    writer.writerows([_harmless(value) for _, value in fields] for fields in rows)
    return text.getvalue()


def _category_names(standings: Standings) -> list[str]:
    return list(dict.fromkeys(name for row in standings.models for name in row.categories))


def place_table(standings: Standings) -> TextTable:
    """Every model with its rank, its numbers on quality, and what they cost in money and time."""
    judges = ["judges' cost", "judges' tokens"] if judged(standings) else []
    cost = ["cost"] if _costs(standings) else []
    spending = [*cost, "tokens in", "tokens out", *judges, "p50 ms", "p95 ms", "failed"]
    header = ["rank", "model", *_quality_header(standings), *spending]
    return TextTable(header=header, rows=[_place_cells(row, standings) for row in standings.models], numeric_from=2)


def _quality_header(standings: Standings) -> list[str]:
    """The names of the columns on quality; the others are on cost and time."""
    overall = "overall (shared)" if standings.unequal else "overall"
    bounds = [bounds_header(standings)] if bounded(standings) else []
    coverage = ["coverage", "compared"] if standings.unequal else ["coverage"]
    return [overall, interval_header(standings.level), *bounds, *coverage, "normalised", "win rate", "mean rank"]


def bounded(standings: Standings) -> bool:
    """Whether attempts failed, so that some score is known only within bounds."""
    return any((row.bounds or row.run_bounds) is not None for row in standings.models)


def bounds_header(standings: Standings) -> str:
    """What the bounds are of: the score next to them, or the whole run where that is over some of its samples."""
    return "bounds of the run" if any(row.run_bounds is not None for row in standings.models) else "bounds"


def _costs(standings: Standings) -> bool:
    """Whether some model cost something, or may have."""
    return any(is_worth_showing(row.cost) for row in standings.models)


def judged(standings: Standings) -> bool:
    """Whether judges cost something, or may have."""
    return any(is_worth_showing(row.judge_cost) for row in standings.models)


def _place_cells(row: ModelRow, standings: Standings) -> list[Cell]:
    failed = row.failed + row.timeouts
    return [
        row.rank,
        row.label,
        Span(number(row.overall), "key"),
        Span(interval(row.interval), "quiet"),
        *([interval(row.bounds or row.run_bounds)] if bounded(standings) else []),
        percent(row.coverage),
        *([f"{row.compared:,} of {row.scored:,}"] if standings.unequal else []),
        _with_interval(signed(row.normalised, 2), row.normalised_interval, signed_interval),
        _with_interval(number(row.win_rate, 2), row.win_rate_interval, interval),
        _with_interval(number(row.mean_rank, 2), row.mean_rank_interval, interval),
        *([money(row.cost)] if _costs(standings) else []),
        f"{row.tokens_in:,}",
        f"{row.tokens_out:,}",
        *([money(row.judge_cost), f"{row.judge_tokens:,}"] if judged(standings) else []),
        *percentiles(row.latency),
        Span(f"{failed:,}", "bad" if failed else "plain"),
    ]


def _with_interval(value: str, ends: ScoreInterval | None, written: Callable[[ScoreInterval, int], str]) -> Span:
    """A number with its interval, or without it where there is no room."""
    return Span(value) if ends is None else Span(f"{value} ({written(ends, 2)})", shorter=(value,))


def _cell_text(cell: TaskCell | None) -> str:
    """A score with its interval."""
    if cell is None or cell.score is None:
        return "–"
    return "".join([number(cell.score), f" ({interval(cell.interval)})" if cell.interval else "", _cell_besides(cell)])


def _cell_besides(cell: TaskCell) -> str:
    """Notes on a score in addition to its interval."""
    notes = [f"{cell.weak_passes:,} weak"] if cell.weak_passes else []
    notes += [f"bounds {interval(cell.bounds)}"] if cell.bounds is not None else []
    notes += [f"bounds of the run {interval(cell.run_bounds)}"] if cell.run_bounds is not None else []
    if cell.compared is not None and cell.scored is not None and cell.compared < cell.scored:
        notes.append(f"{cell.compared:,} of {cell.scored:,} compared")
    return "".join(f", {note}" for note in notes)


def _task_names(standings: Standings) -> list[str]:
    """The tasks; those excluded from overall numbers are marked."""
    return [task if task in standings.shared else f"{task} (not compared)" for task in standings.tasks]


def _places(standings: Standings) -> list[TextTable]:
    """The table of places in two, quality and spending: as one it would be wider than a terminal."""
    whole = place_table(standings)
    split = 2 + len(_quality_header(standings))
    quality = [row[:split] for row in whole.rows]
    spending = [[row[1], *row[split:]] for row in whole.rows]
    return [
        TextTable(header=whole.header[:split], rows=quality, numeric_from=2, drops=QUALITY_DROPS),
        TextTable(header=["model", *whole.header[split:]], rows=spending, numeric_from=1, drops=SPENDING_DROPS),
    ]


QUALITY_DROPS = ("mean rank", "win rate", "normalised", "compared", "coverage", "bounds of the run", "bounds")
SPENDING_DROPS = ("judges' tokens", "p95 ms", "p50 ms", "tokens in", "tokens out")


def scores_table(standings: Standings) -> TextTable:
    rows: list[list[Cell]] = [
        [row.label, *(_score(row.tasks.get(task)) for task in standings.tasks)] for row in standings.models
    ]
    return TextTable(header=["model", *_task_names(standings)], rows=rows, numeric_from=1)


def _score(cell: TaskCell | None) -> Span:
    if cell is None or cell.score is None:
        return Span("–")
    with_interval = _cell_text(TaskCell(score=cell.score, interval=cell.interval))
    return Span(_cell_text(cell), shorter=(with_interval, number(cell.score)))


def categories_table(standings: Standings) -> TextTable | None:
    names = _category_names(standings)
    if not names:
        return None
    rows: list[list[Cell]] = [
        [row.label, *(_score(row.categories.get(name)) for name in names)] for row in standings.models
    ]
    return TextTable(header=["model", *(f"category {name}" for name in names)], rows=rows, numeric_from=1)


def slices_table(standings: Standings) -> TextTable | None:
    rows: list[list[Cell]] = [
        [
            row.label,
            task,
            f"{each.by} = {each.value}",
            Span(number(each.score), "key"),
            Span(interval(each.interval), "quiet"),
            f"{each.scored:,}",
            Span("weak", "bad") if each.weak else "",
        ]
        for row in standings.models
        for task, cell in row.tasks.items()
        for each in cell.slices
    ]
    if not rows:
        return None
    header = ["model", "task", "slice", "score", interval_header(standings.level), "scored", ""]
    return TextTable(header=header, rows=rows, numeric_from=3, drops=("scored",))


def _csv_fields(row: ModelRow, tasks: Sequence[str], categories: Sequence[str]) -> list[CsvField]:
    fields: list[CsvField] = [("rank_low", row.rank_low), ("rank_high", row.rank_high)]
    fields += [("model", row.label), ("source", row.source)]
    fields += [
        ("overall", row.overall),
        *_ends("overall", row.interval),
        *_ends("overall_bounds", row.bounds),
        *_ends("overall_run_bounds", row.run_bounds),
    ]
    fields += [("coverage", row.coverage), ("scored", row.scored), ("compared", row.compared)]
    fields += [("normalised", row.normalised), *_ends("normalised", row.normalised_interval)]
    fields += [("win_rate", row.win_rate), *_ends("win_rate", row.win_rate_interval)]
    fields += [("mean_rank", row.mean_rank), *_ends("mean_rank", row.mean_rank_interval)]
    for task in tasks:
        cell = row.tasks.get(task, TaskCell(score=None))
        fields += [
            (task, cell.score),
            *_ends(task, cell.interval),
            *_ends(f"{task}_bounds", cell.bounds),
            *_ends(f"{task}_run_bounds", cell.run_bounds),
        ]
        fields += [(f"{task}_coverage", cell.coverage), (f"{task}_compared", cell.compared)]
    for name in categories:
        cell = row.categories.get(name, TaskCell(score=None))
        fields += [(f"category_{name}", cell.score), *_ends(f"category_{name}", cell.interval)]
    cost, judge_cost, latency = row.cost, row.judge_cost, row.latency
    fields += [("cost", cost.amount if cost else None), ("currency", cost.currency if cost else None)]
    fields += [("judge_cost", judge_cost.amount if judge_cost else None)]
    fields += [("tokens_in", row.tokens_in), ("tokens_out", row.tokens_out), ("judge_tokens", row.judge_tokens)]
    fields += [
        ("latency_p50_ms", latency.p50 if latency else None),
        ("latency_p95_ms", latency.p95 if latency else None),
    ]
    graded = [cell.weak_passes for cell in row.tasks.values() if cell.weak_passes is not None]
    fields += [("failed", row.failed), ("timeouts", row.timeouts), ("remaining", row.remaining)]
    return [*fields, ("weak_passes", sum(graded) if graded else None)]


def _ends(name: str, interval: ScoreInterval | Bounds | None) -> list[CsvField]:
    low, high = (interval.low, interval.high) if interval is not None else (None, None)
    return [(f"{name}_low", low), (f"{name}_high", high)]


def _harmless(cell: str | float | None) -> str | float | None:
    return harmless(cell) if isinstance(cell, str) else cell
