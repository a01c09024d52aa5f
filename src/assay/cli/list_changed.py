"""`assay list TASKS --changed REF`: what `assay run` with the same arguments would run, score again and take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.cli.flags import given_flags, option, switch
from assay.cli.output import print_json, show
from assay.cli.project import project_default
from assay.cli.setting_flags import add_settings, config_texts, flag_of_run, given_settings
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.runs.exit_status import DONE
from assay.setting import AppliesTo, Purpose, settings_of

if TYPE_CHECKING:
    from assay.run_config import RunConfig
    from assay.runs.plan import PlannedRun
    from assay.runs.reuse import ReusePlan, ReuseRules, TaskChange

_CHANGED = "--changed"


def add_changed_arguments(parser: argparse.ArgumentParser) -> None:
    """`--changed`, and the settings of a run that a result depends on."""
    option(
        parser,
        "--changed REF",
        "with TASKS: what differs from the result made at this git ref, or in this run folder, and why",
    )
    group = parser.add_argument_group("with --changed, the settings of the run")
    group.add_argument("--model", metavar="NAME", help="as for `assay run` (default: toy)")
    names = [
        name
        for name, field in settings_of(RunSettings).items()
        if field.setting.purpose is Purpose.RESULT or field.setting.applies_to is AppliesTo.ANSWERS
    ]
    chosen = [name for name in names if name not in ("limit", "only", "canary", "model_options", "task_config")]
    add_settings(group, RunSettings, "model_options", "task_config", *chosen, "trust")
    switch(group, "--resume-foreign", "also a result that another user or machine made")


def list_changed(options: argparse.Namespace) -> int:
    from assay.cli.run_flags import reuse_rules, system_text
    from assay.runs.plan import make_config, read_tasks
    from assay.runs.progress import run_blocking
    from assay.runs.project_plan import ReadCell, project_plan

    options.what = options.what or project_default()
    if not options.what:
        raise UsageError(f"{_CHANGED} {options.changed}: name the tasks, as for `assay run`")
    settings = given_settings(options, RunSettings) | {
        "model": options.model or "toy",
        "system": system_text(options.system),
        "task_config": config_texts(options.task_config or []),
    }
    config = make_config(called=flag_of_run, **settings)
    project = project_plan(options.what)
    config, given = project.configured(config, given_flags(options))
    tagged = tuple(options.tagged or ())

    def read(own: RunConfig, models: object, cell: Mapping[str, Any]) -> ReadCell:
        found = read_tasks(options.what, own, evaluated=models, may_call_models=False, tagged=tagged, cell=cell)
        return ReadCell(found.definitions, own)

    planned = project.planned(config, given, [options.model] if options.model else None, read)
    rules = reuse_rules(options)
    assert rules is not None  # noqa: S101 - the caller has looked
    for run in planned.runs:
        reuse, changes = run_blocking(_planned(run, rules))
        if options.json:
            print_json({"model": reuse.run.model["name"], "tasks": changes, "gone": reuse.gone()})
            continue
        tell_changes(reuse, changes, options)
    return DONE


async def _planned(run: PlannedRun, rules: ReuseRules) -> tuple[ReusePlan, list[TaskChange]]:
    from assay.runs.assemble import assemble
    from assay.runs.reuse import plan_of

    async with assemble(run.definitions, run.config, model=run.model) as parts:
        reuse = await plan_of(parts, rules)
        return reuse, reuse.changes()


def tell_changes(reuse: ReusePlan, changes: list[TaskChange], options: argparse.Namespace) -> None:
    """The plan: tasks that differ, one row each; those that do not are counted."""
    from assay.pages.document import TextTable
    from assay.runs.reuse import summary_of
    from assay.text.ages import age_text
    from assay.text.numbers import MISSING, number

    print(summary_of(reuse), file=sys.stderr)
    rows = [
        [
            change.task,
            change.outcome,
            change.why,
            f"{change.run:,}",
            number(change.last_score),
            MISSING if change.age_seconds is None else age_text(change.age_seconds),
        ]
        for change in changes
        if change.outcome != "same"
    ]
    if rows:
        header = ["task", "plan", "why", "to run", "last score", "age"]
        show(TextTable(header=header, rows=rows, numeric_from=3, prose=("why",)), options)
