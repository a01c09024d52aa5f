"""Attempts that went wrong become a task: the samples they were made at, as their task file has them, with the origin.

The prompt of a sample and its scoring are in the file that the run read; it is copied from there, line by line,
and refused where that file has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import TaskDefinition
from assay.reading.strict_json import read_lines
from assay.results.frames.frame_source import RunSource
from assay.run_file import writing_whole
from assay.tasks.load import load_tasks
from assay.text.wording import few

ORIGIN = "origin"
"""The metadata key under which a sample says where it comes from."""


class Origin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The attempt that made a sample worth keeping."""

    run: str
    model: str
    task: str
    sample: str
    attempt: int = 1
    outcome: str = ""
    fingerprint: str = ""


class Saved(Struct, frozen=True, kw_only=True):
    """How many samples a task file got, and how many it had already."""

    path: Path
    added: int
    kept: int


def origins_of(source: RunSource) -> Iterator[Origin]:
    """The picked attempts of a run, as origins."""
    for attempt in source.attempts():
        yield Origin(
            run=source.label,
            model=source.model,
            task=attempt.task,
            sample=attempt.sample_id,
            attempt=attempt.attempt,
            outcome=attempt.outcome,
            fingerprint=source.run.fingerprint,
        )


def regression_lines(source: RunSource) -> list[dict[str, Any]]:
    """The lines of the run's task files for its picked attempts, each sample once, with its origin."""
    definitions = {definition.name: definition for definition in source.run.definitions}
    return [line for task, wanted in wanted_of(source).items() for line in _lines_of(definitions[task], wanted)]


def wanted_of(source: RunSource) -> dict[str, dict[str, Origin]]:
    """By task, the samples of the picked attempts with the first attempt that was picked."""
    by_task: dict[str, dict[str, Origin]] = {}
    for origin in origins_of(source):
        by_task.setdefault(origin.task, {}).setdefault(origin.sample, origin)
    return by_task


def _lines_of(definition: TaskDefinition, wanted: dict[str, Origin]) -> Iterator[dict[str, Any]]:
    name = definition.provenance.sample_field
    if name is None:
        raise UsageError(
            f"task `{definition.name}` is not read from a plain file of samples, so its samples cannot be copied "
            f"into one; run just these with {only_command(definition, wanted)}"
        )
    path = _unchanged(definition)
    count = 0
    for sample in _samples_in(path):
        origin = wanted.get(str(sample.get(name)))
        if origin is not None:
            count += 1
            metadata = {**sample.get("metadata", {}), ORIGIN: msgspec.to_builtins(origin)}
            yield {**sample, "metadata": metadata}
    if count < len(wanted):
        raise UsageError(f"{path}: holds {count:,} of the {len(wanted):,} samples that are wanted of it")


def only_command(definition: TaskDefinition, wanted: Iterable[str]) -> str:
    """What runs just these samples of a task."""
    ids = list(wanted)
    flags = " ".join(f"--only '{each}'" for each in ids[:3])
    return f"`assay run {definition.source or 'TASK'} {flags}{' …' if len(ids) > 3 else ''}`"


def _samples_in(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a task file, without comments and without bad lines, which a run may have left out."""
    for line in read_lines(path):
        try:
            sample = msgspec.json.decode(line.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(sample, dict):
            yield sample


def _unchanged(definition: TaskDefinition) -> Path:
    """The task's file, if it is still what the run read."""
    source = str(definition.dataset.options.get("path") or definition.source)
    path = Path(source)
    if not path.is_file():
        raise UsageError(f"{source}: the file of task `{definition.name}` is not here; run this where the run was made")
    now = {task.name: task.dataset.sha256 for task in load_tasks([source], allow_bad=True, only_reads=True)}
    if now.get(definition.name) != definition.dataset.sha256:
        raise UsageError(f"{source}: has changed since the run was made; its samples may not be those that went wrong")
    return path


def encoded(lines: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def save_regressions(path: Path, lines: list[dict[str, Any]]) -> Saved:
    """Add the samples to a task file, which may exist; one that would be no task is left as it was."""
    if path.suffix != ".jsonl":
        raise UsageError(f"--as-task {path}: a task file is named NAME.jsonl")
    if not lines:
        raise UsageError(f"--as-task {path}: no attempt matches, so there is no sample to save")
    check_one_metric(lines, f"--as-task {path}")
    content = read_regular(path) if path.exists() else b""
    known = {_id_of(line) for line in _samples_in(path)} if content else set()
    added = [line for line in each_once(lines) if _id_of(line) not in known]
    whole = content + (b"" if not content or content.endswith(b"\n") else b"\n") + encoded(added)
    write_if_it_loads(path, whole, lambda trial: load_tasks([str(trial)], only_reads=True))
    return Saved(path=path, added=len(added), kept=len(known))


def write_if_it_loads(path: Path, whole: bytes, load: Callable[[Path], object]) -> None:
    """The file with this content, once `load` has taken it from another place; `UsageError` where it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    trial = path.with_name(f".{path.stem}.trial{path.suffix}")
    try:
        trial.write_bytes(whole)
        load(trial)
    except UsageError as error:
        message = str(error).replace(str(trial), str(path))
        raise UsageError(f"with these samples it would not be a valid task: {message}") from error
    finally:
        trial.unlink(missing_ok=True)
    with writing_whole(path) as file:
        file.write(whole)


def each_once(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Samples that several runs got wrong are there once, as the first had them; others of the same id stay."""
    kept: dict[bytes, dict[str, Any]] = {}
    for line in lines:
        metadata = {name: value for name, value in line["metadata"].items() if name != ORIGIN}
        kept.setdefault(msgspec.json.encode({**line, "metadata": metadata}), line)
    return list(kept.values())


def check_one_metric(lines: Iterable[dict[str, Any]], where: str) -> None:
    metrics = {str(line["metric"]) for line in lines if "metric" in line}
    if len(metrics) > 1:
        raise UsageError(
            f"{where}: the samples have {len(metrics)} metrics ({few(sorted(metrics))}), and a task file has one; pick "
            "a task with `task:NAME` and give it a file of its own"
        )


def _id_of(line: dict[str, Any]) -> Any:
    return line.get("id", line.get("task_id"))
