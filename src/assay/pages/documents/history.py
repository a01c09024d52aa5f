"""A history as a document: a line of bars, a table, and a sentence on where it got worse."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.document import Block, Heading, Items, Line, Sentence, Span, Style, TextTable
from assay.pages.documents.leaderboard import interval_header
from assay.results.history.history_types import History, HistoryRun
from assay.text.numbers import interval, number, p_value, signed

BARS = "▁▂▃▄▅▆▇█"


def history_document(history: History) -> list[Block]:
    """The course of the scores, a table, the verdict, and what changed between runs."""
    blocks: list[Block] = [Heading(2, ", ".join(history.tasks)), Sentence(_course(history)), _table(history)]
    blocks.append(Sentence(verdict(history)))
    changed = [(Span(point.run, "strong"), f": {'; '.join(point.changes)}") for point in history.runs if point.changes]
    if changed:
        blocks += [Sentence("What changed from the run before:"), Items(changed)]
    return [*blocks, Items(history.notes)] if history.notes else blocks


def verdict(history: History) -> Line:
    """Where the score first got significantly worse than the baseline."""
    if not history.comparisons:
        return f"No run can be tested against the baseline {history.baseline}: none has samples in common with it."
    method = f"paired one-sided tests against {history.baseline}, Holm over {history.comparisons:,}"
    if history.first_worse is None:
        return f"No run is significantly worse than the baseline ({method})."
    point = next(each for each in history.runs if each.run == history.first_worse)
    size = f"{signed(point.difference)}, p {p_value(point.adjusted_p)}"
    return ("First significantly worse: ", Span(point.run, "bad"), f", {size} ({method}).")


def sparkline(scores: Sequence[float | None]) -> str:
    """A bar per run between the lowest score and the highest; a dot where there is none."""
    known = [score for score in scores if score is not None]
    if not known:
        return ""
    low, reach = min(known), max(known) - min(known)
    top = len(BARS) - 1
    return "".join(
        "·" if score is None else BARS[top // 2 if not reach else round((score - low) / reach * top)]
        for score in scores
    )


def _course(history: History) -> Line:
    known = [point.score for point in history.runs if point.score is not None]
    ends = f"  {number(known[0])} → {number(known[-1])}" if known else ""
    bars = sparkline([point.score for point in history.runs])
    return (f"{len(history.runs):,} runs by {history.order}  ", Span(bars, "key"), ends)


def _table(history: History) -> TextTable:
    return TextTable(
        header=[
            "when",
            "run",
            "model",
            "commit",
            "score",
            interval_header(history.level),
            "vs baseline",
            "p (Holm)",
            "failed",
            "note",
        ],
        rows=[_cells(history, point) for point in history.runs],
        numeric_from=4,
        drops=["commit", "failed", "model", "p (Holm)", interval_header(history.level)],
    )


def _cells(history: History, point: HistoryRun) -> list[str | Span]:
    style: Style = "bad" if point.worse else "plain"
    note = "worse" if point.worse else "changed" if point.changes else ""
    if point.run in (history.baseline, history.first_worse):
        note = "baseline" if point.run == history.baseline else "first worse"
    return [
        Span(point.created[:16].replace("T", " "), "quiet", shorter=(point.created[:10],)),
        Span(point.run, "bad" if point.run == history.first_worse else "plain"),
        Span(point.model, "quiet"),
        Span(point.commit[:8], "quiet"),
        Span(number(point.score), "key"),
        Span(interval(point.interval), "quiet"),
        Span(signed(point.difference), style),
        p_value(point.adjusted_p),
        f"{point.failed:,}",
        Span(note, style),
    ]
