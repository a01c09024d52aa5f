"""Whether a run folder is unchanged: its fingerprints recomputed, every journal line checked, counts compared.

Files are only read: nothing is imported or run, and no model is called. It detects damage, accidents and manual edits,
but not a forger who recomputes the checksums.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from assay.core.describe import ScorerInfo
from assay.core.errors import UsageError
from assay.core.fingerprint import canonical_json, fingerprint
from assay.core.journal import Counting, Damaged, Failed, read_lines
from assay.core.regular_file import read_regular
from assay.core.task import task_fingerprint
from assay.core.types import PartSpec, Record
from assay.overriding import override
from assay.pages.documents.report import report_page
from assay.results.board.board_types import Leaderboard, TaskRow, read_leaderboard_file
from assay.results.board.journal_table import Place
from assay.results.board.leaderboard import build_leaderboard
from assay.results.board.repairs import repair_notices
from assay.results.board.stretches import read_stretches
from assay.results.report_settings import view_of
from assay.run_file import RunFile, read_run_file, sealed_as
from assay.storage.checksum import number_of
from assay.storage.key_set import KeySet
from assay.user.seal import is_sealed

MOST = 1000
"""The most problems that are listed."""


class IntegrityProblem(Struct, frozen=True, kw_only=True):
    """Something that changed after it was written."""

    file: str
    what: str
    """`edited`, `doubled`, `cut`, `unreadable`, `unchecked`, `range`, `foreign`, `fingerprint` or `board`."""
    message: str
    line: int | None = None

    @override
    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.what}: {self.message}"


class RunIntegrity(Struct, frozen=True, kw_only=True):
    """The result of checking a run folder."""

    lines: int
    damaged: int
    """Lines that stop every other reader."""
    planned: int
    finished: int
    failed: int
    yours: bool
    """Whether this user made the run's attempts, or adopted them, on this machine."""
    problems: list[IntegrityProblem]
    more: int = 0
    """Problems beyond those that are listed."""
    notes: list[str] = []

    @property
    def intact(self) -> bool:
        return not self.problems


def check_run(folder: Path, known_keys: Container[int] | None = None) -> RunIntegrity:
    """Check everything in a run folder. `known_keys` are those of all attempts, where the samples are available."""
    run = read_run_file(folder)
    problems = list(_run_problems(run))
    problems += [
        IntegrityProblem(file=name, what="edited", message="its checksum does not match: what answered is not known")
        for name in read_stretches(folder)[1]
    ]
    walk = _Walk(run, known_keys)
    journal = folder / "journal.jsonl"
    notes = repair_notices(run)
    if journal.exists():
        walk.read(journal)
    else:
        notes.append("there is no journal yet")
    if walk.damaged:
        notes.append("leaderboard.json was not compared: the journal has damaged lines")
        notes.append(f"`assay repair {folder}` sets damaged lines aside, so that their attempts can be run again")
    else:
        problems += _board_problems(folder, run, notes)
    return RunIntegrity(
        lines=walk.lines,
        damaged=walk.damaged,
        planned=sum(run.config.attempts_of(definition) for definition in run.definitions),
        finished=len(walk.finished),
        failed=len(walk.rule.failed),
        yours=is_sealed(folder, sealed_as(run)),
        problems=problems + walk.problems,
        more=walk.more,
        notes=notes,
    )


def _run_problems(run: RunFile) -> Iterator[IntegrityProblem]:
    def changed(message: str) -> IntegrityProblem:
        return IntegrityProblem(file="run.json", what="fingerprint", message=message)

    now = {definition.name: task_fingerprint(definition) for definition in run.definitions}
    for name in sorted({*now, *run.tasks}):
        if now.get(name) != run.tasks.get(name):
            yield changed(f"the definition of task `{name}` is not the one that was run")
    settings = run.config.identity()
    for name in sorted({*settings, *run.settings}):
        if canonical_json(settings.get(name)) != canonical_json(run.settings.get(name)):
            yield changed(f"`config` says {name} = {settings.get(name)}, `settings` says {run.settings.get(name)}")
    if fingerprint([run.tasks, run.model, run.settings]) != run.fingerprint:
        yield changed("tasks, model or settings are not those that were run: their fingerprint differs")


class WholeLine(Record, frozen=True, kw_only=True):
    """A line that every reader accepts: the whole record, within the limits that some of them set."""

    key: Annotated[str, Meta(pattern="^[0-9a-f]{1,16}$")]
    index: Place
    attempt: Place = 1


