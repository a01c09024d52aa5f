"""Runs from start to end: `run_tasks` for Python, `run_all` for it and for the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Unpack

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.journal import Journal
from assay.core.run import Stop
from assay.core.seams import Metric, Model
from assay.core.types import Record, TaskDefinition
from assay.models.adapters.python_callable import as_model
from assay.models.layers.left_open import LeftOpen
from assay.overriding import override
from assay.reading import env_file
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import view_of
from assay.results.side_labels import model_and_cell, run_labels
from assay.run_config import RunConfig
from assay.run_file import RunFile, read_run_file
from assay.runs.assemble import Parts, assemble
from assay.runs.chosen_models import chosen_models
from assay.runs.earlier_attempts import EarlierAttempts, attempts_in
from assay.runs.exit_status import GATE_NOT_MET, INTERRUPTED, WITH_FAILURES, exit_status_of
from assay.runs.finish import finish
from assay.runs.folder import default_folder, prepare_folder, record_change
from assay.runs.indistinguishable_models import warn_of_a_twin
from assay.runs.listeners import Listener, Listeners, RunStart, find_listeners
from assay.runs.local import run_here
from assay.runs.plan import (
    PlannedRun,
    RunKeywords,
    check_settings,
    for_checks,
    keep_picked,
    make_config,
    read_tasks,
    refuse_same_runs,
    with_results,
)
from assay.runs.progress import CallbackProgress, Progress, ProgressUpdate, run_blocking, signals
from assay.runs.project_plan import ReadCell, project_plan
from assay.runs.shard_files import merge_shards
from assay.runs.stretches import NOTHING_ACCEPTED, AcceptedChanges, canary_usage, open_stretch
from assay.tasks.task_settings import TaskSettings
from assay.text.wording import in_python

if TYPE_CHECKING:
    from assay.results.gates.result import GateResult
    from assay.results.grid import Grid
    from assay.runs.executor import Cluster
    from assay.runs.gates import Gates, MemberGates
    from assay.runs.reuse import ReusePlan, ReuseRules
    from assay.runs.run_handle import Run


class RunResult(Struct, frozen=True, kw_only=True):
    """The folder of a run, its leaderboard, and the results of its gates."""

    folder: Path
    leaderboard: Leaderboard
    interrupted: bool = False
    stopped: str | None = None
    """Why the run stopped before every attempt was made, such as its budget."""
    seconds: float = 0.0
    """How long this session of it took."""
    gates: tuple[GateResult, ...] = ()
    gates_met: bool = True

    @property
    def exit_status(self) -> int:
        """0 done, 1 a gate is not met, 3 finished with failures, 130 interrupted: as `assay run` ends."""
        if not self.gates_met:
            return GATE_NOT_MET
        if self.interrupted:
            return INTERRUPTED
        return WITH_FAILURES if self.stopped is not None else exit_status_of(self.leaderboard)

    def open(self) -> Run:
        """The run's attempts, costs and tables, as `assay.open_run` gives them."""
        from assay.runs.run_handle import open_run

        return open_run(self.folder)

    def _repr_html_(self) -> str:
        return self.leaderboard._repr_html_()


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """The runs that were made, one for each model, in the order they were asked for."""

    runs: tuple[RunResult, ...]
    warnings: tuple[str, ...] = ()
    """Warnings and notes from the readers of the task files."""

    def __iter__(self) -> Iterator[RunResult]:
        return iter(self.runs)

    @override
    def __str__(self) -> str:
        """Scores, and what limits them, with why attempts failed; rows against models where there are several."""
        from assay.pages.documents.evaluation import evaluation_text

        return evaluation_text([run.folder for run in self.runs], [run.leaderboard for run in self.runs])

    def _repr_html_(self) -> str:
        from assay.pages.html.notebook import grids_html

        whole = "".join(run._repr_html_() for run in self.runs)
        return whole if len(self.runs) == 1 else grids_html(self.grids()) + whole

    def grids(self) -> list[Grid]:
        """For each task its rows against the models and prompts."""
        from assay.results.grid import grids_of

        return grids_of([run.folder for run in self.runs])

    @property
    def score(self) -> float | None:
        """The overall score of the only run; None where nothing was scored."""
        return self._only.leaderboard.overall_score

    @property
    def gates_met(self) -> bool:
        return all(run.gates_met for run in self.runs)

    @property
    def exit_status(self) -> int:
        return max(run.exit_status for run in self.runs) if self.gates_met else GATE_NOT_MET

    @property
    def leaderboard(self) -> Leaderboard:
        """That of the only run there is."""
        return self._only.leaderboard

    @property
    def folder(self) -> Path:
        return self._only.folder

    @property
    def _only(self) -> RunResult:
        if len(self.runs) != 1:
            raise UsageError(f"there are {len(self.runs)} runs: look at each of `runs`")
        return self.runs[0]


