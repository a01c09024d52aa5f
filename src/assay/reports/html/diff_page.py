"""A comparison as one HTML file: verdict, forest plot of differences, what changed, flips side by side."""

from __future__ import annotations

from pathlib import Path

from assay.core.run_file import write_whole
from assay.reports.charts.figure import figures
from assay.reports.charts.forest import differences_chart
from assay.reports.diff.types import BoardDiff, Flip, TaskDiff
from assay.reports.diff.words import probability
from assay.reports.documents.diff import comparison_cells, interval_text, no_number_changed, signed, what_changed
from assay.reports.documents.leaderboard import number
from assay.reports.html.element import Child, Html, tag
from assay.reports.html.page import asked, grid, listed, page, said, shown_of


def write_diff_page(path: Path, found: BoardDiff) -> None:
    write_whole(path, diff_page(found).encode())


def diff_page(found: BoardDiff) -> str:
    """The whole document."""
    lead = [
        tag("p", found.verdict, class_="verdict"),
        tag("p", "A: ", found.model_a, " ", tag("code", found.a)),
        tag("p", "B: ", found.model_b, " ", tag("code", found.b)),
    ]
    sections: list[tuple[str, str, Child]] = [
        ("differences", "Differences", differences(found)),
        ("changed", "What changed", changed(found)),
    ]
    if any(task.slices for task in found.tasks):
        sections.append(("slices", "Slices", slices(found)))
    sections.append(("flips", "Flips", flips(found)))
    return page(f"{found.model_a} → {found.model_b}", lead, sections)


def differences(found: BoardDiff) -> Child:
    """A chart, a table and a sentence per task."""
    chart = differences_chart(found)
    header = ["task", "A", "B", "difference", f"{found.level * 100:g} % interval", "p", "p (Holm)"]
    header += ["better", "worse", "same", "effect", "detectable"]
    return [
        figures([chart]) if chart is not None else None,
        grid(header, [_row(task) for task in found.tasks], numeric=range(1, 12)),
        listed([[tag("b", task.task), ": ", task.verdict] for task in found.tasks]),
        tag(
            "p",
            "Differences are B minus A over the samples that both scored. Detectable is the smallest true difference "
            "that this many pairs find with 80 % power.",
            class_="soft",
        ),
    ]


def changed(found: BoardDiff) -> Html:
    """Everything but the answers."""
    sentences: list[Child] = [*found.settings_changed]
    for task in found.tasks:
        sentences += [[tag("b", task.task), ": ", sentence] for sentence in what_changed(task)]
    sentences += found.unequal
    return listed(sentences or [no_number_changed(found)])


def slices(found: BoardDiff) -> Html:
    rows: list[list[Child]] = [
        [
            task.task,
            f"{each.by} = {each.value}",
            f"{each.comparison.n:,}",
            number(each.comparison.first),
            number(each.comparison.second),
            _signed(each.comparison.difference, marked=each.significant),
            interval_text(each.comparison.interval),
            probability(each.adjusted_p),
        ]
        for task in found.tasks
        for each in task.slices
    ]
    header = ["task", "slice", "pairs", "A", "B", "difference", f"{found.level * 100:g} % interval", "p (Holm)"]
    return grid(header, rows, numeric=range(2, 8))


def flips(found: BoardDiff) -> Child:
    """Both answers side by side, task by task."""
    parts: list[Child] = []
    for task in found.tasks:
        if task.shown:
            parts.append(tag("h3", f"{task.task}: {task.flips:,} flipped", shown_of(len(task.shown), task.flips)))
            parts.append(tag("div", [_flip(flip) for flip in task.shown], class_="shown"))
    return parts or tag("p", "No sample was scored differently.")


def _flip(flip: Flip) -> Html:
    word = "better" if flip.better else "worse"
    besides = [
        *(["the prompt changed too"] if not flip.same_prompt else []),
        *(["the targets changed too"] if not flip.same_targets else []),
    ]
    return tag(
        "div",
        tag(
            "p",
            tag("b", flip.id),
            f" attempt {flip.attempt}" if flip.attempt > 1 else None,
            f"  {number(flip.score_a)} → {number(flip.score_b)} ",
            tag("span", word, class_="tag good" if word == "better" else "tag bad"),
            [[" ", tag("span", each, class_="tag soft")] for each in besides],
        ),
        tag(
            "div",
            tag("h4", "Question" if flip.same_prompt else "Question of A"),
            asked(flip.prompt_b if flip.same_prompt else flip.prompt_a),
            None if flip.same_prompt else [tag("h4", "Question of B"), asked(flip.prompt_b)],
            class_="question",
        ),
        tag(
            "div",
            tag("div", tag("h4", "A said"), said(flip.prediction_a)),
            tag("div", tag("h4", "B said"), said(flip.prediction_b)),
            tag("div", tag("h4", "Target"), said(" / ".join(flip.targets))),
            class_="sides",
        ),
        class_="flip",
    )


def _row(task: TaskDiff) -> list[Child]:
    cells: list[Child] = [task.task, number(task.score_a), number(task.score_b)]
    comparison = task.comparison
    if comparison is None or not comparison.n:
        return [*cells, signed(task.moved), *["–"] * 8]
    difference = _signed(comparison.difference, marked=task.significant)
    return [*cells, difference, *comparison_cells(comparison, task.adjusted_p)]


def _signed(value: float | None, *, marked: bool) -> Child:
    if not marked or value is None:
        return signed(value)
    return tag("b", f"{signed(value)} *", class_="good" if value > 0 else "bad")
