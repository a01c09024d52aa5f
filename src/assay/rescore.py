"""Scores the answers of a finished run again, without calling a model: after a metric or a target changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay.core.attempt import attempt_key, score_trace
from assay.core.config import RunConfig
from assay.core.errors import FailureError, UsageError
from assay.core.fingerprint import fingerprint, short_fingerprint
from assay.core.journal import Journal, counting_lines
from assay.core.model_stack import close_model
from assay.core.regular_file import open_regular, read_regular
from assay.core.run_file import RunFile, read_run_file, sealed_as, write_whole
from assay.core.seal import is_vouched_for, vouch
from assay.core.seams import BuildContext
from assay.core.task import Task, task_fingerprint
from assay.core.types import Record, Request, Sample, TaskDefinition
from assay.core.watch import Watch
from assay.evaluation import versions, with_processes
from assay.reports.board import Leaderboard, write_leaderboard_file
from assay.reports.leaderboard import build_leaderboard
from assay.reports.prices import KEPT
from assay.reports.python_metrics import run_python_metrics
from assay.tasks.build import build_task
from assay.tasks.trust import code_seal, require_trust

BATCH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """Where the new run lies, and what happened to the old one's records."""

    folder: Path
    leaderboard: Leaderboard
    rescored: int
    owed: int
    """Attempts without an answer to score: failed, or their prompt is another one now."""
    changed_prompts: int


def rescore(
    run: Path,
    definitions: Sequence[TaskDefinition] | None = None,
    folder: Path | None = None,
    *,
    trust: bool = False,
    score_workers: int | None = 0,
) -> Rescored:
    """A new run folder that holds the old answers and new scores.

    `definitions` are the tasks as they are now; None reads them from the run itself, which is right when only the
    code of a metric changed. An answer is scored again only if its sample still asks the same.
    """
    earlier = read_run_file(run)
    tasks = tuple(definitions) if definitions is not None else earlier.definitions
    folder = folder or run.with_name(f"{run.name}.rescored")
    if (folder / "run.json").exists():
        raise UsageError(f"{folder}: there is a run already; choose another folder with --run-dir")
    seal = code_seal(tasks) if definitions is None else None
    trust = trust or (seal is not None and is_vouched_for(run, seal))
    require_trust(tasks, trust=trust, out_of_a_run=definitions is None)
    config = msgspec.structs.replace(earlier.config, score_workers=score_workers)
    return asyncio.run(_rescore(run, msgspec.structs.replace(earlier, config=config), tasks, folder))


async def _rescore(run: Path, earlier: RunFile, definitions: tuple[TaskDefinition, ...], folder: Path) -> Rescored:
    config = earlier.config
    context = BuildContext(min_sandbox=config.min_sandbox)
    built = [build_task(each, context=context, limit=config.limit, trust=True) for each in definitions]
    tasks = {task.name: with_processes(task, config) for task in built}
    run_file = _write_run_file(folder, earlier, definitions, config)
    if is_vouched_for(run, sealed_as(earlier)):
        vouch(folder, sealed_as(run_file))
    if (run / KEPT).exists():
        write_whole(folder / KEPT, read_regular(run / KEPT))
    answers = Answers(run / "journal.jsonl")
    journal = Journal(folder / "journal.jsonl")
    rescored = owed = changed = 0
    try:
        with Watch(config.timeout_seconds):
            for task in tasks.values():
                batch: list[Awaitable[Record]] = []
                for index, sample in enumerate(task.dataset):
                    for attempt in range(1, config.repeat + 1):
                        found = answers.of(task.name, sample.id, attempt)
                        if found is None or not _asks_the_same(task, found, sample):
                            changed += found is not None
                            owed += 1
                            continue
                        batch.append(_score_again(task, found, sample, index))
                        rescored += 1
                    if len(batch) >= BATCH:
                        journal.append(await asyncio.gather(*batch))
                        batch = []
                journal.append(await asyncio.gather(*batch))
    finally:
        answers.close()
        for task in tasks.values():
            for scorer in task.scorers.values():
                await close_model(scorer)
        journal.close()
    await run_python_metrics(folder, definitions, trust=True)
    board = build_leaderboard(folder)
    write_leaderboard_file(folder / "leaderboard.json", board)
    return Rescored(folder=folder, leaderboard=board, rescored=rescored, owed=owed, changed_prompts=changed)


def _write_run_file(
    folder: Path, earlier: RunFile, definitions: tuple[TaskDefinition, ...], config: RunConfig
) -> RunFile:
    tasks = {definition.name: task_fingerprint(definition) for definition in definitions}
    run_file = msgspec.structs.replace(
        earlier,
        fingerprint=fingerprint([tasks, earlier.model, config.identity()]),
        tasks=tasks,
        definitions=definitions,
        versions=versions(),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    write_whole(folder / "run.json", msgspec.json.format(msgspec.json.encode(run_file), indent=2))
    return run_file


class Answers:
    """The attempts that have an answer, by where their lines begin: the answers themselves stay in the journal.

    An attempt whose scorer broke has an answer; one whose model broke has not.
    """

    def __init__(self, journal: Path) -> None:
        if not journal.exists():
            raise UsageError(f"{journal}: no such file, so there are no answers to score")
        self._places: dict[int, int] = {}
        for place, line in counting_lines(journal, _Named):
            if bytes(line.trace) != b"null":
                self._places[_key(line.task, line.sample_id, line.attempt)] = place
        self._file = open_regular(journal)

    def of(self, task: str, sample_id: str, attempt: int) -> Record | None:
        place = self._places.get(_key(task, sample_id, attempt))
        if place is None:
            return None
        self._file.seek(place)
        try:
            record = _decode(self._file.readline())
        except msgspec.MsgspecError as error:
            raise UsageError(f"{self._file.name}: byte {place}: not a journal record ({error})") from error
        return record if (record.task, record.sample_id, record.attempt) == (task, sample_id, attempt) else None

    def close(self) -> None:
        self._file.close()


class _Named(msgspec.Struct):
    """A journal line as far as it says whose it is, and whether it has an answer."""

    key: str
    task: str
    sample_id: str
    attempt: int = 1
    failures: list[Any] = []
    trace: msgspec.Raw = msgspec.Raw(b"null")


def _key(task: str, sample_id: str, attempt: int) -> int:
    return int(short_fingerprint((task, sample_id, attempt)), 16)


_decode = msgspec.json.Decoder(Record).decode


def _asks_the_same(task: Task, record: Record, sample: Sample) -> bool:
    """Whether the answer is one to the question the sample asks now. What a conversation would ask nobody can tell."""
    trace = record.trace
    if trace is None:
        return False
    if sample.row is None:
        return trace.prompt is None or trace.prompt == sample.prompt
    request_for = getattr(task.solver, "request", None)
    if request_for is None:
        return True
    try:
        request: Request = request_for(sample)
    except FailureError:
        return False
    asked = trace.messages[:-1] if trace.messages else None
    return (request.prompt, request.messages) == (trace.prompt, asked)


async def _score_again(task: Task, record: Record, sample: Sample, index: int) -> Record:
    assert record.trace is not None  # noqa: S101 - `Answers` has only records with a trace
    scores, failures, excluded = await score_trace(task, sample, record.trace)
    return msgspec.structs.replace(
        record,
        key=attempt_key(task.name, sample, record.attempt),
        index=index,
        targets=sample.targets,
        metadata=sample.metadata,
        scores=scores,
        failures=failures,
        excluded=excluded,
    )
