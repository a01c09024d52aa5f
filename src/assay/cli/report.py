"""`assay report`: write one or more runs as a single HTML file, and the run's own files written again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.flags import option, repeated, switch
from assay.cli.output import add_form_arguments, print_notes, show_result
from assay.cli.run_names import runs_named
from assay.cli.view_flags import add_view_arguments, view_of_run, view_of_runs
from assay.core.errors import UnwritableError, UsageError
from assay.runs.exit_status import DONE

EPILOG = """\
The HTML file needs no network, and its charts can be saved as SVG and PNG. For two results it also shows what changed
between them. Of results that were not scored on the same samples with the same targets every score is over the samples
that all of them were scored on, and the page says so.

examples:
  assay report runs/my-run                           writes runs/my-run/report.html, report.md and leaderboard.json
  assay report runs/before runs/after --output compared.html
  assay report runs/* --by metadata.difficulty --output all.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, leaderboard.json files or Inspect logs")
    option(parser, "--output FILE", "the HTML file (default: report.html in the run, or here)")
    option(parser, "--samples N", "answers to show per task (default 5)", int, 5)
    repeated(
        parser, "--section NAME", "add a section of an installed package, or your own `module:function` (repeatable)"
    )
    switch(parser, "--include-per-example", "add predictions and scores to the leaderboard")
    add_form_arguments(parser, json="the leaderboard of the run as JSON on stdout")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.pages.html.own_sections import own_section
    from assay.pages.html.report_page import report_page
    from assay.run_file import write_whole

    if options.samples < 0:
        raise UsageError(f"--samples must be 0 or more, got {options.samples}")
    options.runs = runs_named(options.runs)
    if options.json and len(options.runs) > 1:
        raise UsageError("--json is for one run; `assay leaderboard --json` takes several")
    sources = [Path(name) for name in options.runs]
    alone = len(sources) == 1 and sources[0].is_dir()
    view = view_of_run(options, sources[0]) if alone else view_of_runs(options, sources)
    # refused before anything is written
    more = [own_section(name, sources) for name in options.section]
    page = report_page(sources, view, samples=options.samples, more=more)
    written = [rewrite(source, options) for source in sources if source.is_dir()]
    default = sources[0] / "report.html" if alone else Path("report.html")
    if alone and not options.output and not all(written):
        raise UnwritableError("nothing was written, the page neither; `--output FILE` writes it elsewhere")
    output = Path(options.output) if options.output else default
    write_whole(output, page.encode())
    print(f"wrote {output}", file=sys.stderr)
    return DONE


def rewrite(folder: Path, options: argparse.Namespace) -> bool:
    """The leaderboard and the Markdown report of a run, from its journal; False where the run cannot be written to."""
    from assay.pages.documents.leaderboard import notes
    from assay.pages.documents.more_tables import board_document
    from assay.results.board.leaderboard import build_leaderboard
    from assay.results.marks import marks_sentence
    from assay.runs.finish import write_derived

    board = build_leaderboard(folder, view_of_run(options, folder))
    remarks = marks_sentence(folder)
    outcome = f"wrote {folder / 'leaderboard.json'} and {folder / 'report.md'}"
    written = True
    try:
        write_derived(folder, board)
    except UnwritableError as error:
        # a run of another user, or in an archive, can still be shown
        outcome, written = f"the run was left as it is: {error}", False
    if len(options.runs) > 1:
        if not written:
            print(outcome, file=sys.stderr)
        return written
    show_result(board, board_document(board), options)
    print_notes([*notes(board), *([remarks] if remarks else [])], options)
    print(outcome, file=sys.stderr)
    return written
