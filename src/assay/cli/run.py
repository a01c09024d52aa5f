"""`assay run`: what the flags ask for is run, told, and turned into an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.cli.run_flags import add_arguments, config_of, models_by_key, refuse_contradictions, resources_of

if TYPE_CHECKING:
    from assay.core.config import RunConfig
    from assay.core.types import TaskDefinition
    from assay.evaluation import RunResult
    from assay.reports.gate_result import GateResult

__all__ = ["add_arguments", "run"]

STARTER_OUTPUT = "outputs/leaderboard.json"


def run(options: argparse.Namespace) -> int:
    from assay.cli.gate_flags import GateKeeper, tell_gates
    from assay.cli.main import GATE_NOT_MET
    from assay.core.errors import UsageError

    config = config_of(options)
    refuse_contradictions(options)
    if options.http is not None:
        os.environ["ASSAY_HTTP"] = options.http  # workers on a cluster are told this way too
    groups = by_model(definitions_of(options, config), config, chosen=options.model is not None)
    if len(groups) > 1 and (options.run_dir or options.output):
        raise UsageError("these tasks name several models, one run each: leave out --run-dir and --output")
    if options.dry_run:
        return tell_estimate(groups, options)
    gates = [GateKeeper(options, group) for _, group in groups]
    code, gates_met = 0, True
    for (group_config, group), keeper in zip(groups, gates, strict=True):
        if options.shard is not None:
            code = max(code, run_one_shard(group, group_config, options))
            continue
        result = run_whole(group, group_config, options)
        results = keeper.check(result)
        code = max(code, tell(result, options, write_output(result, options), results))
        keeper.write(result.leaderboard, results)
        gates_met = tell_gates(results, options) and gates_met
        if result.interrupted:
            break
    return code if gates_met else GATE_NOT_MET


def definitions_of(options: argparse.Namespace, config: RunConfig) -> list[TaskDefinition]:
    """The tasks that the arguments name, with what their readers want known on stderr."""
    from pathlib import Path

    from assay import env_file
    from assay.tasks.declarative.config_spec import refuse_unused
    from assay.tasks.likelihood import generative_variant
    from assay.tasks.load import load_tasks

    env_file.choose(Path(options.env) if options.env else None)
    for sentence in env_file.ignored_here():
        print(f"warning: {sentence}", file=sys.stderr)
    definitions = load_tasks(
        options.tasks or ["starter"],
        allow_bad=config.allow_bad_tasks,
        config=config.task_config,
        trust=config.trust,
        models=models_by_key(options.model_for),
        dataset=options.dataset,
        allow_outside=options.allow_outside,
    )
    if config.task_config:
        refuse_unused(config.task_config, definitions)
    if options.generative:
        definitions = [generative_variant(definition) for definition in definitions]
    for warning in warnings_of(definitions):
        print(f"warning: {warning}", file=sys.stderr)
    return definitions


def run_whole(group: list[TaskDefinition], config: RunConfig, options: argparse.Namespace) -> RunResult:
    """One run with its leaderboard, here or on a cluster."""
    from assay.cli import interrupts
    from assay.evaluation import run_evaluation

    if options.executor == "ray":
        interrupts.raise_from_now_on()  # a cluster that was started is to be stopped
        from assay.executors.ray_cluster import Cluster
        from assay.ray_run import run_on_ray

        cluster = Cluster(
            address=options.ray_address,
            workers=options.workers,
            cpus=options.worker_cpus,
            gpus=options.worker_gpus,
            resources=resources_of(options.worker_resource),
        )
        return run_on_ray(
            group, config, cluster, shard_size=options.shard_size, fresh=options.fresh, **_how_of(options)
        )
    return run_evaluation(group, config, fresh=options.fresh, **_how_of(options))


def _how_of(options: argparse.Namespace) -> dict[str, Any]:
    """What every way of running is told alike."""
    from pathlib import Path

    from assay.cli.progress import ProgressLine
    from assay.evaluation import Progress

    return {
        "folder": Path(options.run_dir) if options.run_dir else None,
        "resume_foreign": options.resume_foreign,
        "progress": Progress() if options.quiet else ProgressLine(),
        "command": ["assay", *sys.argv[1:]],
    }


def write_output(result: RunResult, options: argparse.Namespace) -> str | None:
    """The leaderboard where `--output` wants it; that of the starter tasks has a place of its own."""
    from pathlib import Path

    from assay.reports.board import write_leaderboard_file

    output: str | None = options.output or (STARTER_OUTPUT if not options.tasks else None)
    if output is not None:
        write_leaderboard_file(Path(output), result.leaderboard)
    return output


def tell_estimate(groups: list[tuple[RunConfig, list[TaskDefinition]]], options: argparse.Namespace) -> int:
    """What a run would take, without asking anybody."""
    from pathlib import Path

    import msgspec

    from assay.cli.main import DONE
    from assay.dry_run import estimate
    from assay.reports.estimate_table import estimate_table

    for config, definitions in groups:
        found = estimate(definitions, config, folder=Path(options.run_dir) if options.run_dir else None)
        print(msgspec.json.encode(found).decode() if options.json else estimate_table(found))
        for note in found.notes:
            print(note, file=sys.stderr)
    return DONE


def run_one_shard(group: list[TaskDefinition], config: RunConfig, options: argparse.Namespace) -> int:
    """`--shard`: counts on stdout; the leaderboard is `assay merge`'s to make."""
    import msgspec

    from assay.cli.main import DONE, INTERRUPTED, WITH_FAILURES
    from assay.core.errors import UsageError
    from assay.executors.shard_files import parse_shard
    from assay.shards import run_shard

    number, count = parse_shard(options.shard)
    if options.fresh or options.executor != "local" or options.output:
        raise UsageError("--shard goes with neither --fresh, --output nor --executor: a shard is a part of a run")
    result = run_shard(group, config, number=number, count=count, **_how_of(options))
    counts = result.counts
    if options.json:
        print(msgspec.json.encode(counts).decode())
    else:
        print(f"shard {options.shard}: {counts.finished:,} of {counts.planned:,} attempts finished", end="")
        print(f", {counts.failed:,} failed" if counts.failed else "", end="")
        print(f", {counts.refused:,} of tasks that cannot be run here" if counts.refused else "")
    print(f"run: {result.folder}   when every shard is done: assay merge {result.folder}", file=sys.stderr)
    if counts.stopped is not None:
        print(f"{counts.stopped}; raise it and run the same command again to go on", file=sys.stderr)
        return WITH_FAILURES
    if counts.interrupted:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    return WITH_FAILURES if counts.failed or counts.refused else DONE


