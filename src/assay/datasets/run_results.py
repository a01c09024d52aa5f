"""The journal of a finished run as a dataset: prompts, answers and scores, in the order of its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from assay import catalog
from assay.catalog import unknown_name
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.journal import counting_lines, lines_at
from assay.core.types import Record, Sample, TaskDefinition
from assay.datasets.content import content_hash, is_elsewhere
from assay.datasets.json_lines import file_sha256
from assay.datasets.rows import Row, RowDataset
from assay.datasets.traces import conversation_columns, numbered_id
from assay.overriding import override
from assay.part_options import Doc, PathOption, part
from assay.run_file import RunFile, read_run_file
from assay.snippets.payload import payload_of
from assay.snippets.views import chat_answer


@describes(DatasetInfo(recorded_models=True))
@part(
    "What a finished run asked, answered and scored: its journal, a row for each attempt.",
    example="run_path: ../runs/first",
)
class RunResults(RowDataset):
    """A row for each attempt of one task, with the columns of recorded conversations (`traces.py`).

    An attempt that failed has its `error`, and no trace unless only scores are missing. An unfinished run is refused:
    its rows would still change.
    """

    def __init__(
        self,
        *,
        path: Annotated[
            str,
            Meta(min_length=1),
            PathOption("The run's folder, relative to the file that defines the dataset.", "run_path", is_folder=True),
        ],
        task: Annotated[str | None, Doc("Which of the run's tasks; may be left out when it has one.")] = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name or Path(path).name, **options)
        self.path = Path(path)
        self._run = read_run_file(self.path)
        self._task = _task_of(self._run, task, self.name)

    @property
    @override
    def where(self) -> str:
        return f"dataset `{self.name}` of the run {self.path}"

    @override
    def rows(self) -> Iterator[Row]:
        samples = _Sources(self._definition)
        for _, record in lines_at(self._journal, Record, self._places):
            known = record.metadata.get("sample")
            source = samples.row_of(record) or (known if isinstance(known, dict) else {})
            yield _row(record, str(self._run.model["name"]), source)

    @cached_property
    @override
    def sha256(self) -> str:
        return file_sha256(self._journal) if self._journal.is_file() else ""

    @property
    def _journal(self) -> Path:
        return self.path / "journal.jsonl"

    @property
    def _definition(self) -> TaskDefinition:
        return next(each for each in self._run.definitions if each.name == self._task)

    @cached_property
    def _places(self) -> list[int]:
        """Where the line of each attempt begins, in the order of samples and repetitions."""
        attempts = sorted(
            (record.index, record.attempt, place)
            for place, record in counting_lines(self._journal, Record)
            if record.task == self._task
        )
        planned = self._run.config.attempts_of(self._definition)
        if len(attempts) < planned:
            raise UsageError(
                f"{self.where}: the run is not finished: task `{self._task}` has "
                f"{len(attempts):,} of {planned:,} attempts. Resume it first"
            )
        return [place for _, _, place in attempts]


class _Sources:
    """The rows that a run's task was about, where its dataset is in files that still hold what they held then.

    Records are asked for in the order of the samples, so one walk over the dataset finds them all.
    """

    def __init__(self, definition: TaskDefinition) -> None:
        self._rest: Iterator[Sample] = iter(())
        self._at: Sample | None = None
        spec = definition.dataset
        if not catalog.is_ours("dataset", spec.use) or is_elsewhere(spec):
            return
        with suppress(UsageError, OSError):  # the file is gone, or of another shape
            dataset = catalog.make("dataset", spec.use, spec.options)
            if content_hash(dataset) == spec.sha256:
                self._rest = iter(dataset)

    def row_of(self, record: Record) -> Row | None:
        while self._at is None or self._at.id != record.sample_id:
            if (following := next(self._rest, None)) is None:
                return None
            self._at = following
        return self._at.row


def _task_of(run: RunFile, wanted: str | None, name: str) -> str:
    tasks = [definition.name for definition in run.definitions]
    if wanted is None:
        if len(tasks) != 1:
            raise UsageError(
                f"dataset `{name}`: the run has several tasks; say which with `task` in a dataset file with "
                f"`source: {{type: task_result, run_path: …, task: …}}`: {', '.join(tasks)}"
            )
        return tasks[0]
    if wanted not in tasks:
        raise UsageError(f"dataset `{name}`: {unknown_name('task of the run', wanted, tasks)}")
    return wanted


def _target(targets: Sequence[str]) -> Row:
    """The expected text, or a list of several; nothing where the task named none: its row is in `metadata.sample`."""
    return {"target": targets[0] if len(targets) == 1 else list(targets)} if targets else {}


def _row(record: Record, model: str, source: Row) -> Row:
    row: Row = {
        "sample_id": numbered_id(record.sample_id, record.attempt),
        "attempt": record.attempt,
        "model": model,
        **_target(record.targets),
        "scores": {score.name: {"values": dict(score.values), **score.values} for score in record.scores},
        "metadata": dict(record.metadata),
        "sample": source,
        "solver_output": None,
        "errors": [
            {"error_type": failure.kind, "message": failure.message, "stage": failure.stage}
            for failure in record.failures
        ],
        "trace": None,
    }
    if record.trace is not None:
        payload = payload_of(record.trace)
        row |= conversation_columns(payload["messages"])
        outputs = [each["data"] for each in payload["outputs"]]
        row |= {"output": record.trace.prediction, "trace": {"items": payload["items"]}}
        row["solver_output"] = {
            "output": outputs[-1] if outputs else chat_answer(record.trace.prediction),
            "messages": payload["messages"],
            "trace": row["trace"],
            "raw_outputs": outputs,
        }
    if record.failures:
        first = record.failures[0]
        row["error"] = f"{first.stage}: {first.message}"
        if not all(failure.scorer for failure in record.failures):  # else only scores are missing
            row["trace"] = row["solver_output"] = None
    return row
