"""The gates of `assay run` and `assay diff`: read before anything runs, one sentence each, and what CI reads."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import choice, option, repeated, switch

if TYPE_CHECKING:
    from assay.results.board.board_types import Leaderboard
    from assay.results.gates.result import GateResult

GATES = """\
gates:
  "overall >= 0.8", "sums >= baseline - 0.02", "code.weak <= 3"   compare numbers of the result and the baseline
  no-significant-drop        no task, nor the overall score, is significantly worse, sample by sample
  "no-drop-beyond 0.02"      every difference, and the overall one, is shown to be above -0.02
  "no-drop-beyond 0.02 sums"  the same for one task, or for `overall`
Each is met, not met, or cannot tell (the evidence is missing or too weak). docs/ci.md lists every name.
"""


def add_gate_arguments(parser: argparse.ArgumentParser, *, baseline: bool = True, own: bool = False) -> None:
    """`own`: whether a project may have gates of its own for this command."""
    ci = parser.add_argument_group("gates, for CI")
    repeated(
        ci,
        "--gate GATE",
        'exit code 1 unless it is met, however the failed attempts would have scored: "overall >= 0.8", '
        '"sums >= baseline - 0.02", no-significant-drop, "no-drop-beyond 0.02" (repeatable)',
    )
    choice(ci, "--gate-cannot-tell", ("fail", "pass"), "exit code for a gate that cannot tell (default: fail)")
    choice(
        ci,
        "--gate-left-out",
        ("count", "ignore"),
        "samples that --limit or --only left out count as attempts that could score anything, so that a gate cannot "
        "tell (default), or are ignored: the gate is about the others alone",
    )
    if baseline:
        option(ci, "--baseline FILE|RUN", "what gates compare with: a leaderboard or a run folder")
    if own:
        switch(ci, "--no-gates", "check none of the gates of the project and its suites")
    option(ci, "--junit FILE", "gates and tasks as JUnit XML")


def write_for_ci(
    options: argparse.Namespace, board: Leaderboard, results: Sequence[GateResult], summary: Callable[[], str]
) -> None:
    """The JUnit file where `--junit` wants it, and the step summary where the environment has one."""
    from assay.pages.step_summary import write_step_summary

    if options.junit:
        from assay.pages.junit import write_junit

        passes = options.gate_cannot_tell == "pass"
        write_junit(Path(options.junit), board, results, cannot_tell_passes=passes)
    write_step_summary(os.environ, summary)


def print_gates(results: Sequence[GateResult], options: argparse.Namespace, label: str = "") -> bool:
    """Print what is not met or cannot tell, of the one of several models with this label; True when nothing of it makes
    the exit code 1."""
    if not results:
        return True
    from assay.results.gates.result import broken_gates

    whose = f"{label}: " if label else ""
    for result in results:
        if not result.met:
            for sentence in result.sentences:
                print(f"{whose}gate {result.outcome}: {sentence}", file=sys.stderr)
    broken = broken_gates(results, cannot_tell_passes=options.gate_cannot_tell == "pass")
    if not broken:
        met = sum(result.met for result in results)
        unsure = f", {len(results) - met} cannot tell" if met < len(results) else ""
        ignored = f"; {results[0].ignored} that were left out ignored" if results[0].ignored else ""
        print(f"{whose}{met} of {len(results)} gates met{unsure}{ignored}", file=sys.stderr)
    return not broken