def warnings_of(definitions: list[TaskDefinition]) -> list[str]:
    """What the readers of the files want known, each thing once."""
    return list(dict.fromkeys(text for each in definitions for text in each.metadata.get("warnings", ())))


def by_model(
    definitions: list[TaskDefinition], config: RunConfig, *, chosen: bool
) -> list[tuple[RunConfig, list[TaskDefinition]]]:
    """The tasks of each model: a run file may name several; `--model` is said of all of them."""
    import msgspec

    groups: dict[str, tuple[RunConfig, list[TaskDefinition]]] = {}
    for definition in definitions:
        named = None if chosen else definition.metadata.get("model")
        own = config
        if named is not None:
            own = msgspec.structs.replace(
                config,
                model=named["model"],
                model_options=named["options"],
                requests_per_minute=config.requests_per_minute or named.get("requests_per_minute"),
                concurrency=min(config.concurrency, named.get("concurrency") or config.concurrency),
                adaptive=config.adaptive and named.get("concurrency") is None,
            )
        if definition.metadata.get("cache") is False:
            own = msgspec.structs.replace(own, cache=False)
        groups.setdefault(repr(own), (own, []))[1].append(definition)
    return list(groups.values())


def tell(result: RunResult, options: argparse.Namespace, output: str | None, gates: Sequence[GateResult] = ()) -> int:
    """The table on stdout, what a reader should know besides on stderr, and the exit code."""
    import msgspec

    from assay.cli.exit_code import exit_code_of, why_without_score
    from assay.cli.main import INTERRUPTED, WITH_FAILURES
    from assay.reports.markdown import notes
    from assay.reports.more_tables import board_tables

    board = result.leaderboard
    if options.json:
        print(msgspec.json.encode({**msgspec.structs.asdict(board), **({"gates": gates} if gates else {})}).decode())
    else:
        print(board_tables(board))
    for note in notes(board):
        print(note, file=sys.stderr)
    if nothing := why_without_score(board):
        print(nothing, file=sys.stderr)
    print(f"run: {result.folder}" + (f"   leaderboard: {output}" if output else ""), file=sys.stderr)
    if result.interrupted:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    if result.stopped is not None:
        owed = sum(row.owed for row in board.tasks)
        again = "The same command goes on."
        if "budget" in result.stopped:
            again = "The same command with a larger budget goes on. (The longest answer is --max-answer-tokens.)"
        print(f"stopped: {result.stopped}; {owed:,} attempts are owed. {again}", file=sys.stderr)
        return WITH_FAILURES
    return exit_code_of(board)
