"""`assay diff`: what moved between two results, how sure that is, and which answers changed."""

from __future__ import annotations

import argparse
import sys

EPILOG = """\
Pairs samples by task, id and attempt. Run folders, and leaderboards written with --include-per-example, can be
compared sample by sample; of other leaderboards only the scores. Positive means that B is better.

examples:
  assay diff runs/before runs/after
  assay diff main.json branch.json --gate no-significant-drop
  assay diff runs/before runs/after --gate "overall >= baseline - 0.02" --html diff.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.view_flags import add_view_arguments

    parser.epilog = EPILOG
    parser.add_argument("a", metavar="A", help="a leaderboard.json or a run folder: before")
    parser.add_argument("b", metavar="B", help="a leaderboard.json or a run folder: after")
    parser.add_argument("--samples", type=int, default=5, metavar="N", help="flipped samples to show (default 5)")
    parser.add_argument("--allow-unequal", action="store_true", help="compare only the samples that both have scored")
    parser.add_argument(
        "--gate", action="append", default=[], metavar="GATE", help="no-significant-drop, or as in `assay run`"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page that opens from disk")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    import msgspec

    from assay.cli.gate_flags import tell_gates
    from assay.cli.main import DONE, GATE_NOT_MET
    from assay.cli.view_flags import view_from
    from assay.core.errors import UsageError
    from assay.reports.columns import read_side
    from assay.reports.diff import diff_of
    from assay.reports.diff_ends import diff_ends_of
    from assay.reports.diff_markdown import diff_page
    from assay.reports.gates import check_gates, parse_gates
    from assay.reports.marks import marks_sentence

    if options.samples < 0:
        raise UsageError(f"--samples must not be negative, not {options.samples}")
    gates = parse_gates(options.gate)
    view = view_from(options)
    a, b = read_side(options.a, view), read_side(options.b, view)
    found = diff_of(a, b, view, allow_unequal=options.allow_unequal, samples=options.samples)
    results = check_gates(
        gates,
        b.board,
        baseline=a.board,
        drops=lambda: diff_ends_of(a, b, view, allow_unequal=options.allow_unequal),
    )
    if options.html:
        from assay.reports.html.diff_page import write_diff_page

        write_diff_page(Path(options.html), found)
        print(f"wrote {options.html}", file=sys.stderr)
    print(
        msgspec.json.encode(found).decode() if options.json else diff_page(found), end="" if not options.json else "\n"
    )
    for name in (options.a, options.b):
        if said := marks_sentence(Path(name)):
            print(f"{name}: {said}", file=sys.stderr if options.json else sys.stdout)
    return DONE if tell_gates(results) else GATE_NOT_MET
