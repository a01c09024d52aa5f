"""What `assay show RUN` prints: how the run stands, its tables, and the attempts worth reading first."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.core.config import RunConfig
    from assay.core.run_file import RunFile
    from assay.reports.measure import Measure

WORST = 3
"""Attempts shown when nothing was said about how many."""
MATCHING = 10
"""Attempts shown of those that a query picks."""


def show_run(folder: Path, options: argparse.Namespace) -> None:
    import msgspec

    from assay.core.run_file import read_run_file
    from assay.reports.measure import measure_of

    run = read_run_file(folder)
    if options.where is not None:
        show_matching(folder, options, {definition.name: measure_of(definition) for definition in run.definitions})
        return
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(run), indent=2).decode())
        return
    measures = {definition.name: measure_of(definition) for definition in run.definitions}
    if options.sample is not None:
        show_sample(folder, options.sample, measures, run.config)
        return
    show_state(folder, run, options)
    show_worst(folder, measures, WORST if options.samples is None else options.samples)


def show_state(folder: Path, run: RunFile, options: argparse.Namespace) -> None:
    from assay.cli.output import say, show
    from assay.cli.view_flags import view_of_run
    from assay.printable import one_line
    from assay.reports.board.build import build_leaderboard
    from assay.reports.document import Items
    from assay.reports.documents.leaderboard import notes
    from assay.reports.documents.more_tables import board_tables

    board = build_leaderboard(folder, view_of_run(options, folder))
    owed, failed = sum(row.owed for row in board.tasks), board.failed + board.timeouts
    state = "complete" if board.complete else f"not complete: {failed:,} attempts failed, {owed:,} not made yet"
    say(f"{folder}   {one_line(board.adapter)}   begun {run.created}   {state}", options, stream=sys.stdout)
    say(f"made by: {one_line(' '.join(run.command))}", options, "quiet", stream=sys.stdout)
    print()
    besides = [one_line(note) for note in notes(board)]
    show([*board_tables(board), *([Items(besides)] if besides else [])], options)


def show_worst(folder: Path, measures: dict[str, Measure], most: int) -> None:
    import msgspec

    from assay.reports.attempt_text import attempt_text
    from assay.reports.conversation import beginnings_of
    from assay.reports.worst_first import worst_first

    journal = folder / "journal.jsonl"
    if most < 1 or not journal.exists():
        return
    worst = worst_first(journal, measures, most)
    beginnings = beginnings_of(msgspec.to_builtins(record) for record in worst)
    for record in worst:
        print("\n" + attempt_text(record, measures, longest=300, beginnings=beginnings))
    print(f"\nmore: assay show {folder} --sample ID   one sample in full;   assay view {folder.parent}   all of them")


def show_matching(folder: Path, options: argparse.Namespace, measures: dict[str, Measure]) -> None:
    """The attempts that a query picks, in the order of the dataset."""
    import msgspec

    from assay.cli.output import say
    from assay.core.journal import lines_at
    from assay.core.types import Record
    from assay.reports.attempt_text import attempt_text
    from assay.reports.conversation import beginnings_of
    from assay.viewer.selecting import select

    places, total = select(folder, options.where)
    if options.json:
        for _, record in lines_at(folder / "journal.jsonl", Record, places[: options.samples]):
            print(msgspec.json.encode(record).decode())
        return
    shown = places[: MATCHING if options.samples is None else options.samples]
    say(f"{folder}   {len(places):,} of {total:,} attempts match", options, stream=sys.stdout)
    found = [record for _, record in lines_at(folder / "journal.jsonl", Record, shown)]
    beginnings = beginnings_of(msgspec.to_builtins(record) for record in found)
    for record in found:
        print("\n" + attempt_text(record, measures, longest=300, beginnings=beginnings))
    if len(places) > len(shown):
        print(f"\nmore: --samples {len(places)} shows all of them;   assay export {folder} --where … writes a table")


def show_sample(folder: Path, sample: str, measures: dict[str, Measure], config: RunConfig) -> None:
    from assay.reports.attempt_text import attempt_text
    from assay.reports.worst_first import attempts_of

    journal = folder / "journal.jsonl"
    found = attempts_of(journal, sample) if journal.exists() else []
    if not found:
        raise UsageError(f"no attempt at a sample `{sample}` is in {journal}; ids are those of the task's records")
    print("\n\n".join(attempt_text(record, measures, longest=None, config=config) for record in found))
