"""A comparison as a document: verdict, table, what else changed, and the samples that flipped."""

from __future__ import annotations

from assay.printable import one_line
from assay.reports.diff.types import BoardDiff, Flip, TaskDiff
from assay.reports.diff.words import difference_text, probability
from assay.reports.document import Block, Cell, Heading, Items, Span, Style, TextTable
from assay.reports.documents.leaderboard import interval_header, number
from assay.stats.intervals import Interval
from assay.stats.paired import PairedComparison

DROPS = ("detectable", "effect", "p", "same", "worse", "better", "p (Holm)")
"""Columns that a comparison drops where there is no room: both scores, the difference and its interval stay."""


def diff_document(found: BoardDiff) -> list[Block]:
    """Verdict, table, what else changed, and the samples that flipped."""
    slices = slices_table(found)
    blocks: list[Block] = [
        Heading(1, f"A → B: {one_line(found.verdict)}"),
        Items(
            [
                (f"A: {one_line(found.model_a)} (", Span(found.a, "code"), ")"),
                (f"B: {one_line(found.model_b)} (", Span(found.b, "code"), ")"),
            ]
        ),
        diff_table(found),
    ]
    if found.tasks:
        blocks.append(Items([(Span(task.task), f": {task.verdict}") for task in found.tasks]))
    blocks += [Heading(2, "What changed"), Items(_changes(found))]
    if found.unequal:
        blocks += [Heading(2, "Not covered by both"), Items(found.unequal)]
    if slices is not None:
        blocks += [Heading(2, "Slices"), slices]
    return [*blocks, *(block for task in found.tasks for block in _flips(task))]


def diff_table(found: BoardDiff) -> TextTable:
    """One row per task and the overall difference."""
    header = ["task", "A", "B", "difference", interval_header(found.level), "p", "p (Holm)"]
    header += ["better", "worse", "same", "effect", "detectable"]
    rows = [_row(task) for task in found.tasks]
    if len(found.tasks) > 1:
        rows.append(_overall_row(found))
    return TextTable(header=header, rows=rows, numeric_from=1, drops=DROPS)


def _row(task: TaskDiff) -> list[Cell]:
    cells: list[Cell] = [task.task, number(task.score_a), number(task.score_b)]
    comparison = task.comparison
    if comparison is None or not comparison.n:
        return [*cells, signed(task.change), *["–"] * 8]
    moved = difference_cell(comparison.difference, significant=task.significant)
    interval, *rest = comparison_cells(comparison, task.adjusted_p)
    return [*cells, moved, Span(interval, "quiet"), *rest]


def difference_cell(value: float | None, *, significant: bool) -> Span:
    """A significant one has a mark, and a colour for better or worse; the others have neither."""
    style: Style = "plain" if not significant or not value else "good" if value > 0 else "bad"
    return Span(signed(value) + (" *" if significant else ""), style)


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


def _overall_row(found: BoardDiff) -> list[Cell]:
    cells: list[Cell] = [Span("overall", "strong"), number(found.overall_a), number(found.overall_b)]
    overall = found.overall
    if overall is None:
        return [*cells, signed(found.overall_change), *["–"] * 8]
    return [
        *cells,
        difference_cell(overall.difference, significant=overall.significant),
        Span(interval_text(overall.interval), "quiet"),
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
    if task.other_parts == "changed" and not said:
        said.append("a scorer, aggregate or rule changed that the score does not come from")
    said += [f"{each.name} {number(each.value_a)} → {number(each.value_b)}" for each in task.other_numbers]
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
    said = [one_line(change) for change in found.settings_changed]
    for task in found.tasks:
        changes = what_changed(task)
        if changes:
            said.append(f"{task.task}: {'; '.join(changes)}")
    if not found.per_example:
        said.append("at least one of the two has no per-example records: only its scores are compared")
    return said or [no_number_changed(found)]


def no_number_changed(found: BoardDiff) -> str:
    """What to say where settings, tasks and numbers are the same."""
    if found.same_result:
        return "nothing"
    return "no number; but values of some samples that no number is made of, or why some attempts failed"


def slices_table(found: BoardDiff) -> TextTable | None:
    """How each slice of each task differs."""
    rows: list[list[Cell]] = [
        [
            task.task,
            f"{each.by} = {each.value}",
            f"{each.comparison.n:,}",
            number(each.comparison.first),
            number(each.comparison.second),
            difference_cell(each.comparison.difference, significant=each.significant),
            Span(interval_text(each.comparison.interval), "quiet"),
            probability(each.adjusted_p),
        ]
        for task in found.tasks
        for each in task.slices
    ]
    header = ["task", "slice", "pairs", "A", "B", "difference", interval_header(found.level), "p (Holm)"]
    drops = ("p (Holm)", "pairs", "A", "B")
    return TextTable(header=header, rows=rows, numeric_from=2, drops=drops) if rows else None


def _flips(task: TaskDiff) -> list[Block]:
    if not task.shown:
        return []
    more = f", {len(task.shown)} shown" if task.flips > len(task.shown) else ""
    rows: list[list[Cell]] = [
        [
            one_line(flip.id, 40) + (f" #{flip.attempt}" if flip.attempt > 1 else ""),
            Span(f"{number(flip.score_a)} → {number(flip.score_b)}", "good" if flip.better else "bad"),
            one_line(" / ".join(flip.targets), 60) or "–",
            *answers(flip),
            ", ".join(besides(flip)),
        ]
        for flip in task.shown
    ]
    header = ["sample", "score", "target", "A answered", "B answered", "changed too"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return [
        Heading(2, f"{task.task}: {task.flips:,} flipped{more}"),
        TextTable(header=header, rows=rows, numeric_from=9, drops=("changed too",)),
    ]


def besides(flip: Flip) -> list[str]:
    """What else than the answer is not the same in both."""
    return [*(["prompt"] if not flip.same_prompt else []), *(["targets"] if not flip.same_targets else [])]


LONGEST_ANSWER = 80
BEFORE_DIFFERENCE = 15


def answers(flip: Flip) -> tuple[str, str]:
    """What was read out of both answers, where that differs; else the texts from shortly before they part."""
    if flip.answer_a is not None and flip.answer_b is not None and flip.answer_a != flip.answer_b:
        return _answer_cell(flip.answer_a), _answer_cell(flip.answer_b)
    a, b = (None if text is None else " ".join(text.split()) for text in (flip.prediction_a, flip.prediction_b))
    if a is None or b is None:
        return _answer_cell(a), _answer_cell(b)
    same = next((n for n, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
    # from the beginning of a word, and only where something is gained by leaving the beginning out
    start = a.rfind(" ", 0, max(same - BEFORE_DIFFERENCE, 0)) + 1 if max(len(a), len(b)) > LONGEST_ANSWER else 0
    return _answer_cell(a, start), _answer_cell(b, start)


def _answer_cell(text: str | None, start: int = 0) -> str:
    if text is None:
        return "–"
    return ("… " if start else "") + one_line(text[start:], LONGEST_ANSWER) or "(empty)"
