"""Scores the answers of a finished run again, without calling a model: after a metric or a target changed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import msgspec

from assay.core.attempt import score_trace
from assay.core.errors import FailureError, UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.journal import AnyLine, Journal, counting_lines
from assay.core.regular_file import open_regular
from assay.core.run import Stop, remaining_work
from assay.core.seams import Previewable, Scorer, Work
from assay.core.task import Task
from assay.core.types import Failure, Message, Record, Sample, Score, TaskDefinition, Trace
from assay.formats.media_files import media_files_of
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View
from assay.run_file import RunFile, read_run_file, sealed_as
from assay.runs.assemble import assemble_tasks, describe
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.finish import finish
from assay.runs.folder import prepare_rescored, refuse_rescored
from assay.runs.progress import Progress, run_blocking, signals
from assay.runs.stretches import AcceptedChanges, open_rescoring
from assay.scorers.judging.judge import NOT_CALLED
from assay.trust.consent import code_seal, require_trust
from assay.user.seal import is_sealed

BATCH = 64
"""Answers scored at a time: as many scores as a killed process loses at most."""
UNANSWERED = ("prompt", "model", "solver")
"""Where an attempt broke that has no answer to score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """Where the new run lies, and what happened to the old one's records."""

    folder: Path
    leaderboard: Leaderboard
    rescored: int
    remaining: int
    """Attempts without an answer to score: failed, not made, or their prompt is another one now."""
    changed_prompts: int
    interrupted: bool = False


def rescore(
    run: Path,
    definitions: Sequence[TaskDefinition] | None = None,
    folder: Path | None = None,
    *,
    trust: bool = False,
    score_workers: int | None = 0,
    view: View | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
    accept_versions: bool = False,
) -> Rescored:
    """A new run folder that holds the old answers and new scores, or the rest of one that was interrupted.

    `definitions` are the tasks as they are now; None reads them from the run itself, which is right when only the
    code of a metric changed. An answer is scored again only if its sample still asks the same. No model is called: the
    verdict of a judge stands as it was given, or its failure, unless the sample or its instructions have changed.
    """
    earlier = read_run_file(run)
    tasks = tuple(definitions) if definitions is not None else earlier.definitions
    seal = code_seal(tasks) if definitions is None else None
    trust = trust or (seal is not None and is_sealed(run, seal))
    require_trust(tasks, trust=trust, out_of_a_run=definitions is None)
    config = msgspec.structs.replace(earlier.config, score_workers=score_workers)
    return run_blocking(
        _rescore(
            run,
            msgspec.structs.replace(earlier, config=config, command=list(command)),
            tasks,
            folder or run.with_name(f"{run.name}.rescored"),
            view,
            progress or Progress(),
            accept_versions,
        )
    )


async def _rescore(
    run: Path,
    earlier: RunFile,
    definitions: tuple[TaskDefinition, ...],
    folder: Path,
    view: View | None,
    progress: Progress,
    accept_versions: bool,
) -> Rescored:
    config = earlier.config
    stop, counts = Stop(), Counter[str]()
    # trust was checked before; the new run must not record that everything is trusted
    allowed = msgspec.structs.replace(config, trust=True)
    async with assemble_tasks(definitions, allowed) as parts:
        definitions = tuple(task.definition for task in parts.tasks)
        run_file = msgspec.structs.replace(
            describe(definitions, earlier.model, config, earlier.command),
            answers_of=sealed_as(earlier),
            unbilled=earlier.unbilled,
        )
        refuse_rescored(folder, run_file)
        with closing(Answers(run / "journal.jsonl")) as answers:
            parts.start_sandboxes(progress)
            await parts.try_metrics()
            run_file = msgspec.structs.replace(run_file, sandbox=parts.sandbox)
            prepare_rescored(folder, run_file, run, earlier)
            open_rescoring(run, folder, AcceptedChanges(versions=accept_versions))
            with closing(Journal(folder / "journal.jsonl", own_parts=parts.own_parts)) as journal:
                finished = EarlierAttempts(journal.path)
                progress.plan(run_file, journal.path)
                progress.begin(sum(map(config.attempts_of, definitions)), len(finished), definitions)
                try:
                    parts.supervisor.bind(stop, progress.say)
                    with signals(stop, progress):
                        work = remaining_work(parts.tasks, finished, config.repeat, stop)
                        verdicts = _Verdicts(earlier.definitions, definitions)
                        await _score_all(work, finished, answers, journal, verdicts, counts, progress)
                finally:
                    progress.end()
    # a leaderboard in the folder says that it is finished
    board = build_leaderboard(folder, view) if stop.interrupted else await finish(folder, view, trust=True)
    return Rescored(
        folder=folder,
        leaderboard=board,
        rescored=counts["scored"],
        remaining=counts["remaining"],
        changed_prompts=counts["changed"],
        interrupted=stop.interrupted,
    )


