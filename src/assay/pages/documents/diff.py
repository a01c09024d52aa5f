"""A comparison as a document: verdict, table, other changes, and the samples that flipped."""

from __future__ import annotations

from assay.pages.document import Block, Cell, Heading, Items, Sentence, Span, Style, TextTable
from assay.pages.documents.leaderboard import interval_header
from assay.results.conversation import common_beginning
from assay.results.diff.differences import BoardDiff, Flip, TaskDiff
from assay.stats.paired import PairedComparison
from assay.text.numbers import level_text, number, p_value, signed, signed_interval
from assay.text.printable import one_line
from assay.text.wording import count_of

P_CORRECTED: dict[str, str] = {"holm": "p (Holm)", "bh": "p (BH)", "by": "p (BY)"}
DROPS = ("detectable", "effect", "p", "same", "worse", "better", *P_CORRECTED.values())
"""Columns that a comparison drops where it is too wide: both scores, the difference and its interval stay."""


def diff_document(diff: BoardDiff) -> list[Block]:
    """Verdict, table, other changes, and the samples that flipped."""
    slices = slices_table(diff)
    blocks: list[Block] = [
        Heading(1, f"A → B: {one_line(diff.verdict)}"),
        Items(
            [
                (f"A: {one_line(diff.label_a)} (", Span(diff.a, "code"), ")"),
                (f"B: {one_line(diff.label_b)} (", Span(diff.b, "code"), ")"),
            ]
        ),
        diff_table(diff),
        *([Sentence(scope_of_diff(diff))] if scope_of_diff(diff) else []),
    ]
    if diff.tasks:
        blocks.append(Items([(Span(task.task), f", {one_line(task.metric)}: {task.verdict}") for task in diff.tasks]))
    if diff.notices:
        blocks.append(Items(diff.notices))
    blocks += [Heading(2, "What changed"), Items(_changes(diff))]
    if diff.unequal:
        blocks += [Heading(2, "Not covered by both"), Items(diff.unequal)]
    if slices is not None:
        blocks += [Heading(2, "Slices"), slices]
    return [*blocks, *(block for task in diff.tasks for block in flips_of(task))]


def scope_of_diff(diff: BoardDiff) -> str:
    """What the differences are of, and what is concluded from them; empty where nothing was compared."""
    compared = sum(task.comparison.n for task in diff.tasks if task.comparison is not None)
    if not compared:
        return ""
    joint = f"; {TOGETHER[diff.correction].format(level_text(diff.level))}" if diff.comparisons > 1 else ""
    return (
        f"Differences are of the answers to these {count_of(compared, 'question')}; intervals and tests are about such "
        f"questions{joint}."
    )


TOGETHER: dict[str, str] = {
    "holm": "together the intervals hold with {}",
    **dict.fromkeys(("bh", "by"), "of the intervals that exclude 0, {} are expected to hold"),
}


def diff_table(diff: BoardDiff) -> TextTable:
    """One row per task and the overall difference."""
    header = [
        "task",
        "A",
        "B",
        "difference",
        _interval_header(diff, diff.comparisons),
        "p",
        P_CORRECTED[diff.correction],
    ]
    header += ["better", "worse", "same", "effect", "detectable"]
    rows = [_row(task) for task in diff.tasks]
    if len(diff.tasks) > 1:
        rows.append(_overall_row(diff))
    return TextTable(header=header, rows=rows, numeric_from=1, drops=DROPS)


def _interval_header(diff: BoardDiff, comparisons: int) -> str:
    if comparisons == 1:
        return interval_header(diff.level)
    return f"joint {interval_header(diff.level)}" if diff.correction == "holm" else "corrected interval"


def _row(task: TaskDiff) -> list[Cell]:
    cells: list[Cell] = [task.task, number(task.score_a), number(task.score_b)]
    comparison = task.comparison
    if comparison is None or not comparison.n:
        turned = -task.change if task.change is not None and task.lower_is_better else task.change
        return [*cells, signed(turned), *["–"] * 8]
    moved = difference_cell(comparison.difference, significant=task.significant)
    interval, *rest = comparison_cells(comparison, task.adjusted_p)
    return [*cells, moved, Span(interval, "quiet"), *rest]


def difference_cell(value: float | None, *, significant: bool) -> Span:
    """A difference; a significant one has a mark, and a colour for better or worse."""
    style: Style = "plain" if not significant or not value else "good" if value > 0 else "bad"
    return Span(signed(value) + (" *" if significant else ""), style)


def comparison_cells(comparison: PairedComparison, adjusted_p: float | None) -> list[str]:
    """The cells after the difference in the row of a task."""
    counts = (comparison.wins, comparison.losses, comparison.ties)
    return [
        signed_interval(comparison.interval),
        p_value(comparison.p_value),
        p_value(adjusted_p),
        *([f"{each:,}" for each in counts] if comparison.by_pair else "–––"),
        effect_text(comparison),
        number(comparison.minimum_detectable_effect),
    ]


