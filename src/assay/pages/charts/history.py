"""Scores of runs in order, with their intervals as a band, the baseline, and where it first got worse."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.pages.charts.chart import AnyMark, Area, Behind, Chart, Curve, Dot, Scale
from assay.pages.charts.ticks import padded_scores
from assay.results.history.history_types import History, HistoryRun
from assay.text.numbers import interval, level_text, number, p_value, signed


def history_chart(
    history: History, colours: Mapping[str, int], *, name: str = "history", link: Callable[[str], str] | None = None
) -> Chart:
    """One point per run, in the colour of its model."""
    known = [(place, point, point.score) for place, point in enumerate(history.runs, start=1)]
    scored = [(place, point, score) for place, point, score in known if score is not None]
    band = [(float(place), p.interval.low, p.interval.high) for place, p, _ in scored if p.interval is not None]
    seen = [score for _, _, score in scored] + [end for _, low, high in band for end in (low, high)]
    low, high = padded_scores(seen or [0.0, 1.0])
    marks: list[AnyMark] = [Area(points=band, tone="quiet")] if len(band) > 1 else []
    last = float(len(history.runs))
    marks += [Curve(points=level, tone="quiet", dashed=True) for level in _levels(history)]
    if len(scored) > 1:
        trend = [(float(place), score) for place, score in enumerate(history.trend, start=1) if score is not None]
        marks.append(Curve(points=trend, tone="quiet"))
    marks += [_dot(history, place, point, score, link) for place, point, score in scored]
    models = list(dict.fromkeys(point.model for point in history.runs))
    return Chart(
        name=name,
        title=f"Score in order of {history.order}",
        x=Scale(low=0.7, high=last + 0.3, label=_axis(history), names=_names(history)),
        y=Scale(low=low, high=high, label="score"),
        marks=marks,
        behind=_behind(history),
        note=f"Band: {level_text(history.level)} intervals. Line: the score over the samples that all "
        "compared runs share. Dashed: the mean of each level of runs between which no "
        "change was found. Hollow: more than the answers changed since the run before.",
        series=models,
        colours={model: colours[model] for model in models},
        full_width=True,
    )


def _levels(history: History) -> list[list[tuple[float, float]]]:
    """The mean of the trend over the runs of each level, from its first run to its last."""
    starts = [0]
    for place, point in enumerate(history.runs):
        if point.step is not None and place - point.step.window + 1 > starts[-1]:
            starts.append(place - point.step.window + 1)
    levels = []
    for start, end in zip(starts, [*starts[1:], len(history.runs)], strict=True):
        scores = [score for score in history.trend[start:end] if score is not None]
        if scores:
            mean = sum(scores) / len(scores)
            levels.append([(start + 1.0, mean), (float(end), mean)])
    return levels


def _axis(history: History) -> str:
    days = {point.created[:10] for point in history.runs}
    day = f", {days.pop()}" if history.order == "time" and len(days) == 1 else ""
    return f"runs in order of {history.order}{day}"


def _names(history: History) -> list[str]:
    """Days, with the time of day where several runs share one."""
    if history.order == "commit":
        return [point.commit[:7] for point in history.runs]
    days, times = ([point.created[begin:end] for point in history.runs] for begin, end in ((0, 10), (11, 16)))
    if len(set(days)) == 1:
        return times
    return days if len(set(days)) == len(days) else [f"{day} {time}" for day, time in zip(days, times, strict=True)]


def _dot(history: History, place: int, point: HistoryRun, score: float, link: Callable[[str], str] | None) -> Dot:
    lines = [f"{point.run}, {point.created[:16].replace('T', ' ')}", f"{point.model}: {number(score)}"]
    if point.difference is not None:
        lines.append(f"{signed(point.difference)} against {history.baseline or 'the level before'}")
    lines += [change for change in (point.reason, *point.changes) if change]
    return Dot(
        x=place,
        y=score,
        series=point.model,
        hollow=bool(point.changes),
        size=1.0 if point.step is None else 1.4,
        text="" if point.step is None else point.verdict,
        tip="\n".join(lines),
        link=link(point.run) if link else "",
    )


def _behind(history: History) -> Behind:
    rows = [
        [
            point.created[:16].replace("T", " "),
            point.run,
            point.model,
            "; ".join(point.changes),
            number(point.score, 4),
            interval(point.interval, 4),
            signed(point.difference, 4),
            point.verdict,
            p_value(point.step.p_value if point.step else None),
        ]
        for point in history.runs
    ]
    header = [
        "when",
        "run",
        "model",
        "changed",
        "score",
        f"{level_text(history.level)} interval",
        "vs baseline" if history.baseline else "vs level before",
        "verdict",
        "p",
    ]
    return Behind(header=header, rows=rows, numeric_from=4)
