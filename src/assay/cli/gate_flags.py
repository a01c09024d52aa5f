"""The gates of `assay run` and `assay diff`: read before anything runs, one sentence each, and what CI reads."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.evaluation import RunResult
    from assay.reports.board import Leaderboard
    from assay.reports.gate_result import GateResult

GATES = """\
gates:
  "overall >= 0.8", "sums >= baseline - 0.02", "code.weak <= 3"   compare numbers of the result and the baseline
  no-significant-drop        no task, nor the overall score, is significantly worse, sample by sample
  "no-drop-beyond 0.02"      every difference, and the overall one, is shown to be above -0.02
  "no-drop-beyond 0.02 sums" the same of one task, or of `overall`
Each is met, not met, or cannot tell: then the evidence is missing or too weak. docs/ci.md lists every name.
"""


def add_gate_arguments(parser: argparse.ArgumentParser, *, baseline: bool = True) -> None:
    ci = parser.add_argument_group("gates, for CI")
    ci.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="GATE",
        help='exit code 1 unless it is met, whatever failed attempts would have been: "overall >= 0.8", '
        '"sums >= baseline - 0.02", no-significant-drop, "no-drop-beyond 0.02" (repeatable)',
    )
    ci.add_argument(
        "--gate-cannot-tell",
        choices=("fail", "pass"),
        default="fail",
        help="what a gate that cannot tell does to the exit code (default: fail)",
    )
    if baseline:
        ci.add_argument("--baseline", metavar="FILE|RUN", help="what gates compare with: a leaderboard or a run folder")
    ci.add_argument("--junit", metavar="FILE", help="gates and tasks as JUnit XML")


class GateKeeper:
    """What `--gate`, `--baseline` and `--junit` ask of a run. A gate that could not be checked is refused up front."""

    def __init__(self, options: argparse.Namespace, definitions: Sequence[TaskDefinition]) -> None:
        from assay.cli.view_flags import view_from
        from assay.reports.gate_expression import parse_gates
        from assay.reports.gate_names import check_names, numbers_of_definition
        from assay.reports.leaderboard import read_leaderboard

        self._options = options
        self._gates = parse_gates(options.gate)
        self._view = view_from(options)
        self._baseline = read_leaderboard(options.baseline, self._view) if options.baseline else None
        if self._gates:
            tasks = {each.name: numbers_of_definition(each, options.repeat) for each in definitions}
            check_names(self._gates, tasks, baseline=self._baseline)

    def check(self, result: RunResult) -> list[GateResult]:
        """What came of every gate."""
        from assay.reports.diff_ends import diff_ends
        from assay.reports.gates import check_gates

        pairs = partial(diff_ends, self._options.baseline, result.folder, self._view)
        return check_gates(
            self._gates, result.leaderboard, baseline=self._baseline, pairs=pairs if self._baseline else None
        )

    def write(self, board: Leaderboard, results: Sequence[GateResult]) -> None:
        """What CI reads, whatever came of the gates."""
        from assay.reports.step_summary import run_summary

        write_for_ci(self._options, board, results, run_summary(board, results))


def write_for_ci(options: argparse.Namespace, board: Leaderboard, results: Sequence[GateResult], summary: str) -> None:
    """The JUnit file where `--junit` wants it, and the step summary where the environment has one."""
    from assay.reports.junit import write_junit
    from assay.reports.step_summary import write_step_summary

    if options.junit:
        passes = options.gate_cannot_tell == "pass"
        write_junit(Path(options.junit), board, results, cannot_tell_passes=passes)
    write_step_summary(os.environ, summary)


def tell_gates(results: Sequence[GateResult], options: argparse.Namespace) -> bool:
    """Print what is not met or cannot tell; True when nothing of it makes the exit code 1."""
    from assay.reports.gate_result import broken_gates

    for result in results:
        if not result.met:
            for sentence in result.sentences:
                print(f"gate {result.outcome}: {sentence}", file=sys.stderr)
    broken = broken_gates(results, cannot_tell_passes=options.gate_cannot_tell == "pass")
    if results and not broken:
        met = sum(result.met for result in results)
        unsure = f", {len(results) - met} cannot tell" if met < len(results) else ""
        print(f"{met} of {len(results)} gates met{unsure}", file=sys.stderr)
    return not broken
