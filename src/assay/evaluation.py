"""The composition root: task files and a run config in, a finished run out. The one synchronous door.

Everything a run needs is put together here and nowhere else: the model and its wrappers, the tasks, the journal,
the executor, and the leaderboard that is made of what the journal holds.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.core.config import RunConfig
from assay.core.errors import FailureError, UsageError
from assay.core.fingerprint import fingerprint
from assay.core.journal import Journal, finished_keys, lock_journal
from assay.core.model_stack import close_model
from assay.core.run import Stop, run_attempts
from assay.core.run_file import RUN_SCHEMA, RunFile, read_run_file, sealed_as, what_changed, write_whole
from assay.core.seams import BuildContext, Model
from assay.core.task import Task, task_fingerprint
from assay.core.types import Record, TaskDefinition
from assay.executors.local import LocalExecutor
from assay.executors.shard_files import Shard, holds_attempts, merge_shards, samples_of
from assay.models.build import make_model
from assay.models.likelihood_check import what_is_wrong
from assay.models.pool import ModelPool, attempts_in_flight, identity_of
from assay.models.python_callable import as_model
from assay.reports.board import Leaderboard, write_leaderboard_file
from assay.reports.budgets import Quotes, budgeted, has_budget, make_budget, prices_for, spent_before
from assay.reports.leaderboard import build_leaderboard
from assay.reports.prices import keep_prices
from assay.reports.python_metrics import run_python_metrics
from assay.reports.report_markdown import report_page, write_report
from assay.reports.sandboxes import record_sandbox
from assay.reports.view import view_of
from assay.scorers.processes import in_processes
from assay.scorers.watch import Watch
from assay.tasks.build import build_task, start_scorers
from assay.tasks.likelihood import offer
from assay.tasks.trust import code_seal, require_trust
from assay.user.seal import is_vouched_for, refuse_foreign, vouch


class Progress:
    """What a run tells while it goes on; the default says nothing."""

    def begin(self, total: int, done: int, definitions: Sequence[TaskDefinition]) -> None: ...

    def records(self, records: list[Record]) -> None: ...

    def workers(self, alive: Sequence[tuple[int, int]], lost: tuple[int, int]) -> None:
        """Attempts made and failed so far: of each worker that is alive, and of all that were lost."""

    def say(self, sentence: str) -> None: ...

    def end(self) -> None: ...


class RunResult(Struct, frozen=True, kw_only=True):
    """Where the run lies, and its leaderboard."""

    folder: Path
    leaderboard: Leaderboard
    interrupted: bool = False
    stopped: str | None = None
    """Why the run ended itself before everything was attempted: its budget."""


def run_evaluation(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    model: Model | object | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    resume_foreign: bool = False,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResult:
    """Run the tasks against the model, or go on with the run that the folder holds.

    `model` overrides `config.model` with an object: a model, an adapter with `generate(prompts)`, or a function.
    `resume_foreign` takes attempts that somebody else made as they are.
    """
    progress = progress or Progress()
    parts = with_sandbox(put_together(definitions, config, model=model, command=command), progress)
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    prepare = partial(prepare_folder, folder, parts.run_file, fresh=fresh, resume_foreign=resume_foreign)
    return asyncio.run(_run(folder, parts, progress, prepare))


class Parts(NamedTuple):
    """Everything a run needs, built: what it is, its tasks, its models, and the one that is measured."""

    run_file: RunFile
    tasks: list[Task]
    models: ModelPool
    model: Model
    in_flight: int
    """How many attempts to keep going."""
    quotes: Quotes
    """The price of the measured model and of every judge, where it is known."""
    unproven: tuple[TaskDefinition, ...] = ()
    """Tasks that need likelihoods of a server nobody has checked yet."""


def put_together(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    model: Model | object | None = None,
    command: Sequence[str] = (),
    models: ModelPool | None = None,
) -> Parts:
    """Every part is built before anything is written: bad input leaves no trace."""
    require_trust(definitions, trust=config.trust)
    asked = make_model(config.model, config.model_options) if model is None else as_model(model)
    models = models or ModelPool(config)
    context = BuildContext(
        model_for=models.model_for, min_sandbox=config.min_sandbox, timeout_seconds=config.timeout_seconds
    )
    tasks = [build_task(each, context=context, limit=config.limit, trust=config.trust) for each in definitions]
    tasks = [with_processes(task, config) for task in tasks]
    refuse_unscorable(tasks, asked)
    run_file = describe_run(definitions, asked, config, command)
    quotes = prices_for([asked.name, *(judge.name for judge in models.judges)], config)
    unproven = likelihood_tasks(tasks) if getattr(asked, "likelihoods_to_check", False) else ()
    return Parts(run_file, tasks, models, models.wrap(asked), attempts_in_flight(config, asked), quotes, unproven)


def with_processes(task: Task, config: RunConfig) -> Task:
    """The task with scorers that may move to processes of their own."""
    parts = {part.key: part for part in task.definition.scorers}
    workers, limit = config.score_workers, config.timeout_seconds
    moved = {key: in_processes(each, parts[key], workers, limit) for key, each in task.scorers.items()}
    return replace(task, scorers=moved)


def with_sandbox(parts: Parts, progress: Progress) -> Parts:
    """What confines model-written code is started before any model is asked, and written down."""
    tasks, sandbox = start_sandboxes(parts.tasks, progress)
    return parts._replace(run_file=msgspec.structs.replace(parts.run_file, sandbox=sandbox), tasks=tasks)


def start_sandboxes(tasks: Iterable[Task], progress: Progress) -> tuple[list[Task], dict[str, Any] | None]:
    """Start what confines model-written code, tell what it is, and answer with the report of it, if there is any.

    A task whose sandbox this host cannot give is refused as a whole; the others go on.
    """
    usable: list[Task] = []
    sandbox: dict[str, Any] | None = None
    for task in tasks:
        try:
            for report in start_scorers(task):
                if sandbox is None:
                    progress.say(report.line())
                sandbox = msgspec.to_builtins(report)
            usable.append(task)
        except FailureError as error:
            progress.say(f"task `{task.name}` is refused: {error}")
            usable.append(replace(task, unusable=error.failure))
    return usable, sandbox


def likelihood_tasks(tasks: Sequence[Task]) -> tuple[TaskDefinition, ...]:
    return tuple(task.definition for task in tasks if getattr(task.solver, "needs_continuations", False))


def refuse_unscorable(tasks: Sequence[Task], model: Model) -> None:
    """A task that asks how likely given texts are needs a model that can tell; better said now than per sample."""
    if getattr(model, "scores_continuations", False):
        return
    for definition in likelihood_tasks(tasks):
        raise UsageError(
            f"task `{definition.name}` ({definition.metric}) asks how likely given texts are, and {model.name} can "
            f"only write. {offer(definition)}"
        )


async def refuse_wrong_likelihoods(parts: Parts) -> None:
    """A server that only seems to tell likelihoods is refused before the first real question."""
    if not parts.unproven:
        return
    definition, name = parts.unproven[0], parts.model.name
    try:
        wrong = await what_is_wrong(parts.model)
    except FailureError as error:
        raise UsageError(
            f"task `{definition.name}` needs likelihoods, and those of {name} could not be checked: {error}"
        ) from error
    if wrong is not None:
        raise UsageError(
            f"task `{definition.name}` ({definition.metric}) asks how likely given texts are, and {name} cannot tell: "
            f"{wrong}. {offer(definition)}"
        )


def describe_run(
    definitions: Sequence[TaskDefinition], model: Model, config: RunConfig, command: Sequence[str] = ()
) -> RunFile:
    """What this run would be, before anything is made of it."""
    tasks = {definition.name: task_fingerprint(definition) for definition in definitions}
    identity = identity_of(model)
    settings = config.identity()
    return RunFile(
        schema=RUN_SCHEMA,
        fingerprint=fingerprint([tasks, identity, settings]),
        tasks=tasks,
        model=identity,
        settings=settings,
        config=config,
        definitions=tuple(definitions),
        versions=versions(),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=list(command),
    )


def versions() -> dict[str, str]:
    """Of everything that has a part in a number."""
    found = {"python": platform.python_version(), "platform": f"{sys.platform}-{platform.machine()}"}
    for package in ("assay-eval", "msgspec", "numpy", "rapidfuzz", "aiohttp"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def run_name(run_file: RunFile, definitions: Sequence[TaskDefinition]) -> str:
    """A folder name that the same command always gets: what was asked of whom, and a piece of the fingerprint."""
    names = [definition.name for definition in definitions]
    what = "-".join(names) if len(names) <= 2 else f"{names[0]}-and-{len(names) - 1}-more"
    readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in f"{run_file.model['name']}-{what}")
    return f"{readable[:80].strip('-.')}-{run_file.fingerprint[:8]}"


def prepare_folder(
    folder: Path,
    run_file: RunFile,
    *,
    fresh: bool = False,
    resume_foreign: bool = False,
    shard: Shard | None = None,
) -> None:
    """The folder holds this very run or none; another run in it is refused, or put aside when `fresh`.

    Attempts in it that somebody else made are refused too, unless told to take them; a shard takes only its own.
    """
    path = folder / "run.json"
    if fresh and (path.exists() or holds_attempts(folder)):
        _put_aside(folder)
    earlier = read_run_file(folder) if path.exists() else None
    if earlier is not None:
        _refuse_another(folder, earlier, run_file)
    ours = earlier is not None and is_vouched_for(folder, sealed_as(earlier))
    if not ours and not resume_foreign and holds_attempts(folder, shard):
        refuse_foreign(folder)
    if earlier is None:
        write_whole(path, msgspec.json.format(msgspec.json.encode(run_file), indent=2))
    elif (earlier.sandbox or {}).get("tier") != (run_file.sandbox or {}).get("tier"):
        record_sandbox(folder, run_file)
    if not ours:
        vouch(folder, sealed_as(earlier or run_file))
    if seal := code_seal(run_file.definitions):  # its code was trusted, or this run would not have begun
        vouch(folder, seal)
    keep_prices(folder, run_file.config)


def _refuse_another(folder: Path, earlier: RunFile, run_file: RunFile) -> None:
    if earlier.fingerprint != run_file.fingerprint:
        raise UsageError(
            f"{folder}: holds another run: {', '.join(what_changed(earlier, run_file))}. "
            "Use --fresh to put it aside and start anew, or another --run-dir."
        )


def _put_aside(folder: Path) -> None:
    os.close(lock_journal(folder / "journal.jsonl"))  # refused while another process writes this run
    number = 1
    while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
        number += 1
    shutil.move(folder, aside)


def planned(definition: TaskDefinition, config: RunConfig) -> int:
    """How many attempts a task asks for."""
    return samples_of(definition, config) * config.repeat


async def _run(folder: Path, parts: Parts, progress: Progress, prepare: Callable[[], None]) -> RunResult:
    try:
        await refuse_wrong_likelihoods(parts)
        prepare()
        journal = Journal(folder / "journal.jsonl")
    except BaseException:
        await close_parts(parts)
        raise
    run_file = parts.run_file
    config = run_file.config
    stop = Stop()
    model = parts.model
    try:
        merge_shards(folder, journal)  # what shards of this run have finished need not be made again
        finished = finished_keys(journal.path)
        if has_budget(config):
            budget = make_budget(parts.quotes, config, stop)
            budget.already(*spent_before(model.name, parts.quotes, [journal.path]))
            model = budgeted(model, parts.models.judges, parts.quotes, budget)
        parts.models.tell(stop, progress.say)
        progress.begin(sum(planned(each, config) for each in run_file.definitions), len(finished), run_file.definitions)
        with signals(stop, progress), Watch(config.timeout_seconds, stop, progress.say):
            await run_attempts(
                parts.tasks,
                model,
                journal,
                LocalExecutor(parts.in_flight),
                finished=finished,
                settings=config.settings(),
                repeat=config.repeat,
                stop=stop,
                on_records=progress.records,
            )
    finally:
        progress.end()
        try:
            journal.close()
        finally:
            await close_parts(parts)
    leaderboard = await finish(folder, run_file, trust=True)  # what is not trusted was refused before it ran
    owed = any(row.owed for row in leaderboard.tasks)
    return RunResult(
        folder=folder,
        leaderboard=leaderboard,
        interrupted=stop.interrupted,
        stopped=stop.reason if owed else None,
    )


async def finish(folder: Path, run_file: RunFile, *, trust: bool = False) -> Leaderboard:
    """The leaderboard and the report of what the journal holds. `trust` is the user's word, not the run folder's."""
    await run_python_metrics(folder, run_file.definitions, trust=trust)
    leaderboard = build_leaderboard(folder, view_of(run_file.config, folder))
    write_leaderboard_file(folder / "leaderboard.json", leaderboard)
    write_report(folder / "report.md", report_page(leaderboard))
    return leaderboard


async def close_parts(parts: Parts) -> None:
    for task in parts.tasks:
        for part in (*task.scorers.values(), task.solver):
            await close_model(part)
    await parts.models.aclose()


class signals:  # noqa: N801 - reads as a statement: with signals(stop, progress)
    """The first Ctrl-C starts nothing new, the second gives up what is in flight; SIGTERM does the latter at once.

    A third ends the process there and then.
    """

    def __init__(self, stop: Stop, progress: Progress) -> None:
        self._stop = stop
        self._progress = progress
        self._set: list[int] = []

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number, act in ((signal.SIGINT, self._interrupt), (signal.SIGTERM, self._stop.now)):
            try:
                loop.add_signal_handler(number, act)
            except (ValueError, RuntimeError, NotImplementedError):
                continue  # not the main thread: whoever embeds us keeps the signals
            signal.signal(number, self._count)  # the loop acts when it has its turn, this one is called at once
            self._set.append(number)

    def __exit__(self, *error: object) -> None:
        loop = asyncio.get_running_loop()
        for number in self._set:
            loop.remove_signal_handler(number)

    def _count(self, number: int, frame: object) -> None:
        self._stop.signals += 2 if number == signal.SIGTERM else 1
        if self._stop.signals > 2 + (number == signal.SIGTERM):
            os._exit(128 + number)

    def _interrupt(self) -> None:
        if not self._stop.asked:
            self._progress.say("stopping: waiting for the answers in flight; press Ctrl-C again to give them up")
        self._stop.ask()