async def _score_all(
    work: Iterator[Work],
    earlier: EarlierAttempts,
    answers: Answers,
    journal: Journal,
    verdicts: _Verdicts,
    counts: Counter[str],
    progress: Progress,
) -> None:
    while batch := list(islice(work, BATCH)):
        pairs = [(item, answers.of(item.task.name, item.sample.id, item.attempt)) for item in batch]
        answered = [(each, record) for each, record in pairs if record and _has_answer(record)]
        scored = [(each, record) for each, record in answered if _asks_the_same(each, record)]
        counts["changed"] += len(answered) - len(scored)
        counts["remaining"] += len(pairs) - len(scored)
        records = await asyncio.gather(*(_score_again(*item, verdicts) for item in scored))
        # what failed is as unknown now as it was then
        failed = [_failed_again(each, record) for each, record in pairs if record and not _has_answer(record)]
        journal.append([*records, *(each for each in failed if not earlier.has_line(int(each.key, 16)))])
        counts["scored"] += len(records)
        progress.records([*records, *failed])


class Answers:
    """The attempts that were made, by where their lines begin: the answers themselves stay in the journal."""

    def __init__(self, journal: Path) -> None:
        if not journal.exists():
            raise UsageError(f"{journal}: no such file, so there are no answers to score")
        self._places: dict[int, int] = {}
        for place, line in counting_lines(journal, _Named):
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


def _has_answer(record: Record) -> bool:
    """An attempt whose scorer broke has an answer; one whose model or solver broke has not, whatever it said before."""
    return record.trace is not None and all(each.scorer or each.stage not in UNANSWERED for each in record.failures)


class _Named(AnyLine, kw_only=True):
    """A journal line as far as it says whose it is."""

    key: str
    task: str
    sample_id: str
    attempt: int = 1


def _key(task: str, sample_id: str, attempt: int) -> int:
    return int(short_fingerprint((task, sample_id, attempt)), 16)


_decode = msgspec.json.Decoder(Record).decode


def _asks_the_same(work: Work, record: Record) -> bool:
    """Whether the answer is one to the question the sample asks now. For a conversation that is unknown."""
    sample, trace = work.sample, record.trace
    if trace is None:
        return False
    solver = work.task.solver
    if not isinstance(solver, Previewable):
        return sample.row is not None or trace.prompt is None or trace.prompt == sample.prompt
    try:
        request = solver.request(sample)
        asked = media_files_of(work.task.definition).messages(request.messages, keep_names=True)
    except (FailureError, UsageError):  # a question that cannot be made, or an image that is no longer there
        return False
    messages = trace.messages[:-1] if trace.messages else None
    if trace.prompt is None and request.prompt is not None:  # to a chat model a prompt is what the user says
        return messages == (Message(role="user", content=request.prompt),)
    return (request.prompt, asked) == (trace.prompt, messages)


class _Verdicts:
    """Which verdicts of judges still stand: those of scorers with the same instructions, on the same sample."""

    def __init__(self, then: Sequence[TaskDefinition], now: Sequence[TaskDefinition]) -> None:
        before = {(task.name, part.key): part for task in then for part in task.scorers}
        self._same = {
            (task.name, part.key) for task in now for part in task.scorers if before.get((task.name, part.key)) == part
        }

    def task_of(self, work: Work, record: Record) -> Task:
        """The task, with judges that repeat their recorded answers."""
        task: Task = work.task
        if record.key != work.key:
            return task
        given: dict[str, Score | Failure] = {failure.scorer: failure for failure in record.failures}
        given |= {score.name: score for score in record.scores}
        scorers = {
            key: _Recorded(scorer, given[key]) if key in given and (task.name, key) in self._same else scorer
            for key, scorer in task.scorers.items()
        }
        return replace(task, scorers=scorers)


class _Recorded:
    """A scorer that rescores what it can score without a model, and otherwise repeats its earlier score, or why there
    was none.
    """

    def __init__(self, scorer: Scorer, earlier: Score | Failure) -> None:
        self.name = scorer.name
        self._scorer, self._earlier = scorer, earlier

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        try:
            return await self._scorer(sample, trace)
        except FailureError as error:
            if error.failure.kind != NOT_CALLED:
                raise
            if isinstance(self._earlier, Failure):
                raise FailureError(self._earlier) from error
            return self._earlier


def _failed_again(work: Work, record: Record) -> Record:
    return msgspec.structs.replace(
        record, key=work.key, index=work.position, targets=work.sample.targets, metadata=work.sample.slices()
    )


async def _score_again(work: Work, record: Record, verdicts: _Verdicts) -> Record:
    assert record.trace is not None  # noqa: S101 - `Answers` has only records with a trace
    scoring = await score_trace(verdicts.task_of(work, record), work.sample, record.trace)
    return msgspec.structs.replace(
        record,
        key=work.key,
        index=work.position,
        targets=work.sample.targets,
        metadata=work.sample.slices(),
        scores=scoring.scores,
        failures=scoring.failures,
        excluded=scoring.excluded,
    )
