"""Scores the answers of a finished run again.

After a metric or a target changed no model is called; after a judge or what it is sent changed, judges are called for
exactly the verdicts that no longer stand.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from assay.core.attempt import score_trace
from assay.core.draws import Draws
from assay.core.errors import FailureError, UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.journal import AnyLine, Journal, counting_lines, read_records
from assay.core.regular_file import open_regular
from assay.core.run import Stop, remaining_work
from assay.core.seams import Previewable, Scorer, Served, Work
from assay.core.task import Task
from assay.core.types import Failure, Message, Record, Sample, Score, TaskDefinition, Trace, Usage
from assay.core.usage import Account, usage_of
from assay.costs.budget import SpendingLimits, keep_to_budget, unbilled
from assay.formats.media_files import media_files_of
from assay.models.served import served_by
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View
from assay.run_config import RunConfig
from assay.run_file import RunFile, read_run_file, sealed_as
from assay.runs.assemble import BuiltTasks, JudgedTasks, assemble_judges, assemble_tasks, describe
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.finish import finish
from assay.runs.folder import prepare_rescored, refuse_rescored
from assay.runs.local import LocalExecutor
from assay.runs.progress import Progress, run_blocking, signals
from assay.runs.stretches import AcceptedChanges, open_rescoring
from assay.scorers.judging.judge import NOT_CALLED
from assay.tasks.task_parts import asks_a_model, judging_of
from assay.trust.consent import code_seal, require_trust
from assay.user.seal import is_sealed

IN_FLIGHT = 64
"""Answers scored at a time where no judge is called: as many scores as a killed process loses at most."""
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
    judge_calls: int = 0
    """Answers of judges that were asked for now."""
    verdicts_kept: int = 0
    """Verdicts of the run that still stand: same answer, same judge, asked the same."""
    interrupted: bool = False
    stopped: str | None = None
    """Why it ended before all verdicts were there: a budget."""


def rescore(
    run: Path,
    definitions: Sequence[TaskDefinition] | None = None,
    folder: Path | None = None,
    *,
    trust: bool = False,
    score_workers: int | None = 0,
    judges: bool = False,
    settings: Mapping[str, Any] | None = None,
    view: View | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
    accept_versions: bool = False,
) -> Rescored:
    """A new run folder that holds the old answers and new scores, or the rest of one that was interrupted.

    `definitions` are the tasks as they are now; None reads them from the run itself, which is right when only the
    code of a metric changed. An answer is scored again only if its sample still asks the same. The verdict of a judge
    stands as it was given unless its sample changed, or the judge, or what it is sent. With `judges` those are called
    again, and so are judges that failed, with the `settings` of requests and budgets; the same call asks for what is
    still missing. Without, no model is called, and they have no score.
    """
    earlier = read_run_file(run)
    tasks = tuple(definitions) if definitions is not None else earlier.definitions
    seal = code_seal(tasks) if definitions is None else None
    trust = trust or (seal is not None and is_sealed(run, seal))
    require_trust(tasks, trust=trust, out_of_a_run=definitions is None)
    if earlier.config.sandbox is not None and "sandbox" not in (settings or {}):
        raise UsageError(
            f"{run}: its programs ran in the sandbox `{earlier.config.sandbox}`, which only you can choose: use "
            f"--sandbox {earlier.config.sandbox}, or --sandbox local"
        )
    given = {**({"adaptive": False} if "concurrency" in (settings or {}) else {}), **(settings or {})}
    config = msgspec.structs.replace(earlier.config, score_workers=score_workers, **given)
    return run_blocking(
        _rescore(
            run,
            msgspec.structs.replace(earlier, config=config, command=list(command)),
            tasks,
            folder or run.with_name(f"{run.name}.rescored"),
            view,
            progress or Progress(),
            AcceptedChanges(versions=accept_versions),
            judges=judges,
        )
    )


async def _rescore(
    run: Path,
    earlier: RunFile,
    definitions: tuple[TaskDefinition, ...],
    folder: Path,
    view: View | None,
    progress: Progress,
    accepted: AcceptedChanges,
    *,
    judges: bool,
) -> Rescored:
    config = earlier.config
    stop, counts = Stop(), Counter[str]()
    # trust was checked before; the new run must not record that everything is trusted
    allowed = msgspec.structs.replace(config, trust=True)
    async with _assembled(definitions, allowed, judges=judges) as parts:
        called = parts.models.judges if isinstance(parts, JudgedTasks) else ()
        if judges and not called:
            raise UsageError("--judges: no scorer of these tasks calls a model; leave it out")
        definitions = tuple(task.definition for task in parts.tasks)
        run_file = msgspec.structs.replace(
            describe(definitions, earlier.model, config, earlier.command),
            answers_of=sealed_as(earlier),
            unbilled=tuple(sorted({*earlier.unbilled, *unbilled(called)})),
        )
        refuse_rescored(folder, run_file, may_be_finished=judges)
        with closing(Answers(run / "journal.jsonl")) as answers:
            parts.start_sandboxes(progress)
            await parts.try_metrics()
            run_file = msgspec.structs.replace(run_file, sandbox=parts.sandbox)
            prepare_rescored(folder, run_file, run, earlier)
            open_rescoring(run, folder, accepted, await _served(parts))
            with closing(Journal(folder / "journal.jsonl", own_parts=parts.own_parts)) as journal:
                finished = EarlierAttempts(journal.path)
                _bind_judges(parts, stop, progress, journal.path)
                progress.plan(run_file, journal.path)
                progress.begin(sum(map(config.attempts_of, definitions)), len(finished), definitions)
                verdicts = _Verdicts(earlier.definitions, definitions, asked_again=judges)
                in_flight = parts.in_flight_judging if isinstance(parts, JudgedTasks) else IN_FLIGHT
                rescoring = _Rescoring(answers, finished, verdicts, counts)
                try:
                    parts.supervisor.bind(stop, progress.say)
                    with signals(stop, progress):
                        left = remaining_work(parts.tasks, finished, config.repeat, stop, repeats=config.repeats())
                        work = rescoring.answered(left)
                        await _score_all(work, rescoring.score, journal, in_flight, stop, progress)
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
        judge_calls=counts["calls"],
        verdicts_kept=counts["kept"],
        interrupted=stop.interrupted,
        stopped=stop.reason,
    )


def _assembled(
    definitions: Sequence[TaskDefinition], config: RunConfig, *, judges: bool
) -> AbstractAsyncContextManager[BuiltTasks]:
    """The tasks, with the models that judge where they may be called."""
    return assemble_judges(definitions, config) if judges else assemble_tasks(definitions, config)


def _bind_judges(parts: BuiltTasks, stop: Stop, progress: Progress, journal: Path) -> None:
    """Bind judges to the run that they are called for, and to its budget, which is that of all its sessions."""
    if isinstance(parts, JudgedTasks):
        parts.models.bind(stop, progress.say)
        spent = [usage for record in read_records(journal) for usage in record.usage if usage.rejudged]
        keep_to_budget(parts.models.judges, SpendingLimits.of(parts.config), stop, spent)


async def _served(parts: BuiltTasks) -> dict[str, Served]:
    """What judges say that they serve, by name."""
    judges = parts.models.judges_by_model if isinstance(parts, JudgedTasks) else {}
    answers = await asyncio.gather(*map(served_by, judges.values()))
    return {name: served for name, served in zip(judges, answers, strict=True) if served is not None}


async def _score_all(
    work: Iterator[Work],
    score: Callable[[Any], Awaitable[Record]],
    journal: Journal,
    in_flight: int,
    stop: Stop,
    progress: Progress,
) -> None:
    async def score_and_write() -> None:
        async with aclosing(LocalExecutor(in_flight).run(score, work)) as batches:  # type: ignore[type-var]
            async for records in batches:
                progress.records(journal.append(records))

    scoring = asyncio.ensure_future(score_and_write())
    stop.bind(scoring.cancel)
    try:
        await scoring
    except asyncio.CancelledError:
        if not stop.requested:
            raise


class _Answered(Work, frozen=True):
    """An attempt whose answer is on record."""

    record: Record


class _Rescoring:
    """Scores answers that are on record, each with the verdicts that still stand."""

    def __init__(self, answers: Answers, finished: EarlierAttempts, verdicts: _Verdicts, counts: Counter[str]) -> None:
        self._answers, self._finished, self._verdicts = answers, finished, verdicts
        self._counts = counts

    def answered(self, work: Iterable[Work]) -> Iterator[_Answered]:
        """The attempts whose answer can be scored, and once those that failed; the others are counted."""
        for each in work:
            record = self._answers.of(each.task.name, each.sample.id, each.attempt)
            has_answer = record is not None and _has_answer(record)
            if record is not None and has_answer and asks_the_same(each, record):
                yield _Answered(each.task, each.position, each.sample, each.attempt, each.key, record)
                continue
            self._counts["changed"] += has_answer
            self._counts["remaining"] += 1
            if record is not None and not has_answer and not self._finished.has_line(int(each.key, 16)):
                yield _Answered(each.task, each.position, each.sample, each.attempt, each.key, record)

    async def score(self, work: _Answered) -> Record:
        record = work.record
        if not _has_answer(record) or record.trace is None:
            return _failed_again(work, record)
        task = self._verdicts.task_of(work, record)
        # an earlier session of this rescoring may have got some of its verdicts
        partly = self._finished.record(int(work.key, 16)) if self._verdicts.asked_again else None
        given = partly or self._verdicts.standing(work, record)
        with Account() as account, Draws(task.name, work.sample, work.attempt):
            scoring = await score_trace(task, work.sample, record.trace, given)
        asked = tuple(msgspec.structs.replace(usage, rejudged=True) for usage in usage_of(account, record.trace))
        before = _paid_before(record)
        self._counts["scored"] += 1
        self._counts["calls"] += sum(usage.answers for usage in asked)
        self._counts["kept"] += 0 if partly or given is None else len(given.scores)
        return msgspec.structs.replace(
            record,
            key=work.key,
            index=work.position,
            targets=work.sample.targets,
            metadata=work.sample.slices(),
            scores=scoring.scores,
            failures=scoring.failures,
            excluded=scoring.excluded,
            usage=asked if partly else (*before, *asked),
            continued=partly is not None,
            asked_again=(scoring.asked_again or {}) if given else record.asked_again,
        )


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
    return record.trace is not None and all(
        failure.scorer or failure.stage not in UNANSWERED for failure in record.failures
    )


class _Named(AnyLine, kw_only=True):
    """A journal line as far as it says whose it is."""

    key: str
    task: str
    sample_id: str
    attempt: int = 1


def _key(task: str, sample_id: str, attempt: int) -> int:
    return int(short_fingerprint((task, sample_id, attempt)), 16)


_decode = msgspec.json.Decoder(Record).decode


def asks_the_same(work: Work, record: Record) -> bool:
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
    """Which verdicts of judges still stand: those of scorers that ask the same judge the same, on the same sample."""

    def __init__(
        self, then: Sequence[TaskDefinition], now: Sequence[TaskDefinition], *, asked_again: bool = False
    ) -> None:
        before = {(task.name, part.key): judging_of(part) for task in then for part in task.scorers}
        parts = {(task.name, part.key): part for task in now for part in task.scorers}
        self._same = {key for key, part in parts.items() if before.get(key) == judging_of(part)}
        self._of_judges = {key for key, part in parts.items() if asks_a_model(part)}
        self.asked_again = asked_again
        """Whether judges are called for verdicts that do not stand."""

    def standing(self, work: Work, record: Record) -> Record | None:
        """The record with the verdicts alone that stand; None where no judge is called."""
        if not self.asked_again:
            return None
        same = self._same & self._of_judges if record.key == work.key else set[tuple[str, str]]()
        names = {key for task, key in same if task == work.task.name}
        repeats = {name: times for name, times in record.asked_again.items() if name in names}
        scores = tuple(score for score in record.scores if score.name in names)
        return msgspec.structs.replace(record, scores=scores, asked_again=repeats)

    def task_of(self, work: Work, record: Record) -> Task:
        """The task, with scorers that repeat what they gave where they lack the model that they would call."""
        task: Task = work.task
        if record.key != work.key:
            return task
        given: dict[str, Score | Failure] = {failure.scorer: failure for failure in record.failures}
        given |= {score.name: score for score in record.scores}
        repeated = self._same - self._of_judges if self.asked_again else self._same
        scorers = {
            key: _Recorded(scorer, given[key]) if key in given and (task.name, key) in repeated else scorer
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
    """What failed is as unknown now as it was then."""
    return msgspec.structs.replace(
        record,
        key=work.key,
        index=work.position,
        targets=work.sample.targets,
        metadata=work.sample.slices(),
        usage=_paid_before(record),
    )


def _paid_before(record: Record) -> tuple[Usage, ...]:
    return tuple(msgspec.structs.replace(usage, rejudged=False) for usage in record.usage)
