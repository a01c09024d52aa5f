"""Human marks: people's verdicts on samples, kept in `marks.jsonl` next to the journal, and how the scores agree.

One line per mark, append only; the last line of a person for a sample counts, and one without a verdict withdraws that
person's mark.
"""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.journal import counting_lines
from assay.core.regular_file import open_to_append, read_regular
from assay.results.board.journal_table import AttemptLine
from assay.results.measure import Measure, measures_of, share_of_marks
from assay.run_file import read_run_file
from assay.stats.agreement import Agreement, agreement
from assay.stats.intervals import Interval
from assay.text.numbers import interval, number, percent

FILE_NAME = "marks.jsonl"
THRESHOLD = 0.5
MarkVerdict = Literal["right", "wrong", "unclear"]


class Mark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's verdict on one attempt."""

    key: str
    task: str
    sample_id: str
    attempt: int = 1
    verdict: MarkVerdict | None = None
    """None withdraws an earlier mark."""
    note: str = ""
    time: str = ""
    by: str = ""
    """Who made the mark."""
    blind: bool = False
    """Whether score, outcome and reasons were hidden until the mark was made."""


class MarksAgreement(Struct, frozen=True, kw_only=True):
    """People against scores, over the samples that people called right or wrong and that have a score."""

    threshold: float
    """This share of full marks, or more, counts as right."""
    marked: int
    unclear: int
    unscored: int
    """Marked samples without a score: they failed, or their task has no right and wrong."""
    overall: Agreement
    tasks: dict[str, Agreement]
    counts: dict[str, int]
    """`right_right`: people and score say right; `right_wrong`: people say right, the score says wrong; …"""


class PeopleAgreement(Struct, frozen=True, kw_only=True):
    """Two people, over the samples that both called right or wrong."""

    first: str
    second: str
    agreement: Agreement


def read_marks(folder: Path) -> dict[str, Mark]:
    """The latest standing mark of each attempt, by its key."""
    return {mark.key: mark for mark in standing_marks(folder)}


def standing_marks(folder: Path) -> list[Mark]:
    """Every person's latest mark of every attempt, in the order in which they were made."""
    path = folder / FILE_NAME
    if not path.exists():
        return []
    marks: dict[tuple[str, str], Mark] = {}
    for line_number, line in enumerate(read_regular(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            mark = msgspec.json.decode(line, type=Mark)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}, line {line_number}: not a mark ({error}). Fix or delete this line.") from error
        marks.pop((mark.key, mark.by), None)
        if mark.verdict is not None:
            marks[mark.key, mark.by] = mark
    return list(marks.values())


def append_mark(folder: Path, mark: Mark) -> None:
    """Append the mark in one write; a link in the file's place is not followed."""
    file = open_to_append(folder / FILE_NAME)
    try:
        os.write(file, msgspec.json.encode(mark) + b"\n")
    finally:
        os.close(file)


def marks_agreement(folder: Path) -> MarksAgreement | None:
    """How the run's scores agree with its marks; None when there are no marks."""
    marks = read_marks(folder)
    return agreement_of(marks, _scores(folder, marks)) if marks else None


def marks_sentence(folder: Path) -> str | None:
    """How a run's scores agree with people, in one sentence; None when there are no marks."""
    result = marks_agreement(folder) if folder.is_dir() else None
    if result is None:
        return None
    both = result.overall
    if both.raw is None:
        return f"people marked {result.marked} samples, none of them right or wrong with a score to compare"
    kappa = f"no kappa ({both.reason})"
    if both.kappa is not None:
        kappa = f"kappa {number(both.kappa, 2)}{_range(both.kappa_interval)}"
    left_out = f"; left out: {result.unclear} unclear, {result.unscored} without a score"
    return (
        f"people and scores agree on {percent(both.raw)}{_range(both.raw_interval)} of {both.n} marked samples, "
        f"{kappa}, counting a score of {result.threshold:g} or more as right"
        f"{left_out if result.unclear or result.unscored else ''}"
    )


def _range(ends: Interval) -> str:
    return "" if ends.low is None or ends.high is None else f" ({interval(ends, 2)})"


def agreement_of(marks: Mapping[str, Mark], scores: Mapping[str, float | None]) -> MarksAgreement:
    """People's right and wrong against scores, as shares of full marks, cut at the threshold."""
    decided = [mark for mark in marks.values() if mark.verdict in ("right", "wrong")]
    pairs = [
        (mark.task, str(mark.verdict), "right" if score >= THRESHOLD else "wrong")
        for mark in decided
        if (score := scores.get(mark.key)) is not None
    ]
    counts = {f"{human}_{machine}": 0 for human in ("right", "wrong") for machine in ("right", "wrong")}
    for _, human, machine in pairs:
        counts[f"{human}_{machine}"] += 1
    return MarksAgreement(
        threshold=THRESHOLD,
        marked=len(marks),
        unclear=len(marks) - len(decided),
        unscored=len(decided) - len(pairs),
        overall=_agreement(pairs),
        tasks={
            task: _agreement([pair for pair in pairs if pair[0] == task])
            for task in dict.fromkeys(pair[0] for pair in pairs)
        },
        counts=counts,
    )


def people_agreement(marks: Sequence[Mark]) -> list[PeopleAgreement]:
    """Every two people with samples that both called right or wrong, in the order of their names."""
    verdicts: dict[str, dict[str, str]] = defaultdict(dict)
    for mark in marks:
        if mark.verdict in ("right", "wrong"):
            verdicts[mark.by][mark.key] = str(mark.verdict)
    results = []
    for first, second in combinations(sorted(verdicts), 2):
        theirs = verdicts[second]
        pairs = [(verdict, theirs[key]) for key, verdict in verdicts[first].items() if key in theirs]
        if pairs:
            agreed = agreement([a for a, _ in pairs], [b for _, b in pairs])
            results.append(PeopleAgreement(first=first, second=second, agreement=agreed))
    return results


def _agreement(pairs: list[tuple[str, str, str]]) -> Agreement:
    return agreement([human for _, human, _ in pairs], [machine for _, _, machine in pairs])


def _scores(folder: Path, marks: Mapping[str, Mark]) -> dict[str, float | None]:
    """The marked attempts' shares of full marks, from the journal."""
    measures = measures_of(read_run_file(folder).definitions)
    numbers: dict[str, array[float]] = defaultdict(lambda: array("d"))
    marked: dict[str, tuple[str, float]] = {}
    for _, line in counting_lines(folder / "journal.jsonl", AttemptLine):
        number = measures.setdefault(line.task, Measure()).of(line)
        if number is not None:
            numbers[line.task].append(number)
            if line.key in marks:
                marked[line.key] = line.task, number
    ranges = {name: measures[name].marks(np.asarray(each)) for name, each in numbers.items()}
    return {key: share_of_marks(number, ranges[task]) for key, (task, number) in marked.items()}
