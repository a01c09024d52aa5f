"""`assay repair`: the damaged lines of a run's journal set aside, so that the run can be completed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.runs.exit_status import DONE, WITH_FAILURES

if TYPE_CHECKING:
    from assay.runs.later.repair import Repaired

EPILOG = """\
Damaged lines are those that `assay verify` lists as edited, unchecked or unreadable: nothing is computed from a journal
that has one. They are moved to journal.damaged.jsonl in the run folder, byte for byte, and run.json records how many;
leaderboards show it. The other lines are not changed. Works on searches of `assay optimize` too.

exit code 0 if no attempt remains, 3 if some do: the command that runs them is printed

examples:
  assay verify runs/my-run                           which lines are damaged?
  assay repair runs/my-run                           set them aside
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("run", metavar="RUN", help="a run folder, or the folder of a search")


def run(options: argparse.Namespace) -> int:
    from assay.optimize.journal import SearchEntry
    from assay.runs.later.repair import repair

    folder = Path(options.run)
    done = repair(folder, SearchEntry)
    if done.lines:
        print(f"{done.lines:,} damaged {'line' if done.lines == 1 else 'lines'} set aside in {done.aside}")
    else:
        print("no damaged lines: nothing was changed")
    if done.lines or done.remaining:
        print(_what_remains(done, folder), file=sys.stderr)
    return WITH_FAILURES if done.remaining or (done.lines and done.run is None) else DONE


def _what_remains(done: Repaired, folder: Path) -> str:
    from assay.runs.command import continuing

    if done.run is None:
        return "rerun the same `assay optimize` command to request again what they held"
    if not done.remaining:
        return "no attempt is missing: each of them has an intact line too"
    remain = f"{done.remaining:,} of {done.planned:,} attempts {'remains' if done.remaining == 1 else 'remain'}"
    if done.run.answers_of:
        return f"{remain}; rerun the same `assay rescore` command to score them"
    command = continuing(done.run, folder)
    return f"{remain}; " + (f"run them with: {command}" if command else f"rerun what made the run, in {folder}")
