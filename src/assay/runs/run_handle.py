"""A run that was made, for Python: `open_run` gives its attempts, numbers and provenance, and tables of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.costs.spending import Spent, spent_in, spent_rows, with_generation
from assay.overriding import override
from assay.pages.documents.leaderboard import leaderboard_table, notes
from assay.pages.html.notebook import leaderboard_html
from assay.pages.markdown import markdown
from assay.results.board.board_types import Leaderboard
from assay.results.diff.comparison import SAMPLES, diff
from assay.results.diff.differences import BoardDiff
from assay.results.frames.attempt import Attempt, SampleResult
from assay.results.frames.attempt_rows import attempts_table
from assay.results.frames.frame_columns import Table
from assay.results.frames.frame_source import Only, RunSource
from assay.results.frames.libraries import to_arrow, to_pandas, to_polars
from assay.results.frames.task_rows import tasks_table
from assay.results.report_settings import metadata_key, view_of_results
from assay.run_file import RunFile
from assay.runs.logs import logs_of
from assay.runs.shard_files import shard_files
from assay.stats.families import Correction
from assay.text.printable import one_line

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Rows = Literal["attempts", "tasks"]
ROWS: tuple[Rows, ...] = ("attempts", "tasks")


def open_run(folder: Path | str, *, level: float | None = None, by: str | Sequence[str] = ()) -> Run:
    """A run folder, finished or not, also while it is being written: read, never executed or changed. An Inspect log
    (`.eval`, `.json`) becomes a run folder first, in `.assay/inspect`.

    `level` is the confidence level of the intervals and `by` the metadata keys to slice by; both default to those of
    the run. Attempts are read from the journal when they are needed.

    >>> made = evaluate("starter", "toy", limit=2, folder="runs/toy")
    >>> run = open_run("runs/toy")
    >>> run.leaderboard.overall_score == made.leaderboard.overall_score
    True
    >>> next(run.attempts("arithmetic")).outcome
    'right'
    """
    changes: dict[str, Any] = {}
    if level is not None:
        changes["level"] = _checked_level(level)
    if by:
        changes["by"] = _keys(by)
    path = Path(folder)
    logs = logs_of(path)
    return Run(RunSource.of(path if logs is None else logs.run_folder(path), **changes))


class Run:
    """A run folder. Its numbers are those of `assay leaderboard`, `assay diff` and the viewer, by the same functions.

    Nothing is loaded before it is asked for, and `attempts` and `samples` hold one attempt or sample at a time. What
    was read is kept: open the folder again to see what a run that is being written has made since.
    """

    def __init__(self, source: RunSource) -> None:
        self._source = source

    @property
    def folder(self) -> Path:
        return self._source.folder

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._source.label

    @property
    def model(self) -> str:
        """The name of the evaluated model."""
        return self._source.model

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, in the order of the leaderboard."""
        return tuple(definition.name for definition in self.provenance.definitions)

    @property
    def provenance(self) -> RunFile:
        """What the run is: task definitions and fingerprints, model, settings, versions, command, when it began."""
        return self._source.run

    @property
    def leaderboard(self) -> Leaderboard:
        """The leaderboard, made of the journal; `overall_score`, and a row with interval, counts and costs per task."""
        return self._source.board

    @cached_property
    def notes(self) -> list[str]:
        """Notes on everything that limits what the numbers show."""
        waiting = len(shard_files(self.folder))
        shards = f"{waiting} shard files may hold more attempts; `assay merge {self.folder}` puts them into the journal"
        return [*notes(self.leaderboard), *([shards] if waiting else [])]

    def attempts(self, task: str | None = None) -> Iterator[Attempt]:
        """Every attempt that counts, one at a time, task by task in the order of the dataset."""
        return self._source.attempts(task)

    def samples(self, task: str | None = None) -> Iterator[SampleResult]:
        """Every sample with its attempts, one at a time, task by task in the order of the dataset."""
        for (name, _, sample), attempts in groupby(
            self.attempts(task), key=lambda each: (each.task, each.record.index, each.sample_id)
        ):
            yield SampleResult(task=name, id=sample, attempts=tuple(attempts))

    def sample(self, sample_id: str, task: str | None = None) -> SampleResult:
        """One sample with its attempts; `task` says whose, where several tasks have a sample of that id."""
        result = self._source.sample(sample_id, task)
        names = list(dict.fromkeys(attempt.task for attempt in result))
        if not names:
            raise UsageError(
                f"{self.folder}: no attempt at a sample `{sample_id}`; ids are those of the task's records"
            )
        if len(names) > 1:
            raise UsageError(
                f"{self.folder}: several tasks have a sample `{sample_id}`: {', '.join(names)}; name the task"
            )
        return SampleResult(task=names[0], id=sample_id, attempts=tuple(result))

    def failures(self, task: str | None = None) -> Iterator[Attempt]:
        """The attempts that failed and have not succeeded since; they are excluded from every score."""
        return self._source.failed(task)

    def costs(self) -> list[Spent]:
        """What the evaluated model, each judge and each model that wrote samples used and cost; attempts that
        failed and were retried are included."""
        spent, judges = spent_in(self._source.journal)
        judges = with_generation(judges, self._source.run.definitions)
        sums = {("task model", self.model): spent, **{("judge", name): used for name, used in judges.items()}}
        return spent_rows(sums, self._source.prices)

    def to_pandas(self, rows: Rows = "attempts", *, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """A pandas DataFrame with a row per attempt or per task; `columns` names the wanted ones."""
        return to_pandas(self._table(rows, columns))

    def to_arrow(self, rows: Rows = "attempts", *, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """A pyarrow Table with a row per attempt or per task."""
        return to_arrow(self._table(rows, columns))

    def to_polars(self, rows: Rows = "attempts", *, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """A polars DataFrame with a row per attempt or per task."""
        return to_polars(self._table(rows, columns))

    def diff(
        self,
        other: Run | Path | str,
        *,
        level: float | None = None,
        by: str | Sequence[str] = (),
        samples: int = SAMPLES,
        allow_unequal: bool = False,
        same_within: float | None = None,
        correction: Correction = "holm",
    ) -> BoardDiff:
        """How `other` differs from this run, as `assay diff` says it: this one is A, the other B.

        With `same_within` every difference is also tested for being less than that margin, either way. `correction`
        is that of `--correction`.
        """
        both = self.folder, other.folder if isinstance(other, Run) else other
        view = replace(view_of_results(both, _checked_level(level)), by=_keys(by))
        return diff(
            *both, view, allow_unequal=allow_unequal, samples=samples, same_within=same_within, correction=correction
        )

    def _table(self, rows: Rows, columns: Sequence[str] | None) -> Table:
        return table_of_runs([self._source], rows, columns)

    @override
    def __repr__(self) -> str:
        tasks = f"{len(self.tasks)} tasks" if len(self.tasks) != 1 else f"task {one_line(self.tasks[0])}"
        return f"<Run {self.folder}: {one_line(self.model)}, {tasks}>"

    @override
    def __str__(self) -> str:
        board = self.leaderboard
        state = "complete" if board.complete else "not complete"
        lines = [f"{self.folder}   {one_line(self.model)}   {state}", "", markdown(leaderboard_table(board))]
        return "\n".join([*lines, *(f"- {one_line(note)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return leaderboard_html(self.leaderboard)


def _checked_level(level: float | None) -> float | None:
    if level is not None and not 0.0 < level < 1.0:
        raise UsageError(f"level must be between 0 and 1, such as 0.95, got {level}")
    return level


def _keys(by: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(metadata_key(key, "by") for key in ([by] if isinstance(by, str) else by))


def table_of_runs(
    sources: Sequence[RunSource], rows: Rows, columns: Sequence[str] | None = None, *, only: Only | None = None
) -> Table:
    """Several runs in one table; `only` picks attempts."""
    if rows not in ROWS:
        raise UsageError(f"rows is `attempts` or `tasks`, not {rows!r}")
    if rows == "attempts":
        return attempts_table(sources, columns, only=only)
    if only is not None:
        raise UsageError("attempts can be picked for a table of attempts only: a task's numbers are over all of them")
    return tasks_table(sources, columns)
