"""`assay merge`: the shards of a run put together, counted, and made into its leaderboard."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.view_flags import add_view_arguments

    parser.add_argument("run", metavar="RUN", help="the run folder that the shards wrote to")
    parser.add_argument("--output", metavar="FILE", help="write the leaderboard here too")
    parser.add_argument("--json", action="store_true", help="the leaderboard as JSON on stdout")
    add_view_arguments(parser)
    parser.epilog = """\
Every finished attempt counts once, whoever made it; merging again adds nothing. The shard files are removed when every
attempt of the run is there; until then the exit code is 3, and what is owed is named.
"""


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    import msgspec

    from assay.cli.exit_code import exit_code_of, why_without_score
    from assay.cli.view_flags import view_of_run
    from assay.reports.board import write_leaderboard_file
    from assay.reports.leaderboard import build_leaderboard
    from assay.reports.markdown import notes
    from assay.reports.more_tables import board_tables
    from assay.shards import merge_run

    folder = Path(options.run)
    result = merge_run(folder)
    board = build_leaderboard(folder, view_of_run(options, folder))
    if options.output:
        write_leaderboard_file(Path(options.output), board)
    print(msgspec.json.encode(board).decode() if options.json else board_tables(board))
    for note in notes(board):
        print(note, file=sys.stderr)
    if nothing := why_without_score(board):
        print(nothing, file=sys.stderr)
    repeated = f", {result.repeated:,} found more than once" if result.repeated else ""
    print(f"merged {result.added:,} finished attempts{repeated}", file=sys.stderr)
    for sentence in result.owed:
        print(f"still owed: {sentence}; run the missing shards, then merge again", file=sys.stderr)
    return exit_code_of(board)
