"""A history as a document: a line of bars, a table, and a sentence on where it got worse."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.diff.words import probability
from assay.reports.document import Block, Heading, Items, Line, Sentence, Span, Style, TextTable
from assay.reports.documents.leaderboard import interval, interval_header, number
from assay.reports.history.types import History, HistoryRun

BARS = "▁▂▃▄▅▆▇█"


def history_document(found: History) -> list[Block]:
    """For a terminal or as Markdown."""
    blocks: list[Block] = [Heading(2, ", ".join(found.tasks)), Sentence(_course(found)), _table(found)]
    blocks.append(Sentence(verdict(found)))
    changed = [(Span(point.run, "strong"), f": {'; '.join(point.changes)}") for point in found.runs if point.changes]
    if changed:
        blocks += [Sentence("What changed from the run before:"), Items(changed)]
    return [*blocks, Items(found.notes)] if found.notes else blocks


def verdict(found: History) -> Line:
    """Where the score first got significantly worse than the baseline."""
    if not found.comparisons:
        return f"No run can be tested against the baseline {found.baseline}: none has samples in common with it."
    how = f"paired one-sided tests against {found.baseline}, Holm over {found.comparisons:,}"
    if found.first_worse is None:
        return f"No run is significantly worse than the baseline ({how})."
    point = next(each for each in found.runs if each.run == found.first_worse)
    size = f"{point.difference:+.3f}" if point.difference is not None else ""
    sure = f"p {probability(point.adjusted_p)}"
    return ("First significantly worse: ", Span(point.run, "bad"), f", {size}, {sure} ({how}).")


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


def _course(found: History) -> Line:
    known = [point.score for point in found.runs if point.score is not None]
    ends = f"  {known[0]:.3f} → {known[-1]:.3f}" if known else ""
    bars = sparkline([point.score for point in found.runs])
    return (f"{len(found.runs):,} runs by {found.order}  ", Span(bars, "key"), ends)


def _table(found: History) -> TextTable:
    return TextTable(
        header=[
            "when",
            "run",
            "model",
            "commit",
            "score",
            interval_header(found.level),
            "vs baseline",
            "p (Holm)",
            "failed",
            "note",
        ],
        rows=[_cells(found, point) for point in found.runs],
        numeric_from=4,
        drops=["commit", "failed", "model", "p (Holm)", interval_header(found.level)],
    )


def _cells(found: History, point: HistoryRun) -> list[str | Span]:
    style: Style = "bad" if point.worse else "plain"
    note = "baseline" if point.run == found.baseline else "worse" if point.worse else "changed" if point.changes else ""
    return [
        Span(point.created[:16].replace("T", " "), "quiet", shorter=(point.created[:10],)),
        Span(point.run, "bad" if point.run == found.first_worse else "plain"),
        Span(point.model, "quiet"),
        Span(point.commit[:8], "quiet"),
        Span(number(point.score), "key"),
        Span(interval(point.interval), "quiet"),
        "–" if point.difference is None else Span(f"{point.difference:+.3f}", style),
        "–" if point.adjusted_p is None else probability(point.adjusted_p),
        f"{point.failed:,}",
        Span("first worse" if point.run == found.first_worse else note, style),
    ]
