"""A history as a document: a line of bars, a table, and a sentence on where it got worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.pages.document import Block, Heading, Items, Line, Sentence, Span, Style, TextTable
from assay.pages.documents.leaderboard import interval_header
from assay.pages.documents.standings import metrics_in_words
from assay.results.history.history_types import History, HistoryRun
from assay.text.numbers import error_text, interval, number, p_value, percent, signed
from assay.text.wording import count_of, few

BARS = "▁▂▃▄▅▆▇█"


def history_document(history: History) -> list[Block]:
    """The verdict, the course of the scores, a table, and what changed between runs."""
    heading = ", ".join(history.tasks) + (f" · {history.line}" if history.line else "")
    blocks: list[Block] = [Heading(2, heading), Sentence(verdict(history)), Sentence(_course(history)), _table(history)]
    if reasons := _reasons(history):
        blocks.append(Items(reasons))
    changed = [(Span(point.run, "strong"), f": {'; '.join(point.changes)}") for point in history.runs if point.changes]
    if changed:
        blocks += [Sentence("What changed from the run before:"), Items(changed)]
    return [*blocks, Items(history.notes)] if history.notes else blocks


def history_screen(history: History) -> list[Block]:
    """What a person reads first: the verdict, then runs without a change of level folded where there are many."""
    table = _table(history)
    whole = all(point.coverage == 1.0 for point in history.runs)
    quiet = [at for at, point in enumerate(history.runs) if point.verdict in ("nothing found", "not compared")]
    of = few(list(history.tasks), 3) + (f" · {history.line}" if history.line else "")
    blocks: list[Block] = [
        Sentence(verdict(history, is_short=True)),
        Sentence((Span(f"{of}  ", "quiet"), Span(sparkline(history.trend), "key"))),
        replace(
            table,
            drops=("commit", "failed", "model", *(("coverage",) if whole else ()), *table.drops),
            folds=quiet[:-1],
            folded="runs without a change of level",
        ),
    ]
    if reasons := _reasons(history):
        blocks.append(Items(reasons, may_fold=True))
    changed = [(Span(point.run, "strong"), f": {'; '.join(point.changes)}") for point in history.runs if point.changes]
    if changed:
        blocks += [Sentence("What changed from the run before:"), Items(changed, may_fold=True)]
    return [*blocks, Items(history.notes, may_fold=True)] if history.notes else blocks


def _reasons(history: History) -> list[str]:
    """Why there is no verdict, with the runs of which there is none."""
    runs: dict[str, list[str]] = {}
    for point in history.runs:
        if point.reason:
            runs.setdefault(f"{point.verdict}: {point.reason}", []).append(point.run)
    return [f"{reason} ({', '.join(names[:5])}{' …' * (len(names) > 5)})" for reason, names in runs.items()]


def verdict(history: History, *, is_short: bool = False) -> Line:
    """The largest change of level, and where the runs stand now; a short one leaves out what the table has."""
    compared = [point for point in history.runs if point.verdict not in ("first", "not compared")]
    if not compared:
        reasons = dict.fromkeys(point.reason for point in history.runs if point.reason)
        return f"No run was compared: {'; '.join(reasons) or 'one run has nothing before it'}."
    skipped = len([point for point in history.runs if point.verdict == "not compared"])
    left_out = f" {count_of(skipped, 'run')} not compared." if skipped else ""
    how = f"chance of a false alarm over all runs at most {error_text(history.level)}"
    if not history.steps:
        blind = sum(point.verdict == "cannot tell" for point in compared)
        unknown = f"; of {count_of(blind, 'run')} nothing can be concluded" if blind else ""
        return f"No change of level was found in {count_of(len(compared), 'run')}{unknown} ({how}).{left_out}"
    point = history.steps[0]
    step = point.step
    if step is None:
        return ""
    ends = (
        "on these samples; no interval, since no noise between runs was seen"
        if step.low is None
        else f"{signed(step.low)} to {signed(step.high)} on these samples"
    )
    since = step.since[0] if len(step.since) == 1 else f"one of {step.since[0]} … {step.since[-1]}"
    more = len(history.steps) - 1
    where = "of level" if history.baseline is None else "from the baseline"
    moved = ends if is_short else f"{signed(step.difference)} ({ends})"
    others = f" {count_of(more, 'other change')} {where} as well." if more else ""
    return (
        f"{point.verdict.capitalize()} since {since}, seen in ",
        Span(point.run, "bad" if point.verdict == "worse" else "good"),
        f": {moved}, p {p_value(step.p_value)} ({how}).{others}{left_out}",
    )


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
    known = [score for score in history.trend if score is not None]
    ends = f"  {number(known[0])} → {number(known[-1])}" if known else ""
    if any(0.0 < point.coverage < 1.0 for point, score in zip(history.runs, history.trend, strict=True) if score):
        ends += f" over the {count_of(history.shared, 'sample')} that all compared runs share"
    bars = sparkline(history.trend)
    scored = f", scored by {metrics_in_words(history.metrics)}" if history.metrics else ""
    return (f"{len(history.runs):,} runs by {history.order}{scored}  ", Span(bars, "key"), ends)


def _table(history: History) -> TextTable:
    against = "vs baseline" if history.baseline else "vs level before"
    return TextTable(
        header=[
            "when",
            "run",
            "model",
            "commit",
            "score",
            interval_header(history.level),
            "coverage",
            against,
            "failed",
            "verdict",
        ],
        rows=[_cells(point) for point in history.runs],
        numeric_from=4,
        drops=["commit", "failed", "model", "coverage", interval_header(history.level)],
    )


def _cells(point: HistoryRun) -> list[str | Span]:
    style: Style = "bad" if point.verdict == "worse" else "good" if point.verdict == "better" else "plain"
    return [
        Span(point.created[:16].replace("T", " "), "quiet", shorter=(point.created[:10],)),
        Span(point.run, style),
        Span(point.model, "quiet"),
        Span(point.commit[:8], "quiet"),
        Span(number(point.score), "key"),
        Span(interval(point.interval), "quiet"),
        percent(point.coverage),
        Span(signed(point.difference), style),
        f"{point.failed:,}",
        Span(point.verdict, style),
    ]
