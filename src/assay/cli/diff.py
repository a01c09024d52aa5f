"""`assay diff`: what moved between two results, how sure that is, and which answers changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli.flags import choice, option, switch
from assay.cli.gate_flags import GATES, add_gate_arguments, print_gates, write_for_ci
from assay.cli.output import add_form_arguments, is_one_screen, show, show_result, show_summary
from assay.cli.run_names import run_named
from assay.cli.view_flags import add_view_arguments, view_of_runs
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE, GATE_NOT_MET

if TYPE_CHECKING:
    from assay.results.diff.differences import BoardDiff
    from assay.results.diff.paired_columns import Side
    from assay.results.gates.expression import DropGate, Gate
    from assay.results.gates.result import GateResult
    from assay.results.report_settings import View

EPILOG = """\
Pairs samples by task, id and attempt. Run folders, and leaderboards written with --include-per-example, can be
compared sample by sample; for other leaderboards only the scores are compared. A positive difference means that B is
better. Results that do not cover the same samples, or whose samples have other targets, are refused; --allow-unequal
compares those that both have, and every number is over them.

examples:
  assay diff runs/before runs/after
  assay diff main.json branch.json --gate no-significant-drop --junit gates.xml
  assay diff main.json branch.json --gate "no-drop-beyond 0.02"
  assay diff runs/before runs/after --same-within 0.02
  assay diff runs/before runs/after --gate "overall >= baseline - 0.02" --html diff.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{EPILOG}\n{GATES}"
    parser.add_argument("a", metavar="A", help="a run folder, a leaderboard.json or an Inspect log: before")
    parser.add_argument("b", metavar="B", help="a run folder, a leaderboard.json or an Inspect log: after")
    option(parser, "--samples N", "flipped samples of each task to show (default 5; on a terminal ten of all)", int)
    option(parser, "--same-within MARGIN", "test as well whether the two are the same within this margin", float)
    choice(
        parser,
        "--correction",
        ("holm", "bh", "by"),
        "of several tasks: holm bounds the chance of any false alarm (default), bh (Benjamini–Hochberg) the share of "
        "false ones expected among those found, by (Benjamini–Yekutieli) that however tasks depend on each other",
    )
    switch(parser, "--allow-unequal", "compare only the samples that both have scored, with the same targets")
    add_form_arguments(parser, json="as JSON", is_summary=True)
    option(parser, "--html FILE", "write a page that opens from disk")
    add_gate_arguments(parser, baseline=False)
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.pages.step_summary import diff_summary
    from assay.results.diff.comparison import diff_of
    from assay.results.diff.paired_columns import read_side
    from assay.results.gates.expression import parse_gates
    from assay.results.marks import marks_sentence

    if options.samples is not None and options.samples < 0:
        raise UsageError(f"--samples must be 0 or more, got {options.samples}")
    options.a, options.b = run_named(options.a), run_named(options.b)
    view = view_of_runs(options, (options.a, options.b))
    gates = parse_gates(options.gate)
    a, b = read_side(options.a, view), read_side(options.b, view)
    ignored = options.gate_left_out == "ignore"
    results = gates_of(gates, a, b, view, allow_unequal=options.allow_unequal, left_out_ignored=ignored)
    try:
        differences = diff_of(
            a,
            b,
            view,
            allow_unequal=options.allow_unequal,
            samples=_samples(options),
            same_within=options.same_within,
            correction=options.correction,
        )
    except UsageError:
        # a comparison that is refused hides no gate
        if results or options.junit:
            write_for_ci(options, b.board, results, partial(diff_summary, None, results))
            print_gates(results, options)
        raise
    if options.html:
        from assay.pages.html.diff_page import write_diff_page

        write_diff_page(Path(options.html), differences, (a, b))
        print(f"wrote {options.html}", file=sys.stderr)
    shown = {**msgspec.structs.asdict(differences), **({"gates": results} if results else {})}
    _show(shown, differences, options, below=len(results))
    for name in (options.a, options.b):
        if remarks := marks_sentence(Path(name)):
            print(f"{name}: {remarks}", file=sys.stderr if options.json else sys.stdout)
    if results or options.junit:
        write_for_ci(options, b.board, results, partial(diff_summary, differences, results))
    return DONE if print_gates(results, options) else GATE_NOT_MET


def _samples(options: argparse.Namespace) -> int:
    """Of each task: so many as are asked for, else enough for the ones that tell most."""
    from assay.pages.documents.diff_screen import MOST_FLIPS
    from assay.results.diff.comparison import SAMPLES

    if options.samples is not None:
        return int(options.samples)
    return MOST_FLIPS if is_one_screen(options) else SAMPLES


def _show(shown: object, differences: BoardDiff, options: argparse.Namespace, *, below: int) -> None:
    """On a terminal one screen, unless all of it or samples of each task are asked for."""
    from assay.pages.documents.diff import diff_document
    from assay.pages.documents.diff_screen import diff_screen

    if options.json or not is_one_screen(options):
        show_result(shown, diff_document(differences), options)
    elif options.samples is None:
        show_summary(diff_screen(differences), options, below=below)
    else:
        show(diff_screen(differences, of_each_task=True), options)


def gates_of(
    gates: Sequence[Gate | DropGate], a: Side, b: Side, view: View, *, allow_unequal: bool, left_out_ignored: bool
) -> list[GateResult]:
    """B against A; where samples may be left out, over those that both runs have."""
    from assay.results.diff.ends import diff_ends_of
    from assay.results.gates.gate_check import check_gates
    from assay.results.gates.names import check_names, numbers_of_board
    from assay.results.standings.shared_samples import over_shared, rows_attempted

    if not gates:
        return []
    check_names(gates, numbers_of_board(b.board), baseline=a.board)
    boards = [side.board for side in (over_shared((a, b), view, rows_attempted) if allow_unequal else (a, b))]
    pairs = partial(diff_ends_of, a, b, view)
    return check_gates(
        gates,
        boards[1],
        baseline=boards[0],
        pairs=pairs,
        allow_unequal=allow_unequal,
        left_out_ignored=left_out_ignored,
    )