class EvaluationKeywords(RunKeywords, TaskSettings, total=False):
    """The settings that `assay.evaluate` takes by name: those of a run, and those of reading its tasks."""


class EvaluationOptions(EvaluationKeywords, total=False):
    """Those, and how the run is executed."""

    folder: Path | str | None
    """That of the run (`--run-dir`); without it one in `runs_folder`, the same for the same call."""
    runs_folder: Path | str
    fresh: bool
    resume_foreign: bool
    accept_model_change: bool
    accept_versions: bool
    gates: str | Sequence[str]
    baseline: Path | str | None
    cannot_tell_passes: bool
    left_out_ignored: bool
    """The gates judge the samples alone that `limit` or `only` kept."""
    progress: Progress | Callable[[ProgressUpdate], object] | None
    """Called with a `ProgressUpdate` now and then."""
    listeners: Sequence[object]
    env: Path | str | None
    generative: bool
    cluster: Cluster | None
    shard_size: int | None


async def run_tasks(
    tasks: str | Path | TaskDefinition | Iterable[str | Path | TaskDefinition],
    model: object | Sequence[object] | Mapping[str, object] | None = None,
    *,
    metric: str | Metric | None = None,
    folder: Path | str | None = None,
    runs_folder: Path | str = "runs",
    fresh: bool = False,
    resume_foreign: bool = False,
    accept_model_change: bool = False,
    accept_versions: bool = False,
    gates: str | Sequence[str] = (),
    baseline: Path | str | None = None,
    cannot_tell_passes: bool = False,
    left_out_ignored: bool = False,
    progress: Progress | Callable[[ProgressUpdate], object] | None = None,
    listeners: Sequence[object] = (),
    env: Path | str | None = None,
    generative: bool = False,
    cluster: Cluster | None = None,
    shard_size: int | None = None,
    **settings: Unpack[EvaluationKeywords],
) -> EvaluationResult:
    """Run tasks against one model or several: all that `assay run` does. `metric` takes the place of those that the
    tasks name.
    """
    chosen = chosen_models(model)
    with env_file.looking_in(None if env is None else Path(env)):
        reading = {name: value for name, value in settings.items() if name in TaskSettings.__annotations__}
        given: dict[str, Any] = {name: value for name, value in settings.items() if name not in reading}
        config = make_config(**given)
        sources = [*tasks] if isinstance(tasks, Iterable) and not isinstance(tasks, str) else [tasks]
        project = project_plan([str(source) for source in sources if not isinstance(source, TaskDefinition)])
        config, known = project.configured(config, given)
        warnings: list[str] = []

        def read(own: RunConfig, models: object, cell: Mapping[str, Any]) -> ReadCell:
            how = {"evaluated": models, "generative": generative, "cell": cell, **reading}
            found, notes = _tasks_of(sources, own, metric, **how)
            warnings.extend(note for note in notes if note not in warnings)
            return ReadCell(*keep_picked(found, own))

        planned, definitions, config = project.planned(config, known | reading.keys(), chosen, read)
        own_gates = project.gates_of_run([gates] if isinstance(gates, str) else gates, baseline, definitions, config)
        runs = await run_all(
            planned,
            RunOptions(
                folder=None if folder is None else Path(folder),
                runs_folder=Path(runs_folder),
                fresh=fresh,
                resume_foreign=resume_foreign,
                accepted=AcceptedChanges(model_change=accept_model_change, versions=accept_versions),
                progress=progress if isinstance(progress, Progress) else CallbackProgress(progress),
                listeners=find_listeners(listeners),
                cluster=cluster,
                shard_size=shard_size,
            ),
            gates=own_gates.gates,
            baseline=own_gates.baseline,
            members=own_gates.members,
            cannot_tell_passes=cannot_tell_passes,
            left_out_ignored=left_out_ignored or project.left_out_ignored,
        )
    return EvaluationResult(runs=tuple(runs), warnings=(*own_gates.notes, *warnings))


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is executed, whatever its tasks: its folder, its listeners, and whether on a cluster."""

    folder: Path | None = None
    runs_folder: Path = Path("runs")
    """Where a run without a `folder` has its own."""
    fresh: bool = False
    resume_foreign: bool = False
    accepted: AcceptedChanges = NOTHING_ACCEPTED
    progress: Progress = field(default_factory=Progress)
    listeners: Sequence[Listener] = ()
    command: Sequence[str] = ()
    cluster: Cluster | None = None
    shard_size: int | None = None
    changed: ReuseRules | None = None
    """What is taken from an earlier result; None: nothing."""

    def __post_init__(self) -> None:
        if self.shard_size is not None and self.cluster is None:
            raise UsageError("--shard-size: only a cluster is given shards; without one it has no effect")

    def folder_of(self, run_file: RunFile) -> Path:
        if self.folder is not None or self.changed is None:
            return self.folder or default_folder(run_file, self.runs_folder)
        # what was taken depends on the earlier result, which may be the run of the same name
        folder = default_folder(run_file, self.runs_folder)
        return folder.with_name(f"{folder.name}.{run_file.commit[:8] or 'changed'}")


async def run_all(
    planned: Sequence[PlannedRun],
    options: RunOptions,
    *,
    gates: Sequence[str] = (),
    baseline: Path | str | None = None,
    members: Sequence[MemberGates] = (),
    cannot_tell_passes: bool = False,
    left_out_ignored: bool = False,
    on_result: Callable[[RunResult, str], None] = lambda result, label: None,
) -> list[RunResult]:
    """Every planned run, one after the other; an interrupted one is the last.

    `on_result` is called with each result and, where there are several, what tables call its model.
    """
    if len(planned) > 1 and options.folder is not None:
        raise UsageError("several models are one run each: leave the folder of the run (--run-dir) out")
    keepers = checked_gates(
        planned,
        gates,
        baseline,
        members=members,
        cannot_tell_passes=cannot_tell_passes,
        left_out_ignored=left_out_ignored,
    )
    labels = await check_all(planned, options) if len(planned) > 1 else [""]
    for sentence in dict.fromkeys(item for keeper in keepers if keeper is not None for item in keeper.out_of_reach()):
        options.progress.warn(sentence)
    results: list[RunResult] = []
    folders: dict[str, list[Path]] = {}
    for run, keeper, label in zip(planned, keepers, labels, strict=True):
        result = await run_planned(with_results(run, folders), options)
        for definition in run.definitions:
            folders.setdefault(definition.name, []).append(result.folder)
        if keeper is not None:
            gate_results, met = keeper.check(
                result.folder,
                result.leaderboard,
                cannot_tell_passes=cannot_tell_passes,
                left_out_ignored=left_out_ignored,
            )
            result = msgspec.structs.replace(result, gates=gate_results, gates_met=met)
        results.append(result)
        board = result.leaderboard
        keeps_its_own = label and board.label != run.config.label
        on_result(result, model_and_cell(board.model_label, board.settings) if keeps_its_own else label)
        if result.interrupted:
            break
    return results


def may_leave_out(run: PlannedRun) -> bool:
    """Whether the run has a limit, or picks its samples."""
    config = run.config
    return config.only is not None or any(config.limit_of(each.name) is not None for each in run.definitions)


def checked_gates(
    planned: Sequence[PlannedRun],
    gates: Sequence[str],
    baseline: Path | str | None,
    *,
    members: Sequence[MemberGates] = (),
    cannot_tell_passes: bool,
    left_out_ignored: bool,
) -> list[Gates | None]:
    """The gates of each run; what is only for gates is refused where there is none."""
    keepers = [_gates_of(run, gates, baseline, members) for run in planned]
    if any(keeper is not None and (keeper.gates or members) for keeper in keepers):
        if left_out_ignored and not any(may_leave_out(run) for run in planned):
            raise UsageError("--gate-left-out ignore: this run leaves nothing out; it goes with --limit or --only")
        return keepers
    for flag, is_given in (
        ("--baseline", baseline is not None),
        ("--gate-cannot-tell", cannot_tell_passes),
        ("--gate-left-out", left_out_ignored),
    ):
        if is_given:
            raise UsageError(f"{flag} is for gates, and there is none: give one with --gate, or leave it out")
    return keepers


async def check_all(planned: Sequence[PlannedRun], options: RunOptions) -> list[str]:
    """Build every run before the first request: a model, judge, key, option, cache, snippet or sandbox of the last one
    that cannot be used is refused before the first one is paid, and so are two that are one. What takes requests, the
    check of likelihoods, comes when all else is known to be right. Each run builds its own again.

    Returns what tables call the model of each.
    """
    made: list[RunFile] = []
    unproven: list[PlannedRun] = []
    for run in map(for_checks, planned):
        async with _assembled(run, options) as parts:
            await parts.check()
            quiet = Progress()  # each run says again what there is to say
            parts.start_sandboxes(quiet)
            await parts.try_tests(quiet)
            await parts.check_cached_models()
            made.append(parts.run_file)
            if parts.unproven:
                unproven.append(run)
    refuse_same_runs(zip(planned, (run_file.fingerprint for run_file in made), strict=True))
    for run in unproven:
        async with _assembled(run, options) as parts:
            await parts.refuse_wrong_likelihoods()
    return run_labels(made)


def _assembled(run: PlannedRun, options: RunOptions) -> AbstractAsyncContextManager[Parts]:
    """To be checked only: an object of the user's stays open for its run."""
    model = None if run.model is None else LeftOpen(as_model(run.model))
    return assemble(run.definitions, run.config, model=model, command=options.command)


