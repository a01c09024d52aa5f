"""`assay report`: the leaderboard and the report of a run, written again from its journal."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.view_flags import add_view_arguments

    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("--include-per-example", action="store_true", help="predictions and scores in the leaderboard")
    parser.add_argument("--json", action="store_true", help="the leaderboard as JSON on stdout")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    import msgspec

    from assay.cli.main import DONE
    from assay.cli.view_flags import view_from
    from assay.reports.board import write_leaderboard_file
    from assay.reports.leaderboard import build_leaderboard
    from assay.reports.markdown import leaderboard_table, notes, report_page, write_report

    folder = Path(options.run)
    board = build_leaderboard(folder, view_from(options, per_example=options.include_per_example))
    write_leaderboard_file(folder / "leaderboard.json", board)
    write_report(folder / "report.md", report_page(board))
    print(msgspec.json.encode(board).decode() if options.json else leaderboard_table(board))
    for note in notes(board):
        print(note, file=sys.stderr)
    print(f"wrote {folder / 'leaderboard.json'} and {folder / 'report.md'}", file=sys.stderr)
    return DONE
