"""The report of one run or of several: one HTML file that opens from disk, prints, and hides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.pages.charts.colours import colours_of
from assay.pages.charts.figure import figures
from assay.pages.charts.forest import scores_chart
from assay.pages.charts.sections import comparison_charts, pace_charts
from assay.pages.html.diff_page import changed, differences, flips
from assay.pages.html.element import Child, tag
from assay.pages.html.page import page
from assay.pages.html.pictures import Pictures
from assay.pages.html.provenance import provenance_section
from assay.pages.html.run_sections import (
    calibration_section,
    failures_section,
    notes_section,
    repetitions_section,
    slices_section,
    task_table,
    tokens_section,
    wrong_section,
)
from assay.pages.html.standings_page import scores_section, standings_section
from assay.results.diff.comparison import diff_of
from assay.results.diff.paired_columns import Side, read_side
from assay.results.report_settings import View
from assay.results.side_labels import side_labels
from assay.results.standings.against import against_baseline
from assay.results.standings.shared_samples import over_shared
from assay.results.standings.standing_rows import Standings, standings_of
from assay.text.numbers import level_text
from assay.text.wording import count_of

SAMPLES = 5


def report_page(
    sources: Sequence[Path | str],
    view: View,
    *,
    samples: int = SAMPLES,
    more: Sequence[tuple[str, str, Child]] = (),
) -> str:
    """The whole document; sections that would be empty are left out, and `more` of them precede the last.

    Of several results that were not scored on the same samples with the same targets every score is over the samples
    that they share, and the page says so.
    """
    sides = [read_side(source, view, pace=True) for source in sources]
    standings = standings_of(sides, view) if len(sides) > 1 else None
    named = _ranked(list(zip(side_labels(sides), sides, strict=True)), standings)
    labels = [label for label, _ in named]
    colours = colours_of(labels)
    compared = named
    if standings is not None and standings.unequal:
        compared = list(zip(labels, over_shared([side for _, side in named], view), strict=True))
    boards = [(label, side.board) for label, side in compared]
    ranks = (
        task_table(sides[0].board) if standings is None else [standings_section(standings), scores_section(standings)]
    )
    sections: list[tuple[str, str, Child]] = [
        ("leaderboard", "Leaderboard", ranks),
        ("scores", "Scores per task", figures(scores_chart(boards, colours))),
    ]
    if standings is not None:
        baseline = side_labels(sides)[0]
        cells = against_baseline(compared, baseline, view)
        sections.append(
            ("models", "Models side by side", figures(comparison_charts(standings, cells, baseline, colours)))
        )
    paces = [(label, side.paces) for label, side in named]
    optional: list[tuple[str, str, Child]] = [
        ("notes", "Notes", notes_section(named)),
        ("repetitions", "Repetitions", repetitions_section(compared)),
        ("slices", "Slices", slices_section(compared, colours)),
        ("calibration", "Calibration and likelihood", calibration_section(compared, colours)),
        ("failures", "Failures by kind", failures_section(named)),
        ("tokens", "Tokens and cost", tokens_section(named)),
        ("pace", "Time, length and throughput", figures(pace_charts(paces, colours))),
    ]
    sections += [item for item in optional if item[2] is not None]
    if len(sides) == 2:
        sections += _comparison(sides, view, samples)
    else:
        wrong = wrong_section(named, samples, Pictures())
        if wrong is not None:
            sections.append(("wrong", "Answers without full marks", wrong))
    sections += more
    sections.append(("provenance", "What produced these numbers", provenance_section(named)))
    return page(_title(labels), _lead(sides), sections)


def _title(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{len(labels)} results: {', '.join(labels[:4])}"


def _lead(sides: Sequence[Side]) -> Child:
    board = sides[0].board
    if len(sides) > 1:
        return tag("p", f"{len(sides)} results, {view_level(sides)} intervals")
    counts = (
        f"{count_of(len(board.tasks), 'task')}, {count_of(sum(row.scored for row in board.tasks), 'scored attempt')}"
    )
    parts: list[Child] = [tag("p", f"{counts}, {view_level(sides)} intervals")]
    if board.created:
        parts.append(tag("p", f"started {board.created}"))
    if not board.complete:
        parts.append(tag("p", "Not complete: some attempts failed or have not run yet.", class_="bad"))
    return parts


def view_level(sides: Sequence[Side]) -> str:
    return level_text(sides[0].board.level)


def _ranked(named: list[tuple[str, Side]], standings: Standings | None) -> list[tuple[str, Side]]:
    """In the order of their ranks, as the leaderboard has them."""
    places = {row.label: place for place, row in enumerate(standings.models)} if standings is not None else {}
    return sorted(named, key=lambda each: places.get(each[0], 0))


def _comparison(sides: Sequence[Side], view: View, samples: int) -> list[tuple[str, str, Child]]:
    diff = diff_of(sides[0], sides[1], view, allow_unequal=True, samples=samples)
    labels = side_labels(sides)
    who = tag("p", "A is ", tag("b", labels[0]), ", B is ", tag("b", labels[1]), ".")
    return [
        ("differences", "B against A", [who, tag("p", diff.verdict), differences(diff)]),
        ("changed", "What changed from A to B", changed(diff)),
        ("flips", "Flips", flips(diff, sides)),
    ]
