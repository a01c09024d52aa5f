"""What `assay run` prints of results: one of them with its closing lines, or several against each other."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli.output import (
    can_lay_out,
    is_laid_out,
    is_one_screen,
    print_json,
    print_notes,
    print_sentence,
    show,
    show_result,
    show_summary,
)
from assay.core.errors import UsageError
from assay.runs.exit_status import why_without_score

if TYPE_CHECKING:
    from assay.results.board.board_types import Leaderboard
    from assay.results.report_settings import View
    from assay.results.standings.cells import CellPair
    from assay.results.standings.standing_rows import Standings
    from assay.runs.evaluate import RunResult

CLOSING_LINES = 7
"""What follows the numbers: an empty line, attempts, time, tokens, run and next, one of which may be broken."""


def print_grid(results: Sequence[RunResult], options: argparse.Namespace) -> None:
    """The rows of a table against models and prompts, then their ranks and the prompts against each other."""
    from assay.pages.documents.cell_pairs import cell_pairs_document, differing_pairs_document
    from assay.pages.documents.grid import grid_document
    from assay.pages.documents.standings import ranks_document
    from assay.pages.step_summary import grid_summary, write_step_summary
    from assay.results.grid import grids_of

    runs = [result.folder for result in results]
    standings, pairs, view = compared(runs)
    grids = grids_of(runs)
    if options.json:
        print_json({"grids": grids, "standings": standings, "pairs": pairs})
    else:
        blocks = [block for grid in grids for block in grid_document(grid, standings)]
        blocks += ranks_document(standings) if standings is not None else []
        about_pairs = differing_pairs_document if is_laid_out(options) else cell_pairs_document
        blocks += about_pairs(pairs, view.level) if pairs else []
        if is_one_screen(options):
            show_summary(blocks, options, below=1)
        else:
            show(blocks, options)
        write_step_summary(os.environ, partial(grid_summary, blocks))
    print_what_was_made(results, options)


def print_what_was_made(results: Sequence[RunResult], options: argparse.Namespace) -> None:
    """How many answers several runs have, and where to read them."""
    made = sum(row.total - row.remaining for result in results for row in result.leaderboard.tasks)
    seconds = sum(result.seconds for result in results)
    common = os.path.commonpath([result.folder.resolve() for result in results])
    next_command = f"assay view {shlex.quote(os.path.relpath(common))}"
    print_sentence(f"{made:,} answers in {seconds:.1f} s   next: {next_command}", options)


def compared(runs: Sequence[Path]) -> tuple[Standings | None, list[CellPair], View]:
    """The runs on one leaderboard, and the cells of a matrix against each other."""
    from assay.results.diff.paired_columns import read_side
    from assay.results.report_settings import view_of_results
    from assay.results.standings.cells import compare_cells
    from assay.results.standings.standing_rows import standings_of

    view = view_of_results(runs)
    pairs = compare_cells(runs, view)
    try:
        sides = [read_side(run, view) for run in runs]
        return standings_of(sides, view), pairs, view
    except UsageError as error:
        print(f"no common leaderboard: {error}", file=sys.stderr)
        return None, pairs, view


def print_matrix(results: Sequence[RunResult], options: argparse.Namespace) -> None:
    """The cells of a matrix on one leaderboard, and against each other."""
    from assay.pages.documents.cell_pairs import cell_pairs_document, differing_pairs_document
    from assay.pages.documents.standings import standings_document
    from assay.pages.documents.standings_screen import standings_screen

    standings, pairs, view = compared([result.folder for result in results])
    if options.json:
        print_json({"standings": standings, "pairs": pairs})
        return
    if standings is not None and is_one_screen(options):
        about_pairs = differing_pairs_document(pairs, view.level) if pairs else []
        show_summary(standings_screen(standings, following=about_pairs), options, below=1)
        print_what_was_made(results, options)
        return
    if standings is not None:
        print()
        show(standings_document(standings), options)
    if pairs:
        print()
        show(cell_pairs_document(pairs, view.level), options)


def print_run(result: RunResult, options: argparse.Namespace, output: str | None, label: str = "") -> None:
    """The table on stdout, notes on stderr; `label` says which of several models they are about."""
    from assay.pages.document import Heading
    from assay.pages.documents.more_tables import board_document, board_tables
    from assay.pages.documents.run_screen import run_screen

    board = result.leaderboard
    if is_one_screen(options) and not options.json:
        problems = [item for item in (why_without_score(board), why_early(result, options)) if item is not None]
        below = CLOSING_LINES + len(result.gates)
        show_summary(run_screen(board, problems, known=result.stopped or ""), options, below=below)
        print_summary(result, options, output)
        return
    # on a terminal the line of the score says what it is of
    shown = board_tables if says_where(options) else board_document
    gates = {"gates": result.gates} if result.gates else {}
    heading = [Heading(2, label)] if label else []
    show_result({**msgspec.structs.asdict(board), **gates}, (*heading, *shown(board)), options)
    print_remarks(result, options, label)
    print_summary(result, options, output)


def print_limits(result: RunResult, options: argparse.Namespace, label: str) -> None:
    """What limits one of several results; on one screen why it has no score or half of one."""
    from assay.pages.documents.leaderboard import failure_sentences

    if not is_one_screen(options):
        print_remarks(result, options, label)
        return
    board = result.leaderboard
    early = why_early(result, options)
    causes = failure_sentences(board, result.stopped or "", with_bounds=False)
    print_notes(of_model(label, causes), options)
    for sentence in of_model(label, [item for item in (why_without_score(board), early) if item is not None]):
        print_sentence(sentence, options, "bad")


def print_remarks(result: RunResult, options: argparse.Namespace, label: str) -> None:
    """The notes on a result."""
    from assay.pages.documents.leaderboard import INCOMPLETE, notes

    board = result.leaderboard
    early = why_early(result, options)
    remarks = notes(board, known=result.stopped or "")
    print_notes(of_model(label, [note for note in remarks if early is None or note != INCOMPLETE]), options)
    for sentence in of_model(label, [item for item in (why_without_score(board), early) if item is not None]):
        print_sentence(sentence, options, "bad")


def of_model(label: str, sentences: Sequence[str]) -> list[str]:
    return [f"{label}: {sentence}" if label else sentence for sentence in sentences]


def why_early(result: RunResult, options: argparse.Namespace) -> str | None:
    """Why not everything was run, and what to do about it."""
    again = "rerun the same command" + (" without --fresh" if options.fresh else "")
    if result.interrupted:
        return f"interrupted; {again} to resume"
    if result.stopped is None:
        return None
    remaining = sum(row.remaining for row in result.leaderboard.tasks)
    if "budget" in result.stopped:
        again += " with a larger budget (the longest answer is --max-tokens)"
    return f"stopped: {result.stopped}. {remaining:,} attempts remain; {again} to resume"


def print_summary(result: RunResult, options: argparse.Namespace, output: str | None) -> None:
    """Where the result lies; on a terminal what came of the run in five lines, and what to do next."""
    from assay.pages.documents.leaderboard import score_sentence

    folder = str(result.folder)
    if not says_where(options):
        print(f"run: {folder}" + (f"   leaderboard: {output}" if output else ""), file=sys.stderr)
        return
    print(file=sys.stderr)
    board = result.leaderboard
    if not is_one_screen(options):
        print_sentence(score_sentence(board), options, "key", first="score     ")
    failed = board.failed + board.timeouts
    print_sentence(_attempts_line(board), options, "bad" if failed else "plain", first="attempts  ")
    print_sentence(_time_line(result), options, first="time      ")
    print_sentence(_tokens_line(board), options, first="tokens    ")
    print_sentence(folder + (f"   leaderboard {output}" if output else ""), options, first="run       ")
    left = failed + sum(row.remaining for row in board.tasks)
    again = f"the same command for the {left:,} that failed or remain   " if left and is_one_screen(options) else ""
    print_sentence(f"{again}assay view {shlex.quote(folder)}", options, "key", first="next      ")


def says_where(options: argparse.Namespace) -> bool:
    """Whether five lines below the table say what came of the run."""
    return not options.markdown and can_lay_out(sys.stderr)


def _attempts_line(board: Leaderboard) -> str:
    total, remaining = sum(row.total for row in board.tasks), sum(row.remaining for row in board.tasks)
    failed = board.failed + board.timeouts
    made = f"{total - remaining:,} of {total:,} run"
    return f"{made}, {failed:,} failed" if failed else made


def _time_line(result: RunResult) -> str:
    from assay.cli.progress import duration
    from assay.pages.documents.leaderboard import percentiles

    latency = result.leaderboard.latency
    typical = "   median {} ms, 95 % within {} ms".format(*percentiles(latency)) if latency else ""
    return (duration(result.seconds) if result.seconds >= 10 else f"{result.seconds:.1f} s") + typical


def _tokens_line(board: Leaderboard) -> str:
    from assay.costs.spending import is_worth_showing, money

    tokens_in = sum(row.tokens_in + row.judge_tokens_in for row in board.tasks)
    tokens_out = sum(row.tokens_out + row.judge_tokens_out for row in board.tasks)
    if not tokens_in + tokens_out:
        return "none counted"
    amounts = [f"cost {money(board.cost)}"] if is_worth_showing(board.cost) else []
    amounts += [f"judges {money(board.judge_cost)}"] if is_worth_showing(board.judge_cost) else []
    return "   ".join([f"{tokens_in:,} in, {tokens_out:,} out", *amounts])
