"""A value and its interval per row: scores per task, differences between two results, slices next to their task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from assay.pages.charts.chart import Bands, Behind, Chart, Dot, Scale, Tone
from assay.pages.charts.ticks import round_ends
from assay.results.board.board_types import Leaderboard, ScoreInterval, TaskRow
from assay.results.board.overall import failed_attempts
from assay.results.board.slices import shown_slices
from assay.results.diff.differences import BoardDiff, OverallDiff
from assay.results.standings.standing_rows import Standings
from assay.stats.intervals import Interval
from assay.stats.paired import PairedComparison
from assay.text import numbers

Link = Callable[[str, str], str]
"""From a series and a row to the samples it is made of."""


MOST_SLICES = 60
"""More of them are a table."""


class ForestRow(Struct, frozen=True, kw_only=True):
    name: str
    value: float | None
    ends: tuple[float, float] | None = None
    """Of its interval."""
    series: str = ""
    group: str = ""
    tone: Tone = ""
    note: str = ""
    link: str = ""


def scores_chart(
    results: Sequence[tuple[str, Leaderboard]], colours: Mapping[str, int], *, link: Link | None = None
) -> list[Chart]:
    """Every task's score with its interval, the models side by side, then the overall score; what is better when it is
    lower has a scale, and a chart, of its own.
    """
    several = len(results) > 1
    charts = []
    for falling in (False, True):
        rows = [
            _score_row(label, row, several=several, link=link)
            for task in _tasks(results)
            for label, board in results
            for row in board.tasks
            if row.task == task and bool(row.lower_is_better) is falling
        ]
        if not falling and len({row.group or row.name for row in rows}) > 1:
            rows += [
                _row("overall", label, board.overall_score, board.overall_interval, several=several)
                for label, board in results
            ]
        if any(row.value is not None for row in rows):
            title = "Scores where lower is better" if falling else "Score per task"
            charts.append(_scores("scores-falling" if falling else "scores", title, rows, colours, results[0][1].level))
    return charts


def standings_chart(standings: Standings, colours: Mapping[str, int]) -> Chart | None:
    """The overall score of every model, best first; none where no model has one."""
    if all(row.overall is None for row in standings.models):
        return None
    rows = [
        ForestRow(
            name=row.label,
            series=row.label,
            value=row.overall,
            ends=_ends(row.interval),
            note=f"rank {row.rank}",
        )
        for row in standings.models
    ]
    return _scores("overall", f"Overall score{over_what(standings)}", rows, colours, standings.level)


def over_what(standings: Standings) -> str:
    """What a title adds where scores are not those of whole runs."""
    return " on the samples that all were scored on" if standings.unequal else ""


def differences_chart(diff: BoardDiff) -> Chart | None:
    """B minus A with its interval, task by task; coloured where it is significant."""
    compared: list[tuple[str, PairedComparison | OverallDiff | None, bool]] = [
        *((task.task, task.comparison, task.significant) for task in diff.tasks),
        ("overall", diff.overall, diff.overall is not None and diff.overall.significant),
    ]
    rows = [
        ForestRow(
            name=name,
            value=each.difference,
            ends=_ends(each.interval),
            tone=_tone(each.difference, significant=significant),
        )
        for name, each, significant in compared
        if each is not None
    ]
    if not any(row.value is not None for row in rows):
        return None
    return forest(
        "differences",
        f"{diff.label_b} minus {diff.label_a}",
        rows,
        signed=True,
        label="difference in score",
        value_head="difference",
        level=diff.level,
        note="Coloured where the paired test, corrected for the number of tasks, finds a difference.",
    )


def slices_chart(results: Sequence[tuple[str, Leaderboard]], colours: Mapping[str, int]) -> Chart | None:
    """How far every slice lies from the score of its whole task."""
    several = len(results) > 1
    rows = []
    for label, board in results:
        for row in board.tasks:
            for part in shown_slices(row.slices):
                if row.score is None or part.score is None:
                    continue
                ends = _ends(part.interval)
                rows.append(
                    ForestRow(
                        name=label if several else part.value,
                        group=f"{row.task}, {part.by} = {part.value}"
                        if several
                        else f"{row.task} by {part.by}, {numbers.number(row.score)} over all",
                        series=label,
                        value=part.score - row.score,
                        ends=None if ends is None else (ends[0] - row.score, ends[1] - row.score),
                        tone="worse" if part.weak else "",
                        note=f"{row.task}, {part.by} = {part.value}: {numbers.number(part.score)} over {part.scored:,}",
                    )
                )
    if not rows or len(rows) > MOST_SLICES:
        return None
    places = {row.group: place for place, row in reversed(list(enumerate(rows)))}
    rows.sort(key=lambda row: places[row.group])
    return forest(
        "slices",
        "Slices, as deviation from the whole task",
        rows,
        colours=colours,
        signed=True,
        label="score minus the task's score",
        value_head="deviation",
        level=results[0][1].level,
        note="Coloured as worse where a slice is significantly weaker than the rest of its task (Holm).",
    )


def forest(
    name: str,
    title: str,
    rows: Sequence[ForestRow],
    *,
    colours: Mapping[str, int] = MappingProxyType({}),
    signed: bool = False,
    label: str = "",
    value_head: str = "score",
    level: float = 0.95,
    note: str = "",
) -> Chart:
    """One row each, on a common scale; with `signed`, around 0."""
    series = list(dict.fromkeys(row.series for row in rows if row.series))
    low, high = _range(rows, signed=signed)
    return Chart(
        name=name,
        title=title,
        x=Scale(low=low, high=high, label=label, form="signed" if signed else ""),
        y=Bands(names=[row.name for row in rows], groups=_groups(rows)),
        marks=[
            Dot(
                x=row.value,
                y=place,
                x_interval=row.ends,
                series=row.series,
                tone=row.tone,
                text=_value_text(row, signed=signed),
                tip=_tip(row, signed=signed),
                link=row.link,
            )
            for place, row in enumerate(rows)
            if row.value is not None
        ],
        behind=_behind(rows, value_head, level, signed=signed),
        note=note,
        series=series if len(series) > 1 and _groups(rows) else [],
        colours={name: colours[name] for name in series},
        full_width=len(rows) > 12,
    )


def _scores(name: str, title: str, rows: Sequence[ForestRow], colours: Mapping[str, int], level: float) -> Chart:
    return forest(
        name, title, rows, colours=colours, level=level, note=f"Whiskers are {numbers.level_text(level)} intervals."
    )


def _score_row(label: str, row: TaskRow, *, several: bool, link: Link | None) -> ForestRow:
    note = f"{row.scored:,} scored" if row.correct is None else f"{row.correct:,} of {row.scored:,} right"
    broken = failed_attempts(row)
    if broken:
        note += f", {broken:,} failed"
    href = link(label, row.task) if link else ""
    return _row(row.task, label, row.score, row.interval, several=several, note=note, link=href)


def _row(
    task: str,
    label: str,
    value: float | None,
    interval: ScoreInterval | None,
    *,
    several: bool,
    note: str = "",
    link: str = "",
) -> ForestRow:
    return ForestRow(
        name=label if several else task,
        group=task if several else "",
        series=label,
        value=value,
        ends=_ends(interval),
        note=note,
        link=link,
    )


def _ends(interval: ScoreInterval | Interval | None) -> tuple[float, float] | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def _tasks(results: Sequence[tuple[str, Leaderboard]]) -> list[str]:
    return list(dict.fromkeys(row.task for _, board in results for row in board.tasks))


def _groups(rows: Sequence[ForestRow]) -> list[str]:
    return [row.group for row in rows] if any(row.group for row in rows) else []


def _tone(difference: float | None, *, significant: bool) -> Tone:
    if not significant or not difference:
        return "quiet"
    return "better" if difference > 0 else "worse"


def _range(rows: Sequence[ForestRow], *, signed: bool) -> tuple[float, float]:
    seen = [end for row in rows for end in (row.value, *(row.ends or ())) if end is not None]
    if signed:
        reach = max((abs(item) for item in seen), default=0.0) or 0.1
        low, high = round_ends(-reach, reach)
        return min(low, -high), max(high, -low)
    if all(0.0 <= item <= 1.0 for item in seen):
        return 0.0, 1.0
    return round_ends(min([0.0, *seen]), max(seen))


def _value_text(row: ForestRow, *, signed: bool) -> str:
    written = numbers.signed if signed else numbers.number
    if row.value is None:
        return ""
    return written(row.value) + (f" ({written(row.ends[0])} – {written(row.ends[1])})" if row.ends else "")


def _tip(row: ForestRow, *, signed: bool) -> str:
    name = f"{row.group}, {row.name}" if row.group else row.name
    return f"{name}: {_value_text(row, signed=signed)}" + (f"\n{row.note}" if row.note else "")


def _behind(rows: Sequence[ForestRow], value_head: str, level: float, *, signed: bool) -> Behind:
    grouped, noted = bool(_groups(rows)), any(row.note for row in rows)
    header = [*(["group"] if grouped else []), "name", *(["note"] if noted else [])]
    header += [value_head, f"{numbers.level_text(level)} low", f"{numbers.level_text(level)} high"]
    written = numbers.signed if signed else numbers.number
    cells = [
        [
            *([row.group] if grouped else []),
            row.name,
            *([row.note] if noted else []),
            *(written(value, 4) for value in (row.value, *(row.ends or (None, None)))),
        ]
        for row in rows
    ]
    return Behind(header=header, rows=cells, numeric_from=len(header) - 3)
