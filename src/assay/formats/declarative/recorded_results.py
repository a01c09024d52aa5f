"""`task_result_log_path`: a task specification whose answers are in a finished log, and are scored from there.

The log is JSON of the platform that made it. Its samples are the rows, its answers those of the solver; the numbers
are computed from them by the scorers of the task.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.formats.declarative.records import Options
from assay.formats.declarative.yaml_reader import Plain

_MOST_BYTES = 512 * 1024 * 1024
_COLUMN = "recorded_trace"


class _Data(Struct, frozen=True):
    data: dict[str, Any]


class _Solved(Struct, frozen=True):
    output: dict[str, Any]


class _Problem(Struct, frozen=True):
    message: str = ""


class _Attempt(Struct, frozen=True, kw_only=True):
    sample: _Data | None = None
    solver: _Solved | None = None
    errors: list[_Problem] = []


class _Sample(_Attempt, frozen=True, kw_only=True):
    sample_id: str | int | None = None
    trials: list[_Attempt] = []


class _Evidence(Struct, frozen=True):
    samples: list[_Sample] | None = None


class _Log(Struct, frozen=True):
    format_version: str
    evidence: _Evidence | None


def with_recorded_answers(definition: TaskDefinition, path: Path, choice: Options) -> TaskDefinition:
    """The task over the samples of a log, with the answers that it recorded; `choice` is which of the samples."""
    samples: list[Plain] = [_row(each, path) for each in _samples(path)]
    options: Options = {"name": f"{definition.name}-log", "samples": samples, **choice}
    rows = catalog.make("dataset", "inline", options)
    dataset = DatasetSpec(use="inline", options=options, sha256=rows.sha256, size=len(rows))
    has_solver = definition.solver.use != "no_solver"
    replay = PartSpec(key="solver", use="pass_through_solver", options={"trace_column": _COLUMN})
    provenance = definition.provenance
    return msgspec.structs.replace(
        definition,
        dataset=dataset,
        solver=replay if has_solver else definition.solver,
        provenance=msgspec.structs.replace(provenance, files=tuple(sorted({*provenance.files, str(path)}))),
    )


def _samples(path: Path) -> list[_Sample]:
    try:
        log = msgspec.json.decode(read_regular(path, _MOST_BYTES), type=_Log)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: is no log of a task result: {error}") from error
    if log.format_version != "v1":
        raise UsageError(f"{path}: is a log of the format {log.format_version!r}; this reads v1")
    if log.evidence is None or not log.evidence.samples:
        raise UsageError(f"{path}: the log has no samples")
    return log.evidence.samples


def _row(sample: _Sample, path: Path) -> dict[str, Plain]:
    """A sample as a row; where it failed, what went wrong stands in place of its answer."""
    if len(sample.trials) > 1:
        raise UsageError(
            f"{path}: sample {sample.sample_id} has {len(sample.trials)} trials; one answer a sample is read"
        )
    given = sample.trials[0] if sample.trials else sample
    data = given.sample or sample.sample
    if data is None:
        raise UsageError(f"{path}: sample {sample.sample_id} has no data")
    row: dict[str, Plain] = {**data.data, _COLUMN: None if given.solver is None else _trace(given.solver.output)}
    if sample.sample_id is not None:
        row["sample_id"] = str(sample.sample_id)
    if given.solver is None:
        row["error"] = "; ".join(problem.message for problem in (*given.errors, *sample.errors)) or "no answer"
    return row


def _trace(output: dict[str, Any]) -> Plain:
    """The conversation of an answer: the items of a trace, or messages."""
    if isinstance(trace := output.get("trace"), dict):
        return {"items": trace.get("items", [])}
    return {"messages": output.get("messages", [])}
