"""A comparison on one screen: verdict, the tasks by their evidence, what changed, the flips that tell most."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from assay.pages.document import Block, Cell, Items, Line, Sentence, Span, TextTable
from assay.pages.documents.diff import (
    P_CORRECTED,
    TOGETHER,
    answers,
    besides,
    diff_table,
    flips_of,
    model_sentences,
    slices_table,
)
from assay.results.diff.differences import BoardDiff, Flip, TaskDiff
from assay.results.diff.sentences import corrections, same_sentence, verdict_without_numbers
from assay.text.numbers import level_text, number
from assay.text.printable import one_line
from assay.text.wording import count_of

MOST_FLIPS = 10
_KEPT = ("task", "A", "B", "difference", "better", "worse")


def diff_screen(diff: BoardDiff, *, of_each_task: bool = False) -> list[Block]:
    """What a person reads first; the rest is in `diff_document`. With `of_each_task`, the flips of every task."""
    blocks: list[Block] = [
        Sentence(Span(f"A → B: {one_line(verdict_without_numbers(diff))}", "strong")),
        Sentence(
            (
                *(f"A: {one_line(diff.label_a)} (", Span(diff.a, "code"), ")   "),
                *(f"B: {one_line(diff.label_b)} (", Span(diff.b, "code"), ")"),
            )
        ),
        _table(diff),
        *([Sentence(legend)] if (legend := _legend(diff)) else []),
    ]
    if sentences := [*_sentences(diff), *map(one_line, diff.notices), *map(one_line, diff.unequal)]:
        blocks.append(Items(sentences, may_fold=True))
    blocks.append(Sentence(("changed: ", *_changed(diff))))
    if (slices := slices_table(diff)) is not None:
        blocks.append(slices)
    if of_each_task:
        blocks += [block for task in diff.tasks for block in flips_of(task)]
    elif (flips := _flips(diff)) is not None:
        blocks.append(flips)
    return [*blocks, Sentence(_next(diff))]


def _by_evidence(task: TaskDiff) -> tuple[bool, float, float]:
    p = 2.0 if task.adjusted_p is None else task.adjusted_p
    return not task.significant, p, -abs(_difference(task))


def _difference(task: TaskDiff) -> float:
    return 0.0 if task.comparison is None else task.comparison.difference or 0.0


def _table(diff: BoardDiff) -> TextTable:
    """The tasks with the most evidence first; those without news may be folded, the last first."""
    places = sorted(range(len(diff.tasks)), key=lambda at: _by_evidence(diff.tasks[at]))
    whole = diff_table(diff)
    kept = [
        at
        for at, name in enumerate(whole.header)
        if name in (*_KEPT, P_CORRECTED[diff.correction]) or "interval" in name
    ]
    rows = [whole.rows[place] for place in places] + list(whole.rows[len(diff.tasks) :])
    quiet = [at for at, place in enumerate(places) if not diff.tasks[place].significant]
    return replace(
        whole,
        header=[whole.header[at] for at in kept],
        rows=[[row[at] for at in kept] for row in rows],
        drops=("p", *P_CORRECTED.values(), "better", "worse"),
        folds=[at for at in reversed(quiet) if at],
        folded="tasks without a significant difference",
    )


def _legend(diff: BoardDiff) -> str:
    """How the table was made, in one sentence."""
    compared = [task.comparison for task in diff.tasks if task.comparison is not None and task.comparison.n]
    tests = dict.fromkeys(each.evidence.method for each in compared if each.evidence is not None)
    if not compared:
        return ""
    joint = f"; {TOGETHER[diff.correction].format(level_text(diff.level))}" if diff.comparisons > 1 else ""
    asked = count_of(sum(each.n for each in compared), "question")
    return f"* significant: {', '.join(tests)}; {corrections(diff)}. Of these {asked}, tested about such ones{joint}."


def _sentences(diff: BoardDiff) -> list[Line]:
    """What the table does not say of a task: the likeliest of what could be chance, and claims of sameness."""
    lines: list[Line] = [
        f"{task.task}: {same_sentence(task.same)}"
        for task in diff.tasks
        if task.same is not None and not task.same.same
    ]
    for task in diff.tasks:
        if task.untested:
            lines.append(f"{task.task}: {task.untested}")
        lines += [f"{task.task}: {one_line(each)}" for each in task.declared]
        lines += [
            f"{task.task}: {each.name} {number(each.value_a)} → {number(each.value_b)}" for each in task.other_numbers
        ]
    open_ones = [task for task in diff.tasks if not task.significant and task.comparison is not None]
    widest = max(open_ones, key=lambda task: abs(_difference(task)), default=None)
    if widest is not None and widest.comparison is not None and widest.comparison.needed is not None:
        units = "pairs" if widest.comparison.clusters is None else "groups"
        have = widest.comparison.n if widest.comparison.clusters is None else widest.comparison.clusters
        lines.append(
            f"{widest.task}: {have:,} {units} cannot settle whether its difference is chance; about "
            f"{widest.comparison.needed:,} can"
        )
    return lines


def _changed(diff: BoardDiff) -> Sequence[str]:
    """What is different between the two, in one sentence."""
    settings = [*diff.settings_changed, *model_sentences(diff)]
    parts: list[str] = []
    for words, field in (
        ("questions or targets", "content"),
        ("solver or prompt template", "asking"),
        ("scoring", "scoring"),
        ("judging", "judging"),
    ):
        if tasks := [task.task for task in diff.tasks if getattr(task, field) == "changed"]:
            parts.append(f"{words} of {tasks[0] if len(tasks) == 1 else count_of(len(tasks), 'task')}")
    changes = [task.changes for task in diff.tasks if task.changes is not None]
    if changes:
        other = sum(each.answer for each in changes)
        flips = sum(task.flips for task in diff.tasks)
        if other or flips:
            parts.append(f"{count_of(other, 'other answer')} to the same question, {flips:,} flipped")
        if rescored := sum(each.score_only for each in changes):
            parts.append(f"{rescored:,} of the same answer")
    if not diff.per_example:
        parts.append("only scores are compared: one has no per-example records")
    return [one_line("; ".join([*parts, *settings]) or "nothing")]


def _flips(diff: BoardDiff) -> TextTable | None:
    """The flips of the tasks with the most evidence, in turn."""
    tasks = sorted((task for task in diff.tasks if task.shown), key=_by_evidence)
    turns = max((len(task.shown) for task in tasks), default=0)
    told = [(task, _telling(task)[turn]) for turn in range(turns) for task in tasks if turn < len(task.shown)]
    chosen = sorted(told[:MOST_FLIPS], key=lambda each: tasks.index(each[0]))
    if not chosen:
        return None
    rows: list[list[Cell]] = [
        [_mark(flip), task.task, _name(flip), one_line(" / ".join(flip.targets), 20) or "–", *answers(flip)]
        for task, flip in chosen
    ]
    header = ["flip", "task", "sample", "target", "A answered", "B answered"]
    if len(diff.tasks) == 1:
        header, rows = [header[0], *header[2:]], [[row[0], *row[2:]] for row in rows]
    return TextTable(
        header=header,
        rows=rows,
        numeric_from=len(header),
        drops=("target",),
        folds=range(len(rows) - 1, 2, -1),
        folded="of these",
    )


def _telling(task: TaskDiff) -> list[Flip]:
    """The flips in the direction of the task's difference first."""
    return sorted(task.shown, key=lambda flip: flip.better != (_difference(task) > 0))


def _name(flip: Flip) -> str:
    also = "".join(f", other {what}" for what in besides(flip))
    return one_line(flip.id, 30) + (f" #{flip.attempt}" if flip.attempt > 1 else "") + also


def _mark(flip: Flip) -> Span:
    signs = {0.0: "✗", 1.0: "✓"}
    before, after = (
        signs.get(score, number(score)) if score is not None else "–" for score in (flip.score_a, flip.score_b)
    )
    return Span(f"{before} → {after}", "good" if flip.better else "bad")


def _next(diff: BoardDiff) -> Line:
    view = f"assay view {shlex.quote(diff.a)} {shlex.quote(diff.b)}" if diff.per_example else ""
    return ("next: ", Span(f"{view}   ", "key"), Span("more: --samples 20, --verbose", "quiet"))
