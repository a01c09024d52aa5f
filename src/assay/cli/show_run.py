"""What `assay show RUN` prints: how the run stands, its tables, and the attempts worth reading first."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.core.run_file import RunFile
    from assay.core.types import Record
    from assay.reports.measure import Measure

WORST = 3
"""Attempts shown when nothing was said about how many."""


def show_run(folder: Path, options: argparse.Namespace) -> None:
    import msgspec

    from assay.core.run_file import read_run_file
    from assay.reports.measure import measure_of

    run = read_run_file(folder)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(run), indent=2).decode())
        return
    measures = {definition.name: measure_of(definition) for definition in run.definitions}
    if options.sample is not None:
        show_sample(folder, options.sample, measures)
        return
    show_state(folder, run, options)
    show_worst(folder, measures, WORST if options.samples is None else options.samples)


def show_state(folder: Path, run: RunFile, options: argparse.Namespace) -> None:
    from assay.cli.view_flags import view_of_run
    from assay.printable import one_line
    from assay.reports.leaderboard import build_leaderboard
    from assay.reports.markdown import notes
    from assay.reports.more_tables import board_tables

    board = build_leaderboard(folder, view_of_run(options, folder))
    owed, failed = sum(row.owed for row in board.tasks), board.failed + board.timeouts
    state = "complete" if board.complete else f"not complete: {failed:,} attempts failed, {owed:,} not made yet"
    print(f"{folder}   {one_line(board.adapter)}   begun {run.created}   {state}")
    print(f"made by: {one_line(' '.join(run.command))}\n")
    print(board_tables(board))
    for note in notes(board):
        print(f"- {one_line(note)}")


def show_worst(folder: Path, measures: dict[str, Measure], most: int) -> None:
    from assay.reports.worst_first import worst_first

    journal = folder / "journal.jsonl"
    if most < 1 or not journal.exists():
        return
    for record in worst_first(journal, measures, most):
        print("\n" + attempt_text(record, measures, longest=300))
    print(f"\nmore: assay show {folder} --sample ID   one sample in full;   assay view {folder.parent}   all of them")


def show_sample(folder: Path, sample: str, measures: dict[str, Measure]) -> None:
    from assay.core.errors import UsageError
    from assay.reports.worst_first import attempts_of

    journal = folder / "journal.jsonl"
    found = attempts_of(journal, sample) if journal.exists() else []
    if not found:
        raise UsageError(f"no attempt at a sample `{sample}` is in {journal}; ids are those of the task's records")
    print("\n\n".join(attempt_text(record, measures, longest=None) for record in found))


def attempt_text(record: Record, measures: dict[str, Measure], *, longest: int | None) -> str:
    """One attempt for a terminal; with `longest`, one line for each thing that was said."""
    from assay.reports.markdown import number
    from assay.reports.measure import Measure
    from assay.reports.per_example import per_example
    from assay.reports.weak_passes import is_weak_pass

    seen = per_example(record, measures.get(record.task, Measure()))
    verdict = "failed" if seen.failure is not None else f"score {number(seen.score)}"
    if any(is_weak_pass(score.values, score.metadata) for score in record.scores):
        verdict += ", a weak pass"
    lines = [
        _plain(f"{record.task} / {seen.id}   attempt {seen.attempt}   {verdict}   {seen.latency_ms:,.0f} ms", None)
    ]
    said = [
        ("asked", seen.prompt or record.asked),
        ("answered", seen.prediction),
        ("read as", seen.answer),
        ("targets", " / ".join(seen.targets) or None),
        *(("failed", f"{failure.stage}, {failure.kind}: {failure.message}") for failure in record.failures),
        *((score.name, _values(score.values)) for score in record.scores),
        *((f"{score.name}, why", score.reason) for score in record.scores),
        ("left out by", ", ".join(record.excluded) or None),
    ]
    lines += [f"  {name + ':':<10} {_plain(text, longest)}" for name, text in said if text is not None]
    return "\n".join(lines)


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {value:z.3f}" if type(value) is float else f"{name} {value}" for name, value in values.items()
    )


def _plain(text: str, longest: int | None) -> str:
    """Text that cannot move the cursor or colour the terminal; whole, and indented, unless it must be one line."""
    from assay.printable import one_line, printable

    if longest is not None:
        return one_line(text, longest)
    return printable(text).replace("\n", "\n             ")
