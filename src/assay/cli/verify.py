"""`assay verify`: is a run what was written, and were these the task files it was made with?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import add_form_arguments, print_json, show
from assay.cli.run_flags import add_task_parameters, task_parameters
from assay.cli.setting_flags import add_settings
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE, GATE_NOT_MET
from assay.tasks.task_settings import TaskSettings
from assay.text.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.core.types import TaskDefinition
    from assay.runs.later.integrity import RunIntegrity

EPILOG = """\
For a run folder, everything is recomputed: the fingerprints of run.json, the checksum and number of every journal line,
the counts, the range of every score, leaderboard.json and report.md. What was edited, duplicated or cut is
listed with its line. Checksums reveal damage and manual edits; they are not a signature.

exit code 0 if nothing was changed and every task's content is the same, 1 if not

examples:
  assay verify runs/my-run                           is it intact?
  assay verify runs/my-run tasks/                    and was it made from these task files?
  assay verify leaderboard.json tasks/               the task files alone, for a leaderboard that came without its run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("run", metavar="RUN", help="a run folder, or a leaderboard.json")
    parser.add_argument("tasks", nargs="*", metavar="TASKS", help="task files, folders or built-in names")
    add_task_parameters(parser)
    add_settings(parser, TaskSettings, "allow_outside")
    add_form_arguments(parser, json="the findings as JSON")


def run(options: argparse.Namespace) -> int:
    from assay.tasks.load import load_tasks

    folder = Path(options.run)
    scored = scored_content(folder)
    if not folder.is_dir() and not options.tasks:
        raise UsageError(f"{folder}: a leaderboard alone is compared with task files: name them, or give a run folder")
    given = load_tasks(options.tasks, allow_bad=True, only_reads=True, **task_parameters(options))
    here = {item.name: item.dataset.sha256 for item in given}
    verdicts = {name: verdict(scored.get(name), here.get(name)) for name in sorted({*scored, *here})} if given else {}
    checked = check(folder, [item for item in given if verdicts[item.name] == "same"]) if folder.is_dir() else None
    same = set(verdicts.values()) <= {"same"} and (checked is None or checked.intact)
    if options.json:
        whole = {"tasks": verdicts, "same": same, **({} if checked is None else {"run": checked})}
        print_json(whole)
    else:
        print_comparison(checked, verdicts, scored, here, options)
    return DONE if same else GATE_NOT_MET


def scored_content(source: Path) -> dict[str, str]:
    """The sha256 of every task's content, as the run or the leaderboard has it."""
    from assay.results.board.consistency import read_checked_board
    from assay.run_file import read_run_file

    if source.is_dir():
        return {definition.name: definition.dataset.sha256 for definition in read_run_file(source).definitions}
    return {row.task: row.sha256 for row in read_checked_board(source).tasks}


def check(folder: Path, unchanged: Sequence[TaskDefinition]) -> RunIntegrity:
    """The run folder; with the samples of its tasks at hand, also the key of every attempt."""
    from assay.run_file import read_run_file
    from assay.runs.later.integrity import check_run
    from assay.tasks.built_tasks import keys_of

    run_file = read_run_file(folder)
    whole = {definition.name for definition in unchanged} == {definition.name for definition in run_file.definitions}
    keys = keys_of(unchanged, run_file.config) if whole and unchanged else None
    return check_run(folder, keys)


def print_comparison(
    checked: RunIntegrity | None,
    verdicts: dict[str, str],
    scored: dict[str, str],
    here: dict[str, str],
    options: argparse.Namespace,
) -> None:
    from assay.pages.document import Cell, Span, TextTable

    if checked is not None:
        columns = ["lines", "damaged", "planned", "finished", "failed", "remaining"]
        remaining = checked.planned - checked.finished - checked.failed
        counts = (checked.lines, checked.damaged, checked.planned, checked.finished, checked.failed, remaining)
        show(TextTable(header=columns, rows=[[f"{count:,}" for count in counts]], numeric_from=0), options)
        for problem in checked.problems:
            print(f"- {one_line(str(problem))}")
        if checked.more:
            print(f"- and {checked.more:,} more")
        if checked.intact:
            print("nothing was edited, duplicated or cut")
        if not checked.yours:
            print("another user, machine or version made this run, or it came with its folder", file=sys.stderr)
        for note in checked.notes:
            print(note, file=sys.stderr)
    if verdicts:
        rows: list[list[Cell]] = [
            [
                name,
                Span(word, "good" if word == "same" else "bad"),
                scored.get(name, "–")[:16],
                here.get(name, "–")[:16],
            ]
            for name, word in verdicts.items()
        ]
        show(TextTable(header=["task", "content", "scored", "these files"], rows=rows, numeric_from=9), options)


def verdict(scored: str | None, here: str | None) -> str:
    if scored is None:
        return "not on the leaderboard"
    if here is None:
        return "not in these files"
    return "same" if scored == here else "changed"
