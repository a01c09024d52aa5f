"""A comparison as Markdown: for a terminal, a pull request or a file."""

from __future__ import annotations

from assay.printable import one_line
from assay.reports.diff_types import BoardDiff, Flip, TaskDiff
from assay.reports.diff_words import difference_text, probability
from assay.reports.markdown import escaped, number, table
from assay.stats.intervals import Interval
from assay.stats.paired import PairedComparison


def diff_page(found: BoardDiff) -> str:
    """Verdict, table, what else changed, and the samples that flipped."""
    said = [
        f"# A → B: {one_line(found.verdict)}",
        "",
        f"- A: {one_line(found.model_a)} (`{found.a}`)",
        f"- B: {one_line(found.model_b)} (`{found.b}`)",
        "",
        diff_table(found),
        "",
    ]
    said += [f"- {escaped(task.task)}: {task.verdict}" for task in found.tasks]
    said += _changes(found) + _unequal(found) + _slices(found)
    for task in found.tasks:
        said += _flips(task)
    return "\n".join(said).rstrip() + "\n"


def diff_table(found: BoardDiff) -> str:
    """One row per task and the overall difference."""
    percent = f"{found.level * 100:g} %"
    header = ["task", "A", "B", "difference", f"{percent} interval", "p", "p (Holm)"]
    header += ["better", "worse", "same", "effect", "detectable"]
    rows = [_row(task) for task in found.tasks]
    if len(found.tasks) > 1:
        rows.append(_overall_row(found))
    return table(header, rows, numeric_from=1)


def _row(task: TaskDiff) -> list[str]:
    cells = [escaped(task.task), number(task.score_a), number(task.score_b)]
    comparison = task.comparison
    if comparison is None or not comparison.n:
        return [*cells, signed(task.moved), *["–"] * 8]
    mark = " *" if task.significant else ""
    return [*cells, signed(comparison.difference) + mark, *comparison_cells(comparison, task.adjusted_p)]


def comparison_cells(comparison: PairedComparison, adjusted_p: float | None) -> list[str]:
    """What stands behind the difference in the row of a task."""
    return [
        interval_text(comparison.interval),
        probability(comparison.p_value),
        probability(adjusted_p),
        f"{comparison.wins:,}",
        f"{comparison.losses:,}",
        f"{comparison.ties:,}",
        effect_text(comparison),
        number(comparison.minimum_detectable_effect),
    ]


def _overall_row(found: BoardDiff) -> list[str]:
    cells = ["**overall**", number(found.overall_a), number(found.overall_b)]
    overall = found.overall
    if overall is None:
        return [*cells, signed(found.overall_moved), *["–"] * 8]
    return [
        *cells,
        signed(overall.difference) + (" *" if overall.significant else ""),
        interval_text(overall.interval),
        probability(overall.p_value),
        probability(overall.adjusted_p),
        *[""] * 4,
        number(overall.minimum_detectable_effect),
    ]


def effect_text(comparison: PairedComparison) -> str:
    """Cohen's h for right/wrong answers, else Cohen's d of the differences."""
    for name, letter in (("cohen_h", "h"), ("cohen_dz", "d")):
        if name in comparison.effect_sizes:
            return f"{letter} = {comparison.effect_sizes[name]:+z.2f}"
    return "–"


def interval_text(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return "–"
    return f"{difference_text(interval.low)} – {difference_text(interval.high)}"


def signed(value: float | None) -> str:
    return "–" if value is None else difference_text(value)


def what_changed(task: TaskDiff) -> list[str]:
    """Sentences on everything but the answers."""
    said = []
    if task.content != "same":
        said.append("its questions or targets changed" if task.content == "changed" else f"is {task.content}")
    if task.asking == "changed":
        said.append("how the model is asked changed")
    if task.scoring == "changed":
        said.append("how answers are scored changed")
    changes = task.changes
    if changes is not None:
        for count, words in (
            (changes.prompt, "with another prompt"),
            (changes.targets, "with the same prompt but other targets"),
            (changes.answer, "answered differently to the same question"),
            (changes.score_only, "scored differently though question, targets and answer are the same"),
        ):
            if count:
                said.append(f"{count:,} {words}")
    if task.weak_a or task.weak_b:
        counts = ("–" if count is None else f"{count:,}" for count in (task.weak_a, task.weak_b))
        said.append(f"weak passes: {' → '.join(counts)}")
    return said


def _changes(found: BoardDiff) -> list[str]:
    said = [f"- {one_line(change)}" for change in found.settings_changed]
    for task in found.tasks:
        changes = what_changed(task)
        if changes:
            said.append(f"- {escaped(task.task)}: {'; '.join(changes)}")
    if not found.per_example:
        said.append("- at least one of the two has no per-example records: only its scores are compared")
    return ["", "## What changed", "", *(said or ["- nothing"])]


def _unequal(found: BoardDiff) -> list[str]:
    if not found.unequal:
        return []
    return ["", "## Not covered by both", "", *(f"- {sentence}" for sentence in found.unequal)]


def _slices(found: BoardDiff) -> list[str]:
    rows = [
        [
            escaped(task.task),
            escaped(f"{each.by} = {each.value}"),
            f"{each.comparison.n:,}",
            number(each.comparison.first),
            number(each.comparison.second),
            signed(each.comparison.difference) + (" *" if each.significant else ""),
            interval_text(each.comparison.interval),
            probability(each.adjusted_p),
        ]
        for task in found.tasks
        for each in task.slices
    ]
    if not rows:
        return []
    header = ["task", "slice", "pairs", "A", "B", "difference", f"{found.level * 100:g} % interval", "p (Holm)"]
    return ["", "## Slices", "", table(header, rows, numeric_from=2)]


def _flips(task: TaskDiff) -> list[str]:
    if not task.shown:
        return []
    more = f", {len(task.shown)} shown" if task.flips > len(task.shown) else ""
    rows = [
        [
            escaped(one_line(flip.id, 40)) + (f" #{flip.attempt}" if flip.attempt > 1 else ""),
            f"{number(flip.score_a)} → {number(flip.score_b)}",
            escaped(one_line(" / ".join(flip.targets), 60)) or "–",
            _said(flip.prediction_a),
            _said(flip.prediction_b),
            _besides(flip),
        ]
        for flip in task.shown
    ]
    header = ["sample", "score", "target", "A said", "B said", "changed too"]
    return ["", f"## {escaped(task.task)}: {task.flips:,} flipped{more}", "", table(header, rows, numeric_from=9)]


def _besides(flip: Flip) -> str:
    return ", ".join([*(["prompt"] if not flip.same_prompt else []), *(["targets"] if not flip.same_targets else [])])


def _said(text: str | None) -> str:
    return "–" if text is None else escaped(one_line(text, 80)) or "(empty)"
