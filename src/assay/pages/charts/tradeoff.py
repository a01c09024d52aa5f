"""Score against what it costs, or how long it takes, with the models that no other beats on both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.pages.charts.chart import AnyMark, Behind, Chart, Curve, Dot, Scale
from assay.pages.charts.ticks import FORMS, padded, padded_scores
from assay.results.standings.ranks import unbeaten
from assay.results.standings.standing_rows import ModelRow, Standings
from assay.text.numbers import number


def tradeoff_charts(standings: Standings, colours: Mapping[str, int]) -> list[Chart]:
    """Cost and latency against the overall score, where two models at least have both numbers."""
    currency = next((row.cost.currency for row in standings.models if row.cost and row.cost.amount is not None), "USD")
    wanted: list[tuple[str, str, str, str, Callable[[ModelRow], float | None]]] = [
        ("cost", "Cost against score", f"cost of the run, {currency}", "", _cost),
        ("latency", "Latency against score", "median time per attempt", "seconds", _seconds),
    ]
    charts = []
    for name, title, label, form, of in wanted:
        rows = [row for row in standings.models if of(row) is not None and row.overall is not None]
        if len(rows) > 1:
            charts.append(_chart(name, title, label, form, rows, of, colours))
    return charts


def _chart(
    name: str,
    title: str,
    label: str,
    form: str,
    rows: Sequence[ModelRow],
    of: Callable[[ModelRow], float | None],
    colours: Mapping[str, int],
) -> Chart:
    points = [(of(row) or 0.0, row.overall or 0.0) for row in rows]
    front = unbeaten(points)
    amounts = [x for x, _ in points]
    log = min(amounts) > 0.0 and max(amounts) / min(amounts) > 8.0
    low, high = padded(amounts, log=log, room=0.1)
    seen = [y for _, y in points] + [
        end for row in rows if row.interval for end in (row.interval.low, row.interval.high)
    ]
    bottom, top = padded_scores(seen)
    shown = FORMS[form]
    dots: list[AnyMark] = [
        Dot(
            x=x,
            y=y,
            y_interval=(row.interval.low, row.interval.high) if row.interval else None,
            series=row.label,
            text=row.label,
            hollow=place not in front,
            tip=f"{row.label}: {number(y)} at {shown(x)}"
            + ("\nno model is both better and cheaper or faster" * (place in front)),
        )
        for place, ((x, y), row) in enumerate(zip(points, rows, strict=True))
    ]
    path = [points[place] for place in front]
    joined: list[AnyMark] = [Curve(points=path, tone="quiet", dashed=True, steps=True)] if len(path) > 1 else []
    return Chart(
        name=name,
        title=title,
        x=Scale(low=low if log else max(low, 0.0), high=high, label=label, log=log, form=form),
        y=Scale(low=bottom, high=top, label="overall score"),
        marks=[*joined, *dots],
        behind=Behind(
            header=["model", label, "overall score", "on the front"],
            rows=[
                [row.label, f"{x:.6g}", number(y, 4), "yes" if place in front else ""]
                for place, ((x, y), row) in enumerate(zip(points, rows, strict=True))
            ],
        ),
        note="Filled: on the Pareto front: no other model is as good for less. Hollow: another one is.",
        colours={row.label: colours[row.label] for row in rows},
    )


def _cost(row: ModelRow) -> float | None:
    return None if row.cost is None else row.cost.amount


def _seconds(row: ModelRow) -> float | None:
    return None if row.latency is None else row.latency.p50 / 1000.0
