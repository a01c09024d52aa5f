"""What `assay show RUN` prints: how the run stands, its tables, and the attempts worth reading first."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli import streams
from assay.cli.output import has_styles, is_laid_out, print_json, print_sentence, show, width_of_stream
from assay.cli.view_flags import view_of_run
from assay.core.errors import UsageError
from assay.text.printable import one_line

if TYPE_CHECKING:
    from assay.core.types import Record
    from assay.pages.attempt_text import AttemptText
    from assay.results.measure import Measure
    from assay.run_file import RunFile

WORST = 3
"""Attempts shown when nothing was said about how many."""
MATCHING = 10
"""Attempts shown of those that a query picks."""
COMPARED = 50
"""Attempts that a question is held against to see what all of them begin with."""


def show_run(folder: Path, options: argparse.Namespace) -> None:
    from assay.results.measure import measure_of
    from assay.run_file import read_run_file

    run = read_run_file(folder)
    measures = {definition.name: measure_of(definition) for definition in run.definitions}
    if options.where is not None:
        show_matching(folder, options, measures)
    elif options.json:
        print_json(run, indent=2)
    elif options.sample is not None:
        show_sample(folder, measures, run, options)
    else:
        show_state(folder, run, options)
        show_worst(folder, measures, options)


def show_state(folder: Path, run: RunFile, options: argparse.Namespace) -> None:
    from assay.pages.document import Items
    from assay.pages.documents.leaderboard import display_names, notes
    from assay.pages.documents.more_tables import board_document
    from assay.results.board.leaderboard import build_leaderboard
    from assay.results.board.stretches import served_in_words
    from assay.text.wording import count_of

    board = build_leaderboard(folder, view_of_run(options, folder))
    remaining, failed = sum(row.remaining for row in board.tasks), board.failed + board.timeouts
    state = (
        "complete"
        if board.complete
        else f"not complete: {count_of(failed, 'attempt')} failed, {remaining:,} not yet run"
    )
    named = board.adapter if board.label is None else f"{board.label} ({board.adapter})"
    print_sentence(f"{folder}   {one_line(named)}   started {run.created}   {state}", options, stream=sys.stdout)
    print_sentence(f"made by: {one_line(' '.join(run.command))}", options, "quiet", stream=sys.stdout)
    if served := served_in_words(board.stretches):
        print_sentence(f"served: {one_line(served)}", options, "quiet", stream=sys.stdout)
    print()
    besides = [one_line(note) for note in [*display_names(board), *notes(board)]]
    show([*board_document(board), *([Items(besides)] if besides else [])], options)


def show_worst(folder: Path, measures: dict[str, Measure], options: argparse.Namespace) -> None:
    from assay.results.worst_attempts import worst_attempts

    most = WORST if options.samples is None else options.samples
    journal = folder / "journal.jsonl"
    if most < 1 or not journal.exists():
        return
    _show_attempts(journal, worst_attempts(journal, measures, most), measures, options)
    print(f"\nmore: assay show {folder} --sample ID   one sample in full")
    print(f"      assay view {folder.parent}   all of them")


def _show_attempts(
    journal: Path, records: list[Record], measures: dict[str, Measure], options: argparse.Namespace
) -> None:
    """Some attempts, cut short."""
    from assay.pages.attempt_text import attempt_text

    beginnings = shared_beginnings(journal, records)
    for record in records:
        print()
        show_attempt(attempt_text(record, measures, longest=300, beginnings=beginnings), options)


def show_matching(folder: Path, options: argparse.Namespace, measures: dict[str, Measure]) -> None:
    """The attempts that a query picks, in the order of the dataset."""
    from assay.core.journal import lines_at
    from assay.core.types import Record
    from assay.viewer.selecting import select

    places, total = select(folder, options.where)
    if options.json:
        for _, record in lines_at(folder / "journal.jsonl", Record, places[: options.samples]):
            print_json(record)
        return
    shown = places[: MATCHING if options.samples is None else options.samples]
    print_sentence(f"{folder}   {len(places):,} of {total:,} attempts match", options, stream=sys.stdout)
    journal = folder / "journal.jsonl"
    _show_attempts(journal, [record for _, record in lines_at(journal, Record, shown)], measures, options)
    if len(places) > len(shown):
        print(f"\nmore: --samples {len(places)} shows all of them")
        print(f"      assay export {folder} --where … writes a table")


def show_sample(folder: Path, measures: dict[str, Measure], run: RunFile, options: argparse.Namespace) -> None:
    from assay.pages.attempt_text import attempt_text
    from assay.results.worst_attempts import attempts_of

    journal, sample = folder / "journal.jsonl", options.sample
    attempts = attempts_of(journal, sample) if journal.exists() else []
    if not attempts:
        raise UsageError(f"no attempt at a sample `{sample}` is in {journal}; ids are those of the task's records")
    beginnings = shared_beginnings(journal, attempts)
    for place, record in enumerate(attempts):
        if place:
            print()
        show_attempt(attempt_text(record, measures, longest=None, run=run, beginnings=beginnings), options)


def shared_beginnings(journal: Path, records: Sequence[Record]) -> dict[str, str]:
    """What every question of these records' tasks begins with, such as few-shot examples."""
    from assay.results.conversation import beginnings_of
    from assay.results.worst_attempts import some_attempts

    others = some_attempts(journal, {record.task for record in records}, COMPARED)
    return beginnings_of(msgspec.to_builtins(record) for record in [*records, *others])


def show_attempt(attempt: AttemptText, options: argparse.Namespace) -> None:
    """Broken to fit a terminal, as it is elsewhere."""
    if not is_laid_out(options):
        print(attempt.text())
        return
    lines = attempt.lines(width_of_stream(sys.stdout))
    streams.write_lines(sys.stdout, lines, styled=has_styles(sys.stdout, options))