def _gates_of(
    run: PlannedRun, gates: Sequence[str], baseline: Path | str | None, members: Sequence[MemberGates]
) -> Gates | None:
    policies = any(definition.plan.policies for definition in run.definitions)
    if not gates and not members and baseline is None and not policies:
        return None
    from assay.runs.gates import Gates  # most runs have none

    return Gates(gates, run.definitions, run.config, baseline, members)


def run_evaluation(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    model: Model | object | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    resume_foreign: bool = False,
    accepted: AcceptedChanges = NOTHING_ACCEPTED,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResult:
    """One run with exactly this config, or the rest of the run that the folder holds.

    `model` overrides `config.model` with an object: a model, an adapter with `generate(prompts)`, or a function.
    `resume_foreign` accepts attempts that another user or machine made, `accepted` a change of model or versions.
    """
    check_settings(config)
    definitions, config = keep_picked(definitions, config)
    options = RunOptions(
        folder=folder,
        fresh=fresh,
        resume_foreign=resume_foreign,
        accepted=accepted,
        progress=progress or Progress(),
        command=command,
    )
    return run_blocking(run_planned(PlannedRun(list(definitions), config, model, given=model), options))


async def run_planned(run: PlannedRun, options: RunOptions) -> RunResult:
    """One run with its leaderboard, here or on a cluster."""
    if options.fresh:
        run = run._replace(config=msgspec.structs.replace(run.config, cache_reads=False))
    listeners = Listeners(options.listeners, options.progress.warn)
    began = monotonic()
    try:
        if options.cluster is not None:
            from assay.runs.driver import drive

            result = await drive(run, options.cluster, options, listeners)
        else:
            result = await _run_here(run, options, listeners)
    except BaseException:
        if listeners and listeners.began:  # cancelled, or the disk is full: report what there is
            folder = listeners.began.folder
            board = build_leaderboard(folder, view_of(run.config, folder))
            await listeners.run_finished(RunResult(folder=folder, leaderboard=board, interrupted=True))
        raise
    result = msgspec.structs.replace(result, seconds=monotonic() - began)
    await listeners.run_finished(result)
    return result


async def _run_here(run: PlannedRun, options: RunOptions, listeners: Listeners) -> RunResult:
    stop, config, progress = Stop(), run.config, options.progress
    async with assemble(run.definitions, config, model=run.model, command=options.command) as parts:
        await parts.make_ready(progress)
        folder = options.folder_of(parts.run_file)
        reuse = None if options.changed is None else await _reuse_plan(parts, options.changed)
        prepare_folder(folder, parts.run_file, fresh=options.fresh, resume_foreign=options.resume_foreign)
        parts.belong_to(folder)
        try:
            with closing(Journal(folder / "journal.jsonl", own_parts=parts.own_parts)) as journal:
                merge_shards(folder, journal)  # what shards of this run have finished is not repeated
                if reuse is not None:
                    take_unchanged(reuse, folder, journal, progress)
                finished = EarlierAttempts(journal.path)
                if run.given is not None:
                    warn_of_a_twin(folder, run.given, progress.warn, resumed=bool(finished))
                parts.keep_to_budget(
                    stop, [journal.path], generated_for=read_run_file(folder), canaries=canary_usage(folder)
                )
                with signals(stop, progress):
                    stretch = await open_stretch(folder, parts, options.accepted, stop, progress, made=len(finished))
                    begin(folder, parts.run_file, len(finished), progress, listeners)
                    on_records = on_records_for(progress, listeners)
                    await run_here(parts, journal, finished, stop, progress, stretch, on_records=on_records)
        finally:
            progress.end()
    return await result_of(folder, config, stop)


async def _reuse_plan(parts: Parts, rules: ReuseRules) -> ReusePlan:
    from assay.runs.reuse import plan_of  # most runs take nothing

    return await plan_of(parts, rules)


def take_unchanged(reuse: ReusePlan, folder: Path, journal: Journal, progress: Progress) -> None:
    """Take what an earlier result still answers, and record what was taken."""
    from assay.runs.reuse import summary_of

    if reuse.baseline is not None and reuse.baseline.folder.resolve() == folder.resolve():
        return  # it is this run, which is resumed
    progress.say(summary_of(reuse))
    if reused := reuse.fill(journal):
        record_change(folder, msgspec.structs.replace(read_run_file(folder), reused=reused))


async def result_of(folder: Path, config: RunConfig, stop: Stop) -> RunResult:
    """The end of a run: what became of it, as its journal says."""
    board = await finish(folder, view_of(config, folder), trust=True)  # what is not trusted was refused before it ran
    stopped = stop.reason if any(row.remaining for row in board.tasks) else None
    return RunResult(folder=folder, leaderboard=board, interrupted=stop.interrupted, stopped=stopped)


def begin(folder: Path, run_file: RunFile, done: int, progress: Progress, listeners: Listeners) -> int:
    """Announce the start of the run; returns how many attempts it has."""
    total = attempts_in(run_file)
    progress.plan(run_file, folder / "journal.jsonl")
    progress.begin(total, done, run_file.definitions)
    if listeners:  # a run that is resumed is the one that was begun
        listeners.run_began(RunStart(folder=folder, run=read_run_file(folder), total=total, done=done))
    return total


def on_records_for(progress: Progress, listeners: Listeners) -> Callable[[list[Record]], None]:
    """What is called with finished records: progress, and listeners where there are any."""

    def both(records: list[Record]) -> None:
        progress.records(records)
        listeners.records(records)

    return both if listeners else progress.records


def _tasks_of(
    tasks: Sequence[str | Path | TaskDefinition], config: RunConfig, metric: str | Metric | None, **how: Any
) -> tuple[list[TaskDefinition], list[str]]:
    """Files are read; definitions are taken as they are; a `metric` takes the place of theirs."""
    for task in tasks:
        if not isinstance(task, str | PathLike | TaskDefinition):
            raise UsageError(
                f"{in_python(task)} is not a task: give a path, a name, or what `load_tasks` returned; "
                "`run_task` takes examples"
            )
    sources = [str(task) for task in tasks if not isinstance(task, TaskDefinition)]
    given = [task for task in tasks if isinstance(task, TaskDefinition)]
    read, warnings = read_tasks(sources, config, **how) if sources else ([], [])
    definitions = [*read, *given]
    if metric is not None:
        from assay.tasks.own_metric import with_metric  # most runs are scored as their tasks say

        definitions = [with_metric(definition, metric) for definition in definitions]
    return definitions, warnings
