"""A comparison as one HTML file: verdict, forest plot of differences, what changed, flips side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from assay.pages.charts.figure import figures
from assay.pages.charts.forest import differences_chart
from assay.pages.documents.diff import (
    besides,
    diff_table,
    model_sentences,
    no_number_changed,
    scope_of_diff,
    slices_table,
    what_changed,
)
from assay.pages.html.element import Child, Html, tag
from assay.pages.html.page import listed, page, prompt_block, shown_of, table, titled_answer, titled_text
from assay.pages.html.pictures import Pictures
from assay.results.diff.differences import BoardDiff, Flip
from assay.results.diff.paired_columns import Side
from assay.run_file import write_whole
from assay.text.numbers import number

Sides = Sequence[Side]
"""A and B."""


def write_diff_page(path: Path, diff: BoardDiff, sides: Sides) -> None:
    write_whole(path, diff_page(diff, sides).encode())


def diff_page(diff: BoardDiff, sides: Sides | None = None) -> str:
    """The whole document; with the results that were compared, also the images and sounds of the questions."""
    lead = [
        tag("p", diff.verdict, class_="verdict"),
        tag("p", "A: ", diff.label_a, " ", tag("code", diff.a)),
        tag("p", "B: ", diff.label_b, " ", tag("code", diff.b)),
    ]
    sections: list[tuple[str, str, Child]] = [
        ("differences", "Differences", differences(diff)),
        ("changed", "What changed", changed(diff)),
    ]
    slices = slices_table(diff)
    if slices is not None:
        sections.append(("slices", "Slices", table(slices)))
    sections.append(("flips", "Flips", flips(diff, sides)))
    return page(f"{diff.label_a} → {diff.label_b}", lead, sections)


def differences(diff: BoardDiff) -> Child:
    """A chart, a table and a sentence per task."""
    chart = differences_chart(diff)
    return [
        figures([chart]) if chart is not None else None,
        table(diff_table(diff)),
        listed([[tag("b", task.task), f", {task.metric}: ", task.verdict] for task in diff.tasks]),
        tag(
            "p",
            f"{scope_of_diff(diff)} Differences are B minus A. Detectable is the smallest true difference that this "
            "many pairs find with 80 % power.",
            class_="soft",
        ),
    ]


def changed(diff: BoardDiff) -> Html:
    """Everything but the answers."""
    sentences: list[Child] = [*diff.settings_changed, *model_sentences(diff)]
    for task in diff.tasks:
        sentences += [[tag("b", task.task), ": ", sentence] for sentence in what_changed(task)]
    sentences += [*diff.unequal, *diff.notices]
    return listed(sentences or [no_number_changed(diff)])


def flips(diff: BoardDiff, sides: Sides | None = None) -> Child:
    """Both answers side by side, task by task."""
    pictures = Pictures()

    def media(task: str, flip: Flip, side: int) -> Child:
        if sides is None:
            return None
        return pictures.of(sides[side].media(task, flip.id, flip.attempt), flip.id, sides[side].source)

    parts: list[Child] = []
    for task in diff.tasks:
        if task.shown:
            parts.append(tag("h3", f"{task.task}: {task.flips:,} flipped", shown_of(len(task.shown), task.flips)))
            cards = [_flip(flip, partial(media, task.task, flip)) for flip in task.shown]
            parts.append(tag("div", cards, class_="shown"))
    return parts or tag("p", "No sample was scored differently.")


def _flip(flip: Flip, media: Callable[[int], Child]) -> Html:
    word = "better" if flip.better else "worse"
    return tag(
        "div",
        tag(
            "p",
            tag("b", flip.id),
            f" attempt {flip.attempt}" if flip.attempt > 1 else None,
            f"  {number(flip.score_a)} → {number(flip.score_b)} ",
            tag("span", word, class_="tag good" if word == "better" else "tag bad"),
            [[" ", tag("span", f"the {beside} changed too", class_="tag soft")] for beside in besides(flip)],
        ),
        tag(
            "div",
            tag("h4", "Question" if flip.same_prompt else "Question of A"),
            prompt_block(flip.prompt_b if flip.same_prompt else flip.prompt_a),
            media(1 if flip.same_prompt else 0),
            None if flip.same_prompt else [tag("h4", "Question of B"), prompt_block(flip.prompt_b), media(1)],
            class_="question",
        ),
        tag(
            "div",
            titled_answer("A said", flip.prediction_a, flip.answer_a),
            titled_answer("B said", flip.prediction_b, flip.answer_b),
            titled_text("Target", " / ".join(flip.targets)),
            class_="sides",
        ),
        class_="flip",
    )