def _overall_row(diff: BoardDiff) -> list[Cell]:
    cells: list[Cell] = [Span("overall", "strong"), number(diff.overall_a), number(diff.overall_b)]
    overall = diff.overall
    if overall is None:
        return [*cells, signed(diff.overall_change), *["–"] * 8]
    return [
        *cells,
        difference_cell(overall.difference, significant=overall.significant),
        Span(signed_interval(overall.interval), "quiet"),
        p_value(overall.p_value),
        p_value(overall.adjusted_p),
        *[""] * 4,
        number(overall.minimum_detectable_effect),
    ]


def effect_text(comparison: PairedComparison) -> str:
    """Cohen's h for right/wrong answers, else Cohen's d of the differences."""
    for name, letter in (("cohen_h", "h"), ("cohen_dz", "d")):
        if name in comparison.effect_sizes:
            return f"{letter} = {signed(comparison.effect_sizes[name], 2)}"
    return "–"


def what_changed(task: TaskDiff) -> list[str]:
    """Sentences on everything but the answers."""
    sentences = []
    if task.content != "same":
        sentences.append("its questions or targets changed" if task.content == "changed" else f"is {task.content}")
    if task.asking == "changed":
        sentences.append("its solver or prompt template changed")
    if task.scoring == "changed":
        sentences.append("how answers are scored changed")
    if task.judging == "changed":
        sentences.append("a judge, or what it is sent, changed")
    if task.other_parts == "changed" and not sentences:
        sentences.append("a scorer, aggregate or rule changed that the score does not depend on")
    sentences += task.declared
    sentences += [f"{each.name} {number(each.value_a)} → {number(each.value_b)}" for each in task.other_numbers]
    changes = task.changes
    if changes is not None:
        for count, words in (
            (changes.prompt, "with another prompt"),
            (changes.targets, "with the same prompt but other targets"),
            (changes.answer, "answered differently to the same question"),
            (changes.score_only, "scored differently though question, targets and answer are the same"),
        ):
            if count:
                sentences.append(f"{count:,} {words}")
    if task.weak_a or task.weak_b:
        counts = ("–" if count is None else f"{count:,}" for count in (task.weak_a, task.weak_b))
        sentences.append(f"weak passes: {' → '.join(counts)}")
    return sentences


def _changes(diff: BoardDiff) -> list[str]:
    sentences = [one_line(change) for change in [*diff.settings_changed, *model_sentences(diff)]]
    for task in diff.tasks:
        changes = what_changed(task)
        if changes:
            sentences.append(f"{task.task}: {'; '.join(changes)}")
    if not diff.per_example:
        sentences.append("at least one of the two has no per-example records: only its scores are compared")
    return sentences or [no_number_changed(diff)]


def model_sentences(diff: BoardDiff) -> list[str]:
    """What is known about whether the same model answered."""
    same = ["the same model: both were answered by the same weights"] if diff.same_model else []
    return same + ([diff.canary] if diff.canary else [])


def no_number_changed(diff: BoardDiff) -> str:
    """The sentence for results whose settings, tasks and numbers are the same."""
    if diff.same_result:
        return "nothing"
    return "no number; but values of some samples that no number uses, or why some attempts failed"


def slices_table(diff: BoardDiff) -> TextTable | None:
    rows: list[list[Cell]] = [
        [
            task.task,
            f"{each.by} = {each.value}",
            f"{each.comparison.n:,}",
            number(each.comparison.first),
            number(each.comparison.second),
            difference_cell(each.comparison.difference, significant=each.significant),
            Span(signed_interval(each.comparison.interval), "quiet"),
            p_value(each.adjusted_p),
        ]
        for task in diff.tasks
        for each in task.slices
    ]
    joint = _interval_header(diff, sum(len(task.slices) for task in diff.tasks))
    header = ["task", "slice", "pairs", "A", "B", "difference", joint, P_CORRECTED[diff.correction]]
    drops = (*P_CORRECTED.values(), "pairs", "A", "B")
    return TextTable(header=header, rows=rows, numeric_from=2, drops=drops) if rows else None


def flips_of(task: TaskDiff) -> list[Block]:
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
    """What differs apart from the answer."""
    return [*(["prompt"] if not flip.same_prompt else []), *(["targets"] if not flip.same_targets else [])]


LONGEST_ANSWER = 80
BEFORE_DIFFERENCE = 15


def answers(flip: Flip) -> tuple[str, str]:
    """The extracted answers where they differ, else the texts from shortly before their first difference."""
    if flip.answer_a is not None and flip.answer_b is not None and flip.answer_a != flip.answer_b:
        return _answer_cell(flip.answer_a), _answer_cell(flip.answer_b)
    a, b = (None if text is None else " ".join(text.split()) for text in (flip.prediction_a, flip.prediction_b))
    if a is None or b is None:
        return _answer_cell(a), _answer_cell(b)
    same = len(common_beginning(a, b))
    # from the beginning of a word, and only where the whole texts are too long
    start = a.rfind(" ", 0, max(same - BEFORE_DIFFERENCE, 0)) + 1 if max(len(a), len(b)) > LONGEST_ANSWER else 0
    return _answer_cell(a, start), _answer_cell(b, start)


def _answer_cell(text: str | None, start: int = 0) -> str:
    if text is None:
        return "–"
    return ("… " if start else "") + one_line(text[start:], LONGEST_ANSWER) or "(empty)"
