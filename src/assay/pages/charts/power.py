"""The chance to find a difference against the number of samples."""

from __future__ import annotations

from assay.pages.charts.chart import AnyMark, Behind, Chart, Curve, Dot, Scale
from assay.results.sample_plan import PlanRow, SamplePlan
from assay.text.numbers import number, percent


def power_chart(plan: SamplePlan, task: str, name: str) -> Chart:
    """A curve for every number of attempts, with the samples at hand as points."""
    rows = [row for row in plan.rows if row.task == task]
    series = [_series(row) for row in rows]
    last = max(point.samples for row in rows for point in row.curve)
    first = min(point.samples for row in rows for point in row.curve)
    marks: list[AnyMark] = [
        Curve(points=[(float(first), plan.power), (float(last), plan.power)], tone="quiet", dashed=True)
    ]
    table = []
    for row, label in zip(rows, series, strict=True):
        marks.append(Curve(points=[(float(item.samples), item.power) for item in row.curve], series=label))
        tip = f"{row.samples:,} samples at hand, {label}: found in {percent(row.power)} of comparisons"
        marks.append(Dot(x=float(row.samples), y=row.power, series=label, tip=tip))
        table += [[label, f"{item.samples:,}", percent(item.power)] for item in row.curve]
    return Chart(
        name=name,
        title=f"{task}: the chance to find a difference of {number(plan.detect)}",
        x=Scale(low=float(first), high=float(last), label="samples", log=True),
        y=Scale(low=0.0, high=1.0, label="found", form="percent"),
        marks=marks,
        behind=Behind(header=["attempts", "samples", "found"], rows=table, numeric_from=1),
        note=f"Points: the samples at hand. Dashed: {percent(plan.power)}, which a plan asks for.",
        series=series,
        colours={label: slot for slot, label in enumerate(series)},
    )


def _series(row: PlanRow) -> str:
    return "1 attempt" if row.repeat == 1 else f"{row.repeat:,} attempts"