class _Walk:
    """One pass over a journal that continues after errors."""

    def __init__(self, run: RunFile, known_keys: Container[int] | None) -> None:
        self._sizes = {definition.name: run.config.samples_of(definition) for definition in run.definitions}
        self._scorers = {
            definition.name: {part.key: part for part in definition.scorers} for definition in run.definitions
        }
        self._repeats = {definition.name: run.config.repeat_of(definition.name) for definition in run.definitions}
        self._known_keys = known_keys
        self._set_aside = [gap for repair in run.repairs if repair.file == "journal.jsonl" for gap in repair.missing]
        self._next_number: int | None = 1
        """The number of the next line; None where it is unknown."""
        self._places = KeySet()
        self.finished = KeySet()
        self.rule = Counting(self.finished)
        self.lines = self.damaged = self.more = 0
        self.problems: list[IntegrityProblem] = []

    def read(self, journal: Path) -> None:
        size, end = journal.stat().st_size, 0
        for line in read_lines(journal, WholeLine):
            self.lines += 1
            if isinstance(line, Damaged):
                self.damaged += 1
                self._report(line.what, line.reason)
                self._next_number = None  # the number may be what was damaged
                end = line.place + line.size
            else:
                self._check_number(number_of(line.line) or self.lines)
                self._check_record(line.record, failed=isinstance(line, Failed))
                end = line.place + len(line.line)
        if end < size:
            self.lines += 1
            self._report("cut", "the last line has no end; resuming the run retries its attempt")

    def _check_number(self, number: int) -> None:
        expected = number if self._next_number is None else self._next_number
        self._next_number = number + 1
        if number > expected and not any(a <= expected and number <= b + 1 for a, b in self._set_aside):
            missing = number - expected
            cut = "1 line was cut out" if missing == 1 else f"{missing:,} lines were cut out"
            self._report("cut", f"{cut} before it: it was written as line {number}")
        elif number < expected:
            self._report("doubled", f"it was written as line {number}, so it was copied or moved here")

    def _check_record(self, record: WholeLine, *, failed: bool) -> None:
        attempt = f"attempt {record.attempt} at sample `{record.sample_id}` of task `{record.task}`"
        key = int(record.key, 16)
        had_finished = key in self.finished
        counts = self.rule.counts(key, (0, 0.0) if failed else None, self.lines)
        if had_finished:
            again = "fails after it had finished" if failed else "is finished a second time"
            self._report("doubled", f"{attempt} {again}; the line is ignored")
        size = self._sizes.get(record.task)
        if size is None:
            self._report("foreign", f"run.json has no task `{record.task}`")
            return
        repeat = self._repeats[record.task]
        if not (0 <= record.index < size and 1 <= record.attempt <= repeat):
            self._report("foreign", f"{attempt} is not among the {size:,} samples × {repeat} that were planned")
        elif counts and not failed and not self._places.add(_place(record)):
            self._report("foreign", f"{attempt} takes the place of another sample: position {record.index} has two")
        if self._known_keys is not None and key not in self._known_keys:
            self._report("foreign", f"{attempt}: its key matches no sample of these task files")
        self._check_scores(record)

    def _check_scores(self, record: WholeLine) -> None:
        parts = self._scorers[record.task]
        for score in record.scores:
            part = parts.get(score.name)
            if part is None:
                self._report("foreign", f"task `{record.task}` has no scorer `{score.name}`")
                continue
            value = score.values.get("score")
            if in_unit_range(part) and isinstance(value, int | float) and not 0 <= value <= 1:
                self._report("range", f"`{score.name}` gives {value}, and its scores lie in [0, 1]")

    def _report(self, what: str, message: str) -> None:
        if len(self.problems) < MOST:
            self.problems.append(IntegrityProblem(file="journal.jsonl", line=self.lines, what=what, message=message))
        else:
            self.more += 1


def in_unit_range(part: PartSpec) -> bool:
    """Whether the `score` of a scorer lies in [0, 1], as it says."""
    values = part.about.values if isinstance(part.about, ScorerInfo) else ()
    return any((value.name, value.range) == ("score", (0.0, 1.0)) for value in values)


def _place(record: WholeLine) -> int:
    return hash((record.task, record.index, record.attempt)) & 0xFFFF_FFFF_FFFF_FFFF


def _board_problems(folder: Path, run: RunFile, notes: list[str]) -> Iterator[IntegrityProblem]:
    """Whether the files derived from the journal match it."""
    path = folder / "leaderboard.json"
    if not path.exists():
        notes.append("there is no leaderboard.json to compare")
        return
    try:
        written = read_leaderboard_file(path)
    except UsageError as error:
        yield IntegrityProblem(file=path.name, what="unreadable", message=str(error).removeprefix(f"{path}: "))
        return
    current = build_leaderboard(folder, view_of(run.config, folder))
    differences = list(_differences(written, current))
    for message in differences:
        yield IntegrityProblem(file=path.name, what="board", message=f"{message}; `assay report` rebuilds it")
    if differences or not (folder / "report.md").exists():
        return
    if not read_regular(folder / "report.md").decode(errors="replace").startswith(report_page(written).rstrip()):
        message = "not the report of leaderboard.json; `assay report` rebuilds it"
        yield IntegrityProblem(file="report.md", what="board", message=message)


def _differences(written: Leaderboard, current: Leaderboard) -> Iterator[str]:
    if written.run_fingerprint != current.run_fingerprint:
        yield "it belongs to another run"
        return
    rows = {row.task: row for row in written.tasks}
    for row in current.tasks:
        written_row = rows.pop(row.task, None)
        if written_row is None:
            yield f"it has no row for task `{row.task}`"
            continue
        for name in COMPARED:
            recorded, rebuilt = getattr(written_row, name), getattr(row, name)
            if recorded != rebuilt:
                yield f"{row.task}.{name} is {_shown(recorded)}, but the journal gives {_shown(rebuilt)}"
    yield from (f"it has a row for `{name}`, which the run does not have" for name in rows)
    if written.overall_score != current.overall_score:
        yield f"the overall score is {written.overall_score}, but the journal gives {current.overall_score}"
    if written.fingerprint != current.fingerprint:
        yield "its fingerprint is not that of the journal's attempts"


COMPARED = (
    *("metric", "signature", "sha256", "score", "interval"),
    *("total", "correct", "scored", "failed", "timeouts", "excluded", "remaining"),
)
assert {*COMPARED} <= {*TaskRow.__struct_fields__}  # noqa: S101 - a field that is renamed must be renamed here


def _shown(value: Any) -> str:
    if isinstance(value, Struct):
        return msgspec.json.encode(value).decode()
    return "nothing" if value is None else str(value)
