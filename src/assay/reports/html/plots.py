"""Plots as inline SVG. Rows stretch with the page by percentages, and labels stay HTML, so a phone can read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from assay.reports.html.element import Child, Html, tag
from assay.stats.calibration import ReliabilityBin


class PlotRow(Struct, frozen=True, kw_only=True):
    """One row of a plot: a value, and where it may well lie."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    series: str = ""
    """Which model or side, when rows of several stand together."""
    tone: str = ""
    """`better` or `worse` where the row should say so."""
    note: str = ""


def forest(marks: Sequence[PlotRow], *, zero: bool = False, digits: int = 3) -> Html:
    """A forest plot: a point and its interval per row; with `zero`, differences around a line at 0."""
    low, high = _range(marks, zero=zero)
    rows = []
    for index, mark in enumerate(marks):
        new = index == 0 or marks[index - 1].label != mark.label
        rows.append(
            tag(
                "tr",
                tag("th", mark.label, scope="row") if new else tag("td"),
                tag("td", mark.series, class_="soft") if any(each.series for each in marks) else None,
                tag("td", _track(mark, low, high, zero=zero), class_="track"),
                tag("td", _told(mark, digits, zero=zero), class_="n"),
                class_="first" if new and index else None,
            )
        )
    width = 3 if any(each.series for each in marks) else 2
    axis = tag(
        "tr",
        [tag("td") for _ in range(width - 1)],
        tag("td", _axis(low, high, zero=zero), class_="track"),
        tag("td"),
    )
    return _scrolling(tag("table", tag("tbody", rows, axis), class_="plot forest"))


def bars(marks: Sequence[PlotRow]) -> Html:
    """A bar per row from 0, with its interval drawn over it."""
    high = max(1.0, *(mark.value or 0.0 for mark in marks), *(mark.high or 0.0 for mark in marks))
    rows = []
    for index, mark in enumerate(marks):
        new = index == 0 or marks[index - 1].label != mark.label
        drawn = [tag("rect", x="0", y="3", width="100%", height="14", rx="2", class_="back")]
        if mark.value is not None:
            drawn.append(
                tag(
                    "rect",
                    x="0",
                    y="3",
                    width=_at(max(0.0, mark.value), 0.0, high),
                    height="14",
                    rx="2",
                    class_=f"bar {mark.tone}".strip(),
                )
            )
        rows.append(
            tag(
                "tr",
                tag("th", mark.label, scope="row") if new else tag("td"),
                tag("td", mark.series, class_="soft") if any(each.series for each in marks) else None,
                tag("td", tag("svg", drawn, width="100%", height="20", role="img", aria_hidden="true"), class_="track"),
                tag("td", "–" if mark.value is None else f"{mark.value:z.3f}", class_="n"),
                tag("td", mark.note, class_="soft note") if any(each.note for each in marks) else None,
                class_="first" if new and index else None,
            )
        )
    return _scrolling(tag("table", tag("tbody", rows), class_="plot bars"))


def reliability(bins: Sequence[ReliabilityBin], label: str) -> Html:
    """How often answers of each confidence were right; on the dashed line they would be right as often as stated."""
    side, edge = 240.0, 40.0
    most = max((each.count for each in bins), default=1) or 1
    drawn = [
        tag("rect", x=edge, y=10.0, width=side, height=side, class_="back"),
        tag("line", x1=edge, y1=10 + side, x2=edge + side, y2=10.0, class_="ideal"),
    ]
    for each in bins:
        if each.accuracy is None or each.confidence is None:
            continue
        x, y = edge + each.confidence * side, 10 + side - each.accuracy * side
        ideal = 10 + side - each.confidence * side
        size = 3.0 + 6.0 * math.sqrt(each.count / most)
        shown = f"{each.count:,} answers, confidence {each.confidence:.2f}, right {each.accuracy:.2f}"
        drawn.append(tag("line", x1=x, y1=y, x2=x, y2=ideal, class_="span"))
        drawn.append(tag("circle", tag("title", shown), cx=x, cy=y, r=size, class_="point"))
    for step in (0.0, 0.5, 1.0):
        drawn.append(tag("text", f"{step:g}", x=edge + step * side, y=side + 26, text_anchor="middle"))
        drawn.append(tag("text", f"{step:g}", x=edge - 6, y=14 + side - step * side, text_anchor="end"))
    drawn.append(tag("text", "stated confidence", x=edge + side / 2, y=side + 42, text_anchor="middle"))
    drawn.append(
        tag(
            "text",
            "share right",
            x=0.0,
            y=0.0,
            text_anchor="middle",
            transform=f"translate(12 {10 + side / 2}) rotate(-90)",
        )
    )
    return tag(
        "svg",
        tag("title", label),
        drawn,
        viewBox=f"0 0 {edge + side + 20:g} {side + 50:g}",
        width="100%",
        style="max-width: 340px",
        role="img",
        class_="reliability",
    )


class CurvePoint(Struct, frozen=True, kw_only=True):
    """Something that was scored at some time, and what a reader is told who points at it."""

    at: int
    score: float
    title: str


