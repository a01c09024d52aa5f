"""`assay rescore`: new scores for old answers, and with `--judges` new verdicts where a judge changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli.flags import option, switch
from assay.cli.output import add_form_arguments, print_notes, print_sentence, show_result
from assay.cli.run_flags import add_task_parameters, task_parameters
from assay.cli.run_names import run_named
from assay.cli.setting_flags import add_settings, flag_of_run, given_settings
from assay.cli.view_flags import add_view_arguments, view_of_run
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.runs.exit_status import exit_status_of, why_without_score
from assay.tasks.task_settings import TaskSettings
from assay.text.wording import count_of

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.run_file import RunFile


OF_JUDGES = (
    *("budget_cost", "budget_tokens", "concurrency", "timeout_seconds", "retries", "judge_retries"),
    *("patience_seconds", "requests_per_minute", "tokens_per_minute"),
)
"""Settings of a run that also apply to judges that are called again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay rescore runs/my-run tasks/                 after a target or a metric changed in the files\n"
        "  assay rescore runs/my-run                        after you changed your own metric\n"
        "  assay rescore runs/my-run tasks/ --judges        after a judge, its prompt or its rubric changed\n"
        "  assay rescore logs/a.eval tasks/quiz.jsonl       answers of an Inspect log\n\n"
        "If a target or metric changed in the task files, name them; if only the code of a metric changed, name\n"
        "the run alone. An answer is used only if the prompt of its sample is unchanged. A verdict is kept if its\n"
        "sample, the judge and what it is sent are unchanged; with --judges the others are asked for, and those\n"
        "that failed. After Ctrl-C, a failure or a used-up budget rerun the same command to resume."
    )
    parser.add_argument("run", metavar="RUN", help="a run folder, or an Inspect log")
    parser.add_argument("tasks", nargs="*", metavar="TASKS", help="the task files as they are now")
    option(parser, "--run-dir DIR", "folder of the new run (default: RUN.rescored)")
    add_task_parameters(parser)
    add_settings(parser, TaskSettings, "allow_outside")
    add_settings(parser, RunSettings, "score_workers", "trust", "sandbox")
    add_form_arguments(parser, json="the leaderboard as JSON on stdout")
    switch(parser, "--judges", "call the judges whose verdicts no longer stand, or failed; without, no model is called")
    add_settings(parser, RunSettings, *OF_JUDGES, needs="--judges")
    switch(parser, "--accept-versions", "resume though other versions of assay or its packages scored so far")
    switch(parser, "--quiet", "no progress")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.cli.progress import progress_of
    from assay.pages.documents.leaderboard import INCOMPLETE, notes
    from assay.pages.documents.more_tables import board_document
    from assay.run_config import RunConfig
    from assay.run_file import read_run_file, sealed_as
    from assay.runs.later.rescore import rescore
    from assay.runs.plan import check_settings, warnings_of
    from assay.runs.project_plan import use_project_prices
    from assay.tasks.load import load_tasks
    from assay.user.seal import is_sealed

    given = given_settings(options, RunSettings)
    workers = given.get("score_workers")
    settings = {name: value for name, value in given.items() if name in (*OF_JUDGES, "prices", "sandbox")}
    check_settings(RunConfig(score_workers=workers, **settings), flag_of_run)
    parameters = task_parameters(options)
    use_project_prices()
    run = Path(run_named(options.run))
    earlier = read_run_file(run)
    kept = earlier.config.task_config
    if kept and options.tasks and not options.trust and not is_sealed(run, sealed_as(earlier)):
        raise UsageError(
            f"{options.run}: would put its parameters ({', '.join(kept)}) into your tasks, and somebody else made this "
            "run. Look at them with `assay show RUN --json`, then use --trust, or leave the tasks out."
        )
    parameters["config"] = kept | parameters["config"]
    tasks = load_tasks(options.tasks, trust=bool(options.trust), **parameters) if options.tasks else None
    for warning in warnings_of(tasks or (), parameters["config"]):
        print(f"warning: {warning}", file=sys.stderr)
    result = rescore(
        run,
        None if tasks is None else named_as_in_log(tasks, earlier),
        Path(options.run_dir or f"{options.run.rstrip('/')}.rescored"),
        trust=bool(options.trust),
        score_workers=workers,
        judges=options.judges,
        settings=settings,
        view=view_of_run(options, run),
        progress=progress_of(options),
        command=["assay", *sys.argv[1:]],
        accept_versions=options.accept_versions,
    )
    if result.interrupted:
        print("interrupted; rerun the same command to resume", file=sys.stderr)
        return 130
    board = result.leaderboard
    show_result(board, board_document(board), options)
    # without judges the same command would call no model
    print_notes([note for note in notes(board) if options.judges or note != INCOMPLETE], options)
    if nothing := why_without_score(board):
        print_sentence(nothing, options, "bad")
    if result.remaining:
        print(f"what has no score here needs a model: finish {options.run}, or run its tasks again", file=sys.stderr)
    if options.judges:
        print(
            f"judges: {count_of(result.judge_calls, 'call')} made, {count_of(result.verdicts_kept, 'verdict')} reused",
            file=sys.stderr,
        )
    if result.stopped:
        print(f"stopped: {result.stopped}; rerun the same command with more to resume", file=sys.stderr)
    changed = f", of which {result.changed_prompts} have a different prompt now" if result.changed_prompts else ""
    print(
        f"scored {result.rescored} answers again; {result.remaining} attempts have no answer{changed}", file=sys.stderr
    )
    print(f"run: {result.folder}", file=sys.stderr)
    return exit_status_of(board)


def named_as_in_log(tasks: Sequence[TaskDefinition], earlier: RunFile) -> list[TaskDefinition]:
    """A single task given for an Inspect log is the log's task, whatever its file is called."""
    if len(tasks) != 1 or len(earlier.definitions) != 1 or not earlier.definitions[0].provenance.from_log:
        return list(tasks)
    return [msgspec.structs.replace(tasks[0], name=earlier.definitions[0].name)]
