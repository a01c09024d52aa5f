"""`assay run`: what the flags ask for is run, told, and turned into an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.flags import given_flags
from assay.cli.gate_flags import print_gates, write_for_ci
from assay.cli.output import (
    is_one_screen,
    print_json,
    print_notes,
    print_sentence,
    show,
)
from assay.cli.project import project_default, project_root
from assay.cli.run_flags import (
    add_arguments,
    config_of,
    reading_of,
    refuse_contradictions,
    resources_of,
    reuse_rules,
)
from assay.cli.run_results import (
    of_model,
    print_grid,
    print_limits,
    print_matrix,
    print_run,
)
from assay.core.errors import UsageError
from assay.runs.exit_status import BAD_INPUT, DONE, INTERRUPTED, WITH_FAILURES
from assay.text.wording import count_of

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.run_config import RunConfig
    from assay.runs.evaluate import RunOptions, RunResult
    from assay.runs.plan import PlannedRun
    from assay.runs.project_plan import ProjectPlan, RunGates

__all__ = ["add_arguments", "run"]

STARTER_OUTPUT = "outputs/leaderboard.json"


def run(options: argparse.Namespace) -> int:
    from assay.cli import garbage
    from assay.pages.step_summary import run_summary
    from assay.reading import env_file
    from assay.runs.evaluate import EvaluationResult, check_all, checked_gates, run_all
    from assay.runs.plan import pick_samples
    from assay.runs.progress import run_blocking
    from assay.runs.project_plan import ReadCell, project_plan

    garbage.pass_over_what_is_loaded()
    config = config_of(options)
    refuse_contradictions(options)
    env_file.choose(Path(options.env) if options.env else None)
    options.tasks = options.tasks or project_default()
    project = project_plan(options.tasks, gates=not options.no_gates)
    config, given = project.configured(config, given_flags(options))
    said: set[str] = set()

    def read(own: RunConfig, models: object, cell: Mapping[str, Any]) -> ReadCell:
        definitions = definitions_of(options, own, models, cell, said)
        return ReadCell(*(pick_samples(definitions, own, options.only) if options.only else (definitions, own)))

    planned, definitions, config = project.planned(config, given, options.model, read)
    options.model = options.model or project.models
    if options.save is not None:
        save_table(definitions, options)
    gates = _all_gates(project, definitions, config, options)
    check_files(options, planned)
    if options.dry_run:
        checked_gates(
            planned,
            gates.gates,
            gates.baseline,
            members=gates.members,
            cannot_tell_passes=options.gate_cannot_tell == "pass",
            left_out_ignored=project.left_out_ignored or options.gate_left_out == "ignore",
        )
        return print_estimate(planned, options)
    if options.shard is not None:
        if len(planned) > 1:
            run_blocking(check_all(planned, run_options(options)))
        return max(run_one_shard(item, options) for item in planned)

    shown: list[str] = []
    is_grid = len(planned) > 1 and all(task.provenance.table for run in planned for task in run.definitions)
    is_compared = len(planned) > 1 and bool(
        options.model or project.is_matrix or any(task.plan.variant for run in planned for task in run.definitions)
    )
    together = is_grid or (is_compared and is_one_screen(options) and not options.json)

    def print_result(result: RunResult, label: str) -> None:
        if together:
            print_limits(result, options, label)
        else:
            if shown and not options.json:
                print()
            shown.append(label)
            print_run(result, options, write_output(result, options), label)
        write_for_ci(options, result.leaderboard, result.gates, partial(run_summary, result.leaderboard, result.gates))
        print_gates(result.gates, options, label)

    results = run_blocking(
        run_all(
            planned,
            run_options(options),
            gates=gates.gates,
            baseline=gates.baseline,
            members=gates.members,
            cannot_tell_passes=options.gate_cannot_tell == "pass",
            left_out_ignored=project.left_out_ignored or options.gate_left_out == "ignore",
            on_result=print_result,
        )
    )
    if is_grid:
        if left := len(planned) - len(results):
            print_sentence(f"{count_of(left, 'column')} of the grid not begun: rerun the same command", options)
        print_grid(results, options)
    elif len(results) > 1 and is_compared:
        print_matrix(results, options)
    return EvaluationResult(runs=tuple(results)).exit_status


def _all_gates(
    project: ProjectPlan, definitions: Sequence[TaskDefinition], config: RunConfig, options: argparse.Namespace
) -> RunGates:
    """The gates of the command, the project and its suites; those that are not checked are named on stderr."""
    if options.no_gates and not project.notes:
        raise UsageError("--no-gates: neither a project nor a suite has gates here; leave it out")
    gates = project.gates_of_run(options.gate, options.baseline, definitions, config)
    for note in (*project.notes, *gates.notes):
        print(note, file=sys.stderr)
    return gates


def save_table(definitions: Sequence[TaskDefinition], options: argparse.Namespace) -> None:
    """Write the task that a table was read as."""
    from assay.formats.table.saved import save_task
    from assay.tasks.load import context_of

    if len(options.tasks) != 1 or not all(task.provenance.table for task in definitions):
        raise UsageError("--save writes the task of one table; name that alone")
    reading = reading_of(options)
    given = reading["source_options"].get("table", {})
    save_task(options.tasks[0], given, context_of({**reading, "evaluated": options.model or ()}), Path(options.save))
    print_sentence(f"saved: {options.save}", options)


def definitions_of(
    options: argparse.Namespace, config: RunConfig, models: object, cell: Mapping[str, Any], said: set[str]
) -> list[TaskDefinition]:
    """The tasks that the arguments name, with what their readers want known on stderr, once."""
    from assay.runs.plan import read_tasks

    definitions, warnings = read_tasks(
        options.tasks or ["starter"],
        config,
        evaluated=models,
        generative=options.generative,
        may_call_models=not options.dry_run,
        locked=options.locked,
        cell=cell,
        **reading_of(options),
    )
    for warning in warnings:
        if warning not in said:
            print(f"warning: {warning}", file=sys.stderr)
        said.add(warning)
    return definitions


def run_options(options: argparse.Namespace) -> RunOptions:
    from assay.cli import interrupts
    from assay.cli.progress import progress_of
    from assay.runs.evaluate import RunOptions
    from assay.runs.listeners import find_listeners
    from assay.runs.stretches import AcceptedChanges

    cluster = None
    if options.executor is not None:
        interrupts.raise_from_now_on()  # a cluster that was started is to be stopped
        from assay.runs.executor import Cluster

        cluster = Cluster(
            executor=options.executor,
            address=options.ray_address,
            workers=options.workers,
            cpus=options.worker_cpus,
            gpus=options.worker_gpus,
            resources=resources_of(options.worker_resource),
        )
    return RunOptions(
        folder=Path(options.run_dir) if options.run_dir else None,
        runs_folder=project_root() / "runs",
        fresh=options.fresh,
        resume_foreign=options.resume_foreign,
        accepted=AcceptedChanges(model_change=options.accept_model_change, versions=options.accept_versions),
        progress=progress_of(options),
        listeners=find_listeners(options.log_to),
        command=["assay", *sys.argv[1:]],
        cluster=cluster,
        shard_size=options.shard_size,
        changed=reuse_rules(options),
    )


def write_output(result: RunResult, options: argparse.Namespace) -> str | None:
    """The leaderboard where `--output` wants it; that of the starter tasks has a place of its own."""
    from assay.results.board.board_types import write_leaderboard_file

    output = output_of(options)
    if output is not None:
        write_leaderboard_file(Path(output), result.leaderboard)
    return output


def check_files(options: argparse.Namespace, planned: Sequence[PlannedRun]) -> None:
    """Refuse, before anything runs, files that the result could not be written to."""
    from assay.run_file import refuse_unwritable

    if len(planned) > 1 and (options.run_dir or options.output or options.junit):
        raise UsageError("several models are one run each: leave out --run-dir, --output and --junit")
    for file in filter(None, (output_of(options), options.junit)):
        refuse_unwritable(Path(file))


def output_of(options: argparse.Namespace) -> str | None:
    """The file of the leaderboard, where one is asked for."""
    output: str | None = options.output
    return output or (STARTER_OUTPUT if not options.tasks else None)


def print_estimate(planned: list[PlannedRun], options: argparse.Namespace) -> int:
    """What a run would take, without asking anybody; a row that cannot be rendered is bad input."""
    from assay.pages.documents.estimate import estimate_tables
    from assay.runs.later.dry_run import estimate

    code = DONE
    folder = Path(options.run_dir) if options.run_dir else None
    for run in planned:
        if run.after is not None:
            names = ", ".join(each.name for each in run.definitions)
            print(f"{names}: over the results of {run.after}, which are not there yet", file=sys.stderr)
            continue
        expected = estimate(run.definitions, run.config, folder=folder, fresh=options.fresh)
        if options.json:
            print_json(expected)
        else:
            if len(planned) > 1:
                print(f"{'' if run is planned[0] else chr(10)}{expected.label}:")
            show(estimate_tables(expected), options)
        print_notes(of_model(expected.label if len(planned) > 1 else "", expected.notes), options)
        for task in expected.tasks:
            if task.not_rendered:
                code = BAD_INPUT
                message = f"{task.not_rendered:,} samples cannot be rendered; the first: {task.first_fault}"
                print(f"{task.task}: {message}. `assay check` says where", file=sys.stderr)
    return code


def run_one_shard(run: PlannedRun, options: argparse.Namespace) -> int:
    """`--shard`: counts on stdout; the leaderboard is `assay merge`'s to make."""
    from assay.runs.progress import run_blocking
    from assay.runs.shard_files import parse_shard
    from assay.runs.shards import run_planned_shard

    if run.after is not None:
        raise UsageError(
            f"--shard: `{run.definitions[0].name}` reads the result of `{run.after}`, which is not there yet"
        )
    number, count = parse_shard(options.shard)
    result = run_blocking(run_planned_shard(run, number, count, run_options(options)))
    counts = result.counts
    if options.json:
        print_json(counts)
    else:
        print(f"shard {options.shard}: {counts.finished:,} of {counts.planned:,} attempts finished", end="")
        print(f", {counts.failed:,} failed" if counts.failed else "", end="")
        print(f", {counts.refused:,} of tasks that cannot be run here" if counts.refused else "")
    print(f"run: {result.folder}   when every shard is done: assay merge {result.folder}", file=sys.stderr)
    if counts.stopped is not None:
        print(f"{counts.stopped}; raise it and rerun the same command to resume", file=sys.stderr)
        return WITH_FAILURES
    if counts.interrupted:
        print("interrupted; rerun the same command to resume", file=sys.stderr)
        return INTERRUPTED
    return WITH_FAILURES if counts.failed or counts.refused else DONE