def best_so_far(
    kept: Sequence[CurvePoint], dropped: Sequence[CurvePoint], *, last: int, label: str, unit: bool
) -> Html:
    """The best score over time as a line; what was kept as points, what was dropped as crosses."""
    left, top, width, height = 52.0, 14.0, 696.0, 232.0
    scores = [each.score for each in (*kept, *dropped)]
    low, high = (0.0, 1.0) if unit else (min(scores), max(scores))
    if high <= low:
        low, high = low - 0.5, high + 0.5

    def x(at: float) -> float:
        return left + width * at / max(last, 1)

    def y(score: float) -> float:
        return top + height * (high - score) / (high - low)

    drawn: list[Child] = []
    for value in _ticks(low, high):
        drawn.append(tag("line", x1=left, x2=left + width, y1=y(value), y2=y(value), class_="axis"))
        drawn.append(tag("text", f"{value:g}", x=left - 8, y=y(value) + 4, text_anchor="end"))
    for value in _ticks(0.0, max(last, 1)):
        drawn.append(tag("text", f"{value:g}", x=x(value), y=top + height + 20, text_anchor="middle"))
    for each in dropped:
        at, level = x(each.at), y(each.score)
        arms = f"M{at - 3:.1f} {level - 3:.1f}l6 6m0 -6l-6 6"
        drawn.append(tag("path", tag("title", each.title), d=arms, class_="cross"))
    best, path = kept[0].score, f"M{x(kept[0].at):.1f} {y(kept[0].score):.1f}"
    for each in kept[1:]:
        best = max(best, each.score)
        path += f"H{x(each.at):.1f}V{y(best):.1f}"
    drawn.append(tag("path", d=f"{path}H{x(last):.1f}", class_="best"))
    for each in kept:
        point = tag("title", each.title)
        drawn.append(tag("circle", point, cx=x(each.at), cy=y(each.score), r=4.0, class_="point"))
    box = f"0 0 {left + width + 12:g} {top + height + 34:g}"
    return tag("svg", tag("title", label), drawn, viewBox=box, width="100%", role="img", class_="curve")


def _scrolling(plot: Html) -> Html:
    return tag("div", plot, class_="scroll", tabindex="0")


def _track(mark: PlotRow, low: float, high: float, *, zero: bool) -> Html:
    drawn = [tag("line", x1="0", x2="100%", y1="12", y2="12", class_="axis")]
    if zero:
        drawn.append(tag("line", x1=_at(0.0, low, high), x2=_at(0.0, low, high), y1="0", y2="24", class_="ideal"))
    tone = f" {mark.tone}" if mark.tone else ""
    if mark.low is not None and mark.high is not None:
        ends = _at(mark.low, low, high), _at(mark.high, low, high)
        drawn.append(tag("line", x1=ends[0], x2=ends[1], y1="12", y2="12", class_=f"span{tone}"))
        drawn += [tag("line", x1=end, x2=end, y1="8", y2="16", class_=f"span{tone}") for end in ends]
    if mark.value is not None:
        drawn.append(tag("circle", cx=_at(mark.value, low, high), cy="12", r="4.5", class_=f"point{tone}"))
    return tag("svg", drawn, width="100%", height="24", role="img", aria_hidden="true")


def _axis(low: float, high: float, *, zero: bool) -> Html:
    ticks = _ticks(low, high)
    drawn = [tag("line", x1="0", x2="100%", y1="1", y2="1", class_="axis")]
    for value in ticks:
        anchor = "start" if value == low else "end" if value == high else "middle"
        shown = f"{value:+g}" if zero and value else f"{value:g}"
        drawn.append(tag("line", x1=_at(value, low, high), x2=_at(value, low, high), y1="1", y2="5", class_="axis"))
        between = "between" if value not in (low, 0.0, high) else None
        drawn.append(tag("text", shown, x=_at(value, low, high), y="17", text_anchor=anchor, class_=between))
    return tag("svg", drawn, width="100%", height="22", role="img", aria_hidden="true")


def _range(marks: Sequence[PlotRow], *, zero: bool) -> tuple[float, float]:
    seen = [each for mark in marks for each in (mark.value, mark.low, mark.high) if each is not None]
    if not zero:
        return min([0.0, *seen]), max([1.0, *seen])
    reach = max((abs(each) for each in seen), default=0.0) or 0.1
    step = _step(2 * reach)
    reach = math.ceil(reach / step) * step
    return -reach, reach


def _ticks(low: float, high: float) -> list[float]:
    step = _step(high - low)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 10) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _step(width: float) -> float:
    """A round distance that cuts the width in about four."""
    rough = width / 4
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)


def _at(value: float, low: float, high: float) -> str:
    return f"{100 * (min(max(value, low), high) - low) / (high - low):.3f}%"


def _told(mark: PlotRow, digits: int, *, zero: bool) -> Child:
    if mark.value is None:
        return "–"
    sign = "+" if zero else ""
    shown = f"{mark.value:{sign}.{digits}f} "
    if mark.low is None or mark.high is None:
        return shown
    return [shown, tag("span", f"{mark.low:{sign}.{digits}f} to {mark.high:{sign}.{digits}f}", class_="soft")]
