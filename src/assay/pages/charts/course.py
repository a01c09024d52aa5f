"""Progress over time: attempts and failures over a run, and the best score over the calls of a search."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.pages.charts.chart import AnyMark, Bar, Behind, Chart, Curve, Dot, Scale
from assay.pages.charts.ticks import padded, round_ends
from assay.results.pace import Timeline
from assay.text.numbers import number
from assay.text.numbers import seconds as seconds_text


def timeline_chart(timeline: Timeline | None, model: str = "", slot: int = 0) -> Chart | None:
    """Attempts per minute (of short runs, per second) over the run, in its model's colour, the failed ones apart."""
    if timeline is None:
        return None
    seconds = len(timeline.made) * timeline.bucket_seconds
    unit = "minute" if seconds >= 120.0 else "second"
    rate = (60.0 if unit == "minute" else 1.0) / timeline.bucket_seconds
    marks: list[AnyMark] = []
    table = []
    for place, (made, failed) in enumerate(zip(timeline.made, timeline.failed, strict=True)):
        start, end = place * timeline.bucket_seconds, (place + 1) * timeline.bucket_seconds
        when = f"{seconds_text(start)} to {seconds_text(end)}" if start else f"the first {seconds_text(end)}"
        tip = f"{when}: {made:,} attempts, {failed:,} failed"
        if made > failed:
            marks.append(Bar(x=(start, end), y=(failed * rate, made * rate), series=model, tip=tip))
        if failed:
            marks.append(Bar(x=(start, end), y=(0.0, failed * rate), tone="worse", tip=tip))
        table.append([seconds_text(start) if start else "0", f"{made:,}", f"{failed:,}", f"{made * rate:.4g}"])
    note = f"{sum(timeline.made):,} attempts; the orange ones failed."
    if timeline.pauses:
        note += f" {timeline.pauses:,} pauses of more than ten minutes are left out."
    return Chart(
        name="timeline",
        title="Throughput and failures over the run",
        x=Scale(low=0.0, high=seconds, label="time since the start", form="seconds"),
        y=Scale(low=0.0, high=round_ends(0.0, max(max(timeline.made) * rate, 1e-9))[1], label=f"attempts per {unit}"),
        marks=marks,
        behind=Behind(header=["from", "attempts", "failed", f"per {unit}"], rows=table),
        note=note,
        colours={model: slot},
        full_width=True,
    )


class ScoredText(Struct, frozen=True, kw_only=True):
    """A text of a search: after how many calls it was scored, and what it scored."""

    calls: int
    score: float
    name: str


def search_chart(
    kept: Sequence[ScoredText], rejected: Sequence[ScoredText], *, last: int, unit: bool, on: str
) -> Chart:
    """The best score so far as a line; what was kept as filled points, what was rejected as hollow ones."""
    low, high = (0.0, 1.0) if unit else padded([item.score for item in (*kept, *rejected)])
    best, path = kept[0].score, [(float(kept[0].calls), kept[0].score)]
    for text in kept[1:]:
        best = max(best, text.score)
        path.append((float(text.calls), best))
    marks: list[AnyMark] = [Curve(points=[*path, (float(last), best)], steps=True)]
    marks += [
        Dot(
            x=each.calls,
            y=each.score,
            tone="worse",
            size=0.7,
            hollow=True,
            tip=f"{each.name}: {number(each.score, 4)}, rejected",
        )
        for each in rejected
    ]
    marks += [
        Dot(x=each.calls, y=each.score, tip=f"{each.name}: {number(each.score, 4)}, after {each.calls:,} calls")
        for each in kept
    ]
    rows = [[each.name, "kept", f"{each.calls:,}", number(each.score, 4)] for each in kept]
    rows += [[candidate.name, "rejected", f"{candidate.calls:,}", number(candidate.score, 4)] for candidate in rejected]
    return Chart(
        name="search",
        title="Score over evaluator calls",
        x=Scale(low=0.0, high=max(float(last), 1.0), label="evaluator calls"),
        y=Scale(low=low, high=high, label="score"),
        marks=marks,
        behind=Behind(header=["text", "outcome", "calls", "score"], rows=rows, numeric_from=2),
        note=f"Curve: the best on the {on} so far. Filled: kept. Hollow: rejected, at their minibatch mean.",
        full_width=True,
    )
