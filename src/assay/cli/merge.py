"""`assay merge`: the shards of a run put together, counted, and made into its leaderboard."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.flags import option
from assay.cli.output import add_form_arguments, print_notes, print_sentence, show_result
from assay.cli.view_flags import add_view_arguments, view_of_run
from assay.runs.exit_status import exit_status_of, why_without_score


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run folder that the shards wrote to")
    option(parser, "--output FILE", "also write the leaderboard to this file")
    add_form_arguments(parser, json="the leaderboard as JSON on stdout")
    add_view_arguments(parser)
    parser.epilog = """\
examples:
  assay run tasks/ --model openai:MODEL --run-dir runs/big --shard 2/8   on each machine
  assay merge runs/big                                                   when they are done, or before

Every finished attempt counts once, whichever shard ran it; merging again adds nothing. The shard files are removed when
the run is complete; until then the exit code is 3, and what remains is listed.
"""


def run(options: argparse.Namespace) -> int:
    from assay.pages.documents.leaderboard import notes
    from assay.pages.documents.more_tables import board_document
    from assay.results.board.board_types import write_leaderboard_file
    from assay.runs.shards import merge_run

    folder = Path(options.run)
    result = merge_run(folder, view_of_run(options, folder))
    board = result.leaderboard
    if options.output:
        write_leaderboard_file(Path(options.output), board)
    show_result(board, board_document(board), options)
    print_notes(notes(board), options)
    if nothing := why_without_score(board):
        print_sentence(nothing, options, "bad")
    repeated = f", {result.repeated:,} found more than once" if result.repeated else ""
    print(f"merged {result.added:,} finished attempts{repeated}", file=sys.stderr)
    for sentence in result.remaining:
        print(f"remaining: {sentence}; run the missing shards, then merge again", file=sys.stderr)
    return exit_status_of(board)
