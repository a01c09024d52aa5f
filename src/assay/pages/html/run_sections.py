"""The sections of a report, each for one result or several side by side; None where there is nothing to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.pages.charts.figure import figures
from assay.pages.charts.forest import slices_chart
from assay.pages.charts.parts import variance_chart
from assay.pages.charts.sections import calibration_charts
from assay.pages.documents.leaderboard import leaderboard_table, notes, scope
from assay.pages.documents.more_tables import (
    calibration_table,
    judge_table,
    likelihood_table,
    repetition_table,
    side_by_side,
    slice_table,
    token_table,
    variance_table,
)
from assay.pages.html.element import Child, Html, tag
from assay.pages.html.page import (
    grid,
    listed,
    prompt_block,
    shown_of,
    table,
    text_block,
    titled_answer,
    titled_text,
    written_block,
)
from assay.pages.html.pictures import Pictures
from assay.results.board.board_types import Leaderboard
from assay.results.board.cost_notes import price_notes
from assay.results.diff.paired_columns import Side
from assay.results.per_example import PerExample
from assay.results.worst_attempts import lowest_scored
from assay.text.numbers import number

REASON = 600
"""Characters of a reason that a card shows."""
Named = Sequence[tuple[str, Side]]
"""Results with the labels they go by."""


def task_table(board: Leaderboard) -> Child:
    """The leaderboard of one run."""
    method = board.overall_interval.method if board.overall_interval else ""
    return [
        table(leaderboard_table(board, with_percentiles=True)),
        tag("p", scope(board), class_="soft"),
        tag("p", f"Overall is the mean of the task scores (interval: {method}).", class_="soft") if method else None,
    ]


def notes_section(named: Named) -> Child:
    """Each sentence once, with the results that it is about."""
    about: dict[str, list[str]] = {}
    for label, side in named:
        for note in notes(side.board, with_prices=False):  # the tokens and cost section has them
            about.setdefault(note, []).append(label)
    sentences: list[Child] = [
        [tag("b", "all" if len(labels) == len(named) else ", ".join(labels)), ": ", note] if len(named) > 1 else note
        for note, labels in about.items()
    ]
    return listed(sentences) if sentences else None


def repetitions_section(named: Named) -> Child:
    repetitions = side_by_side(_boards(named), repetition_table)
    if repetitions is None:
        return None
    return [
        table(repetitions),
        tag(
            "p",
            "pass@k: at least one of k attempts is right. pass^k: all are. majority@k: more than half are. worst@k: "
            "expected worst score of k. consistency: samples whose attempts all score the same.",
            class_="soft",
        ),
        *_variance(named),
    ]


def _variance(named: Named) -> list[Child]:
    """Where the uncertainty of repeated tasks comes from."""
    boards = _boards(named)
    parts, chart = side_by_side(boards, variance_table), variance_chart(boards)
    return [] if parts is None or chart is None else [figures([chart]), table(parts)]


def slices_section(named: Named, colours: Mapping[str, int]) -> Child:
    boards = _boards(named)
    slices, chart = side_by_side(boards, slice_table), slices_chart(boards, colours)
    return None if slices is None else [figures([chart]) if chart is not None else None, table(slices)]


def calibration_section(named: Named, colours: Mapping[str, int]) -> Child:
    """Reliability diagrams, and tables of errors and likelihoods."""
    boards = _boards(named)
    calibration, likelihood = (side_by_side(boards, item) for item in (calibration_table, likelihood_table))
    if calibration is None and likelihood is None:
        return None
    charts = calibration_charts(boards, colours)
    return [
        figures(charts),
        *(table(item) for item in (calibration, likelihood) if item is not None),
        tag(
            "p",
            "“If calibrated” is the error that a model which is right as often as it says would "
            "show by chance with these confidences, and how likely one as large as this is.",
            class_="soft",
        )
        if charts
        else None,
    ]


def failures_section(named: Named) -> Child:
    """What broke the same way in several tasks stands in one row."""
    failures: dict[tuple[str, str, str | None], dict[str, int]] = {}
    for label, side in named:
        for row in side.board.tasks:
            for kind, count in row.failures.items():
                failures.setdefault((label, kind, row.failure_examples.get(kind)), {})[row.task] = count
    if not failures:
        return None
    rows: list[list[Child]] = [
        [
            *([label] if len(named) > 1 else []),
            ", ".join(f"{task} {count:,}" if len(tasks) > 1 else task for task, count in tasks.items()),
            tag("code", kind, class_="kind"),
            f"{sum(tasks.values()):,}",
            text_block(example, 600),
        ]
        for (label, kind, example), tasks in failures.items()
    ]
    first = ["model", "task"] if len(named) > 1 else ["task"]
    return grid([*first, "kind", "attempts", "for example"], rows, numeric=(len(first) + 1,))


def tokens_section(named: Named) -> Child:
    boards = _boards(named)
    tokens, judges = side_by_side(boards, token_table), side_by_side(boards, judge_table)
    notes = price_notes([board for _, board in boards])
    if tokens is None:
        return None
    return [
        table(tokens),
        table(judges, caption="Judges") if judges is not None else None,
        listed(notes) if notes else None,
    ]


def _boards(named: Named) -> list[tuple[str, Leaderboard]]:
    return [(label, side.board) for label, side in named]


def wrong_section(named: Named, samples: int, pictures: Pictures) -> Child:
    """The lowest scored answers of each task, as text."""
    parts: list[Child] = []
    for label, side in named:
        for task in side.tasks:
            below, lowest = lowest_scored(side, task, samples)
            if lowest:
                name = f"{label}: {task}" if len(named) > 1 else task
                parts.append(tag("h3", f"{name}: {below:,}", shown_of(len(lowest), below)))
                cards = [answer_card(example, _media(side, task, example, pictures)) for example in lowest]
                parts.append(tag("div", cards, class_="shown"))
    return parts or None


def _media(side: Side, task: str, example: PerExample, pictures: Pictures) -> Child:
    return pictures.of(side.media(task, example.id, example.attempt), example.id, side.source)


def answer_card(example: PerExample, media: Child = None) -> Html:
    """One attempt: its prompt, the answer, what was extracted from it, and what was expected."""
    return tag(
        "div",
        tag(
            "p",
            tag("b", example.id),
            f", attempt {example.attempt}" if example.attempt > 1 else None,
            f", scored {number(example.score)}",
        ),
        tag("div", tag("h4", "Question"), prompt_block(example.prompt), media, class_="question"),
        tag(
            "div",
            titled_answer("Answer", example.prediction),
            titled_text("Read as", example.answer) if example.answer is not None else None,
            titled_text("Target", " / ".join(example.targets)) if example.targets else _expected(example),
            class_="sides",
        ),
        [
            tag("div", tag("h4", f"Why ({scorer})"), written_block(text, REASON), class_="question")
            for scorer, text in (example.reasons or {}).items()
        ],
        class_="flip",
    )


def _expected(example: PerExample) -> Html:
    if example.expected:
        return titled_text("Expected", example.expected)
    return tag(
        "div", tag("h4", "Expected"), tag("span", "no expected answer was recorded", class_="none"), class_="short"
    )
