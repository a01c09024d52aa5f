"""What a notebook shows of a leaderboard, a comparison or a sample: parts of our pages, with their style.

A notebook puts this into its own page, so the style sheet applies only to our part of it, and nothing here is a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.pages.documents.grid import grid_document
from assay.pages.documents.leaderboard import notes
from assay.pages.html.diff_page import changed, differences, flips
from assay.pages.html.element import Child, inside, raw, tag
from assay.pages.html.own_sections import html_of
from assay.pages.html.page import folded, grid, listed, style_sheet, text_block
from assay.pages.html.pictures import Pictures
from assay.pages.html.run_sections import answer_card, task_table
from assay.results.board.board_types import Leaderboard
from assay.results.diff.differences import BoardDiff
from assay.results.grid import Grid
from assay.results.per_example import per_example, question_media
from assay.text.numbers import number
from assay.text.printable import one_line

if TYPE_CHECKING:
    from assay.results.frames.attempt import Attempt

SHOWN = 20
"""The most attempts of a sample that are shown."""


def leaderboard_html(board: Leaderboard) -> str:
    sentences = notes(board)
    return _part(
        tag("p", tag("b", board.model_label), "" if board.complete else " (not complete)"),
        task_table(board),
        folded(f"Notes ({len(sentences)})", listed(sentences)) if sentences else None,
    )


def diff_html(diff: BoardDiff) -> str:
    return _part(
        tag("p", tag("b", diff.verdict)),
        tag("p", "A: ", diff.label_a, " ", tag("code", diff.a), ", B: ", diff.label_b, " ", tag("code", diff.b)),
        differences(diff),
        folded("What changed", changed(diff)),
        folded("Flips", flips(diff)),
    )


def grids_html(grids: Sequence[Grid]) -> str:
    return _part([html_of(grid_document(one, most=50)) for one in grids])


def attempts_html(attempts: Sequence[Attempt]) -> str:
    """Every attempt with what it scored and what broke."""
    more, pictures = len(attempts) - SHOWN, Pictures()
    return _part(
        [_attempt(attempt, pictures) for attempt in attempts[:SHOWN]],
        tag("p", f"{more:,} more attempts") if more > 0 else None,
    )


def _attempt(attempt: Attempt, pictures: Pictures) -> Child:
    example = replace(per_example(attempt.record, attempt.measure), prompt=attempt.prompt)
    values: list[list[Child]] = [
        [f"{score.name}.{name}", number(value) if isinstance(value, float) else str(value)]
        for score in attempt.scores
        for name, value in score.values.items()
    ]
    values += [[f"{score.name}, why", score.reason] for score in attempt.scores if score.reason is not None]
    broken = [
        [
            tag(
                "p",
                tag("span", attempt.outcome, class_="tag bad"),
                f" {failure.stage}, {failure.kind}: ",
                failure.message,
            ),
            folded("Traceback", text_block(failure.traceback)) if failure.traceback else None,
        ]
        for failure in attempt.failures
    ]
    excluded = ", ".join(attempt.record.excluded)
    return [
        tag("h4", one_line(f"{attempt.task}: {attempt.outcome}")),
        answer_card(example, pictures.of(question_media(attempt.record), attempt.sample_id)),
        broken,
        tag("p", f"excluded by {excluded}") if excluded else None,
        grid(["score", "value"], values) if values else None,
    ]


def _part(*content: Child) -> str:
    # page.css styles the whole page; here it must apply to our part only
    rules = style_sheet().replace(":root", ":scope").replace("body {", ":scope {")
    return tag(
        "div", tag("style", raw(f"@scope (.assay-notebook) {{\n{rules}}}")), inside(content), class_="assay-notebook"
    )
