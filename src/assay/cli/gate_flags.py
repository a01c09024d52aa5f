"""The gates of `assay run` and `assay diff`: read before anything runs, told in one sentence each."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.evaluation import RunResult
    from assay.reports.diff_types import DiffEnds
    from assay.reports.gates import GateResult


class GateKeeper:
    """What `--gate`, `--baseline` and `--junit` ask of a run. A gate that could not be checked is refused up front."""

    def __init__(self, options: argparse.Namespace, tasks: Sequence[str]) -> None:
        from assay.cli.view_flags import view_from
        from assay.reports.gates import check_names, parse_gates
        from assay.reports.leaderboard import read_leaderboard

        self._options = options
        self._gates = parse_gates(options.gate)
        self._view = view_from(options)
        self._baseline = read_leaderboard(options.baseline, self._view) if options.baseline else None
        check_names(self._gates, tasks, baseline=self._baseline)

    def check(self, result: RunResult) -> int:
        """Check, tell, write what CI reads; the exit code is 0 when every gate is met."""
        from assay.cli.main import DONE, GATE_NOT_MET
        from assay.reports.gates import check_gates
        from assay.reports.junit import write_junit
        from assay.reports.step_summary import run_summary, write_step_summary

        board = result.leaderboard
        results = check_gates(self._gates, board, baseline=self._baseline, drops=lambda: self._compared(result.folder))
        if self._options.junit:
            write_junit(Path(self._options.junit), board, results)
        write_step_summary(os.environ, run_summary(board, results))
        return DONE if tell_gates(results) else GATE_NOT_MET

    def _compared(self, folder: Path) -> DiffEnds:
        from assay.reports.diff_ends import diff_ends

        return diff_ends(self._options.baseline, folder, self._view)


def tell_gates(results: Sequence[GateResult]) -> bool:
    """Say what broke; True when every gate is met."""
    broken = [result for result in results if not result.passed]
    for result in broken:
        for sentence in result.sentences:
            print(f"gate not met: {sentence}", file=sys.stderr)
    if results and not broken:
        print(f"{len(results)} of {len(results)} gates met", file=sys.stderr)
    return not broken
