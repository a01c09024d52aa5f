"""How scores are spread, and, on a log scale, latency, length and tokens: a row of bars for each model or task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.pages.charts.chart import AnyMark, Bands, Bar, Behind, Chart, Dot, Scale
from assay.pages.charts.ticks import FORMS
from assay.results.board.amounts import Amounts
from assay.results.pace import Pace
from assay.text.numbers import number

PER_DECADE = 10
"""Bars between one power of ten and the next."""


class Quantity(NamedTuple):
    """Something that every attempt has an amount of."""

    name: str
    title: str
    label: str
    form: str
    of: Callable[[Pace], Amounts]


LATENCY = Quantity("latency-spread", "Time per attempt", "time per attempt, log scale", "seconds", lambda p: p.seconds)
LENGTH = Quantity("length-spread", "Length of answers", "characters, log scale", "", lambda p: p.characters)
TOKENS = Quantity("token-spread", "Tokens written", "tokens per attempt, log scale", "", lambda p: p.tokens)


def spread_charts(rows: Mapping[str, Sequence[Pace]], colours: Mapping[str, int]) -> list[Chart]:
    """One chart per quantity; each row is a model or a task with the paces it is made of."""
    charts = []
    for quantity in (LATENCY, LENGTH, TOKENS):
        amounts = {name: Amounts.together(map(quantity.of, paces)) for name, paces in rows.items()}
        charts.append(spread_chart(quantity, amounts, colours))
    return [chart for chart in charts if chart is not None]


def spread_chart(quantity: Quantity, rows: Mapping[str, Amounts], colours: Mapping[str, int]) -> Chart | None:
    """None where there is nothing above 0."""
    bins = {name: _bins(amounts) for name, amounts in rows.items()}
    known = [place for counts in bins.values() for place in counts]
    if not known:
        return None
    low, high = 10 ** (min(known) / PER_DECADE), 10 ** ((max(known) + 1) / PER_DECADE)
    most = max(max(counts.values(), default=0) / max(sum(counts.values()), 1) for counts in bins.values())
    written = FORMS[quantity.form]
    marks: list[AnyMark] = []
    table = []
    for row, (name, counts) in enumerate(bins.items()):
        total = sum(counts.values())
        if not total:
            continue
        for place, count in sorted(counts.items()):
            ends = 10 ** (place / PER_DECADE), 10 ** ((place + 1) / PER_DECADE)
            height = 0.84 * count / total / most
            tip = f"{name}: {count:,} of {total:,} from {written(ends[0])} to {written(ends[1])}"
            marks.append(Bar(x=ends, y=(row + 0.44, row + 0.44 - height), series=name, tip=tip))
        p50, p95 = rows[name].percentiles((0.5, 0.95))
        for share, at in ((50, p50), (95, p95)):
            if at > 0.0:
                tip = f"{name}: {share} % take at most {written(at)}"
                marks.append(Dot(x=at, y=row + 0.44, series=name, size=0.8, hollow=share == 95, tip=tip))
        table.append([name, f"{total:,}", written(p50), written(p95), written(rows[name].mean or 0.0)])
    return Chart(
        name=quantity.name,
        title=quantity.title,
        x=Scale(low=low, high=high, label=quantity.label, log=True, form=quantity.form),
        y=Bands(names=list(bins)),
        marks=marks,
        behind=Behind(header=["name", "attempts", "p50", "p95", "mean"], rows=table),
        note="Each row is scaled to its own number of attempts. Filled: the median; hollow: the 95th percentile.",
        colours=dict(colours),
    )


class BinCounts(NamedTuple):
    """How many values lie between each edge and the next."""

    edges: Sequence[float]
    counts: Sequence[int]
    mean: float


def score_spread(
    rows: Mapping[str, BinCounts], colours: Mapping[str, int], link: Callable[[str, float, float], str]
) -> Chart | None:
    """The scores of each task, each bar with a link to the samples in it; None where there is nothing to see."""
    if not any(sum(each.counts) for each in rows.values()):
        return None
    marks: list[AnyMark] = []
    table = []
    for row, (name, bins) in enumerate(rows.items()):
        total, most = sum(bins.counts), max(*bins.counts, 1)
        for low, high, count in zip(bins.edges, bins.edges[1:], bins.counts, strict=False):
            if count:
                tip = f"{name}: {count:,} of {total:,} from {low:g} to {high:g}"
                ends = (row + 0.44, row + 0.44 - 0.84 * count / most)
                marks.append(Bar(x=(low, high), y=ends, series=name, tip=tip, link=link(name, low, high)))
        marks.append(Dot(x=bins.mean, y=row + 0.44, series=name, size=0.8, tip=f"{name}: mean {number(bins.mean)}"))
        table.append([name, f"{total:,}", number(bins.mean)])
    return Chart(
        name="score-spread",
        title="Scores of the samples",
        x=Scale(
            low=min(each.edges[0] for each in rows.values()),
            high=max(each.edges[-1] for each in rows.values()),
            label="score",
        ),
        y=Bands(names=list(rows)),
        marks=marks,
        behind=Behind(header=["name", "scored", "mean"], rows=table),
        note="Each row is scaled to its tallest bar. The point is the mean. Choose a bar to read the samples in it.",
        colours=dict(colours),
    )


def _bins(amounts: Amounts) -> Counter[int]:
    """Counts by tenth of a decade; nothing is 0 on a log scale."""
    counts: Counter[int] = Counter()
    for value, count in amounts.frequencies():
        if value > 0.0:
            counts[math.floor(math.log10(value) * PER_DECADE + 1e-9)] += count
    return counts
