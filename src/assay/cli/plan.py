"""`assay plan`: before a run, how many samples find a difference, and what that takes."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import option, repeated
from assay.cli.output import add_form_arguments, show_result
from assay.cli.run_flags import add_task_parameters, reading_of
from assay.cli.run_names import run_named
from assay.cli.setting_flags import add_settings, config_texts, flag_of_run, given_settings
from assay.cli.view_flags import view_of_runs
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.runs.exit_status import DONE
from assay.setting import Purpose
from assay.tasks.task_settings import TaskSettings

if TYPE_CHECKING:
    from assay.costs.estimate import RoundCost
    from assay.results.diff.paired_columns import Side
    from assay.results.sample_plan import PlanTask, SamplePlan
    from assay.run_config import RunConfig
    from assay.runs.plan import PlannedRun
    from assay.stats.expected import Prospect

EPILOG = """\
A difference can be too small for the samples of a task: then `assay diff` finds nothing, whatever the truth is. The
plan shows how many samples find a true difference of --detect in 80 of 100 comparisons, with the tests of `assay diff`
and its correction for several tasks and models, and the smallest difference that the samples at hand find as often.

That depends on how much two models differ on single samples. From best to worst known: two earlier runs of different
models (--baseline twice), a guess of it (--guess 0.7,disagree=0.15: 70 % right, and on 15 % of samples only one of the
two is), one earlier run or a score alone. Of the last two only the samples are known that two models with nothing in
common would need: at most so many. An earlier run with --repeat 2 also shows whether more attempts help.

examples:
  assay plan tasks/ --detect 0.02 --baseline runs/old --baseline runs/new
  assay plan tasks/ --detect 0.02 --guess 0.7,disagree=0.15 --model openai:gpt-4o-mini
  assay plan quiz.jsonl --detect 0.05 --guess 0.7,disagree=0.2,flip_rate=0.1 --repeat 1,4
  assay plan judged.yaml --detect 0.03 --guess 0.8,sd=0.2 --html plan.html    graded scores
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("tasks", nargs="+", metavar="TASKS", help="task files, folders or built-in names")
    option(parser, "--detect DIFFERENCE", "the true difference of two models that should be found, such as 0.02", float)
    repeated(parser, "--baseline RUN", "an earlier run of these tasks; twice: of two models, which is surest")
    option(
        parser,
        "--guess SCORE,…",
        "without an earlier run: the score, and disagree=SHARE and flip_rate=SHARE, or of graded scores sd=NUMBER",
    )
    option(parser, "--repeat N,…", "attempts per sample to plan for, such as 1,4 (default 1)", default="1")
    parser.add_argument(
        "--model",
        action="append",
        metavar="[LABEL=]NAME",
        help="a model to be compared, for its cost and the number of comparisons; repeatable",
    )
    add_settings(parser, RunSettings, "limit", "model_options")
    add_form_arguments(parser, json="as JSON, with the curves of power against samples")
    option(parser, "--html FILE", "write a page with power against samples that opens from disk")
    look = parser.add_argument_group(Purpose.SHOWN.value)
    add_settings(look, RunSettings, "level", "group_by", "prices")
    add_task_parameters(parser)
    add_settings(parser, TaskSettings, "allow_outside")
    add_settings(parser, RunSettings, "trust")


def run(options: argparse.Namespace) -> int:
    from assay.pages.documents.plan import plan_document

    plan = _plan(options)
    if options.html:
        from assay.pages.html.plan_page import plan_page
        from assay.run_file import write_whole

        write_whole(Path(options.html), plan_page(plan).encode())
        print(f"wrote {options.html}", file=sys.stderr)
    show_result(plan, plan_document(plan), options)
    return DONE


def _plan(options: argparse.Namespace) -> SamplePlan:
    from assay.results.diff.paired_columns import read_side
    from assay.results.sample_plan import comparisons_of, plan_samples
    from assay.runs.later.sample_costs import tasks_to_plan
    from assay.runs.plan import plan_runs, read_tasks

    detect, repeats = _difference(options.detect), _numbers(options.repeat)
    if bool(options.baseline) == bool(options.guess):
        raise UsageError("a plan needs --baseline RUN or --guess SCORE,disagree=SHARE, and not both")
    if len(options.baseline) > 2:
        raise UsageError(f"--baseline: one run, or two to be compared; got {len(options.baseline)}")
    options.by = None
    view = view_of_runs(options, [run_named(name) for name in options.baseline])
    sides = [read_side(run_named(name), view) for name in options.baseline]
    config = _config(options)
    definitions, warnings = read_tasks(
        options.tasks, config, evaluated=options.model, may_call_models=False, **reading_of(options)
    )
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    tasks = tasks_to_plan(definitions, config, view.group_by)
    prospects, expects = _prospects(options, sides, tasks, detect)
    models = len(options.model or []) + bool(sides)
    return plan_samples(
        list(zip(tasks, prospects, strict=True)),
        detect=detect,
        pairs=comparisons_of(models),
        repeats=repeats,
        level=view.level,
        costs=_costs(options, sides, tasks, plan_runs(definitions, config, options.model)),
        expects=expects,
    )


def _prospects(
    options: argparse.Namespace, sides: Sequence[Side], tasks: Sequence[PlanTask], detect: float
) -> tuple[list[Prospect], list[str]]:
    """What is expected of every task, and where that comes from."""
    from assay.results.sample_plan import check_guess, parse_guess, prospect_of_guess, prospect_of_runs

    if sides:
        known = [prospect_of_runs(sides, task) for task in tasks]
        return known, [f"from {' and '.join(options.baseline)}"]
    guess = parse_guess(options.guess)
    check_guess(guess, detect, options.guess)
    return [prospect_of_guess(guess, task) for task in tasks], [f"the guess {options.guess}"]


def _costs(
    options: argparse.Namespace, sides: Sequence[Side], tasks: Sequence[PlanTask], runs: Sequence[PlannedRun]
) -> list[RoundCost]:
    from assay.runs.later.sample_costs import costs_of_models, costs_of_run

    if sides and not options.model:
        return costs_of_run(tasks, sides[0])
    return costs_of_models(tasks, runs, priced=bool(options.model))


def _config(options: argparse.Namespace) -> RunConfig:
    from assay.runs.plan import make_config

    names = ("limit", "model_options", "trust", "prices")
    given = {name: value for name, value in given_settings(options, RunSettings).items() if name in names}
    model = options.model[0] if options.model else "toy"
    parameters = config_texts(options.task_config or [])
    return make_config(called=flag_of_run, **given, model=model, task_config=parameters)


def _difference(given: float | None) -> float:
    if given is None:
        raise UsageError("--detect DIFFERENCE is missing: the true difference to be found, such as --detect 0.02")
    if not 0.0 < given < math.inf:
        raise UsageError(f"--detect must be more than 0, got {given:g}")
    return given


def _numbers(given: str) -> list[int]:
    numbers = [part.strip() for part in given.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= 1000 for part in numbers):
        raise UsageError(f"--repeat {given}: expected numbers of attempts from 1 to 1,000, such as 1,4")
    return sorted({int(part) for part in numbers})
