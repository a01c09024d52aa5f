"""`assay leaderboard`: many models on many tasks, ranked with what the data cannot tell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import choice, option, repeated, switch
from assay.cli.output import add_form_arguments, is_one_screen, print_json, show, show_summary
from assay.cli.run_names import runs_named
from assay.cli.view_flags import add_view_arguments, view_of_runs
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.results.standings.standing_rows import Standings

EPILOG = """\
examples:
  assay leaderboard runs/*                              a Markdown table
  assay leaderboard runs/* --csv > models.csv
  assay leaderboard runs/* --html models.html --by metadata.difficulty
  assay leaderboard runs/* --normalise chance --chance multiple-choice=0.25

Models are compared on what was scored for every one of them, with the same targets. Where a task is missing, attempts
failed, or --limit or the answer key are not the same, every score, interval and rank is over the shared samples, which
the first lines say; coverage and bounds show what that leaves open, and failed attempts improve no rank.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, leaderboard.json files or Inspect logs")
    scales = "how tasks are put on one scale: z (default), chance (0 is guessing, 1 is perfect), none"
    choice(parser, "--normalise", ("z", "chance", "none"), scales)
    repeated(parser, "--chance TASK=SHARE", "what guessing scores on a task")
    shape = parser.add_mutually_exclusive_group()
    switch(shape, "--json", "as JSON")
    switch(shape, "--csv", "as CSV, one line per model")
    add_form_arguments(parser, is_summary=True)
    option(parser, "--html FILE", "write a page with charts that opens from disk")
    option(parser, "--baseline MODEL", "the model that the heatmap compares with (default: that of the first run)")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.pages.documents.standings import standings_csv
    from assay.results.diff.paired_columns import read_side
    from assay.results.side_labels import side_labels
    from assay.results.standings.against import against_baseline
    from assay.results.standings.standing_rows import standings_of

    runs = runs_named(options.runs)
    view = view_of_runs(options, runs)
    sides = [read_side(run, view) for run in runs]
    standings = standings_of(
        sides,
        view,
        normalisation=options.normalise,
        chance=chances(options.chance),
    )
    if options.html:
        from assay.pages.html.standings_page import write_standings_page

        labels = side_labels(sides)
        baseline = options.baseline or labels[0]
        if baseline not in labels:
            raise UsageError(f"--baseline {baseline}: no model is called that. Models: {', '.join(labels)}")
        cells = against_baseline(list(zip(labels, sides, strict=True)), baseline, view)
        write_standings_page(Path(options.html), standings, cells, baseline)
        print(f"wrote {options.html}", file=sys.stderr)
    if options.json:
        print_json(standings)
    elif options.csv:
        print(standings_csv(standings), end="")
    else:
        show_standings(standings, options)
    if options.json or options.csv:
        for note in standings.notes:
            print(note, file=sys.stderr)
    return DONE


def show_standings(standings: Standings, options: argparse.Namespace) -> None:
    """One screen on a terminal, else all of it."""
    from assay.pages.document import Block, Sentence, Span
    from assay.pages.documents.standings import standings_document
    from assay.pages.documents.standings_screen import standings_screen

    if is_one_screen(options):
        after: list[Block] = [Sentence(("next: ", Span("assay view", "key"), Span("   more: --verbose", "quiet")))]
        show_summary([*standings_screen(standings), *after], options)
    else:
        show(standings_document(standings), options)


def chances(pairs: list[str]) -> dict[str, float]:
    shares = {}
    for pair in pairs:
        task, equals, text = pair.rpartition("=")
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not equals or not task or not 0.0 <= share < 1.0:
            raise UsageError(f"--chance {pair!r}: expected TASK=SHARE with a share from 0 up to 1, such as quiz=0.25")
        shares[task] = share
    return shares
