"""`assay check`: a task set proved without a model."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from assay.cli.run_flags import add_allow_outside, add_task_parameters, add_trust, task_parameters

if TYPE_CHECKING:
    from assay.tasks.check import TaskCheck


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Every gold answer is scored and must get full marks; the empty answer must get none. Duplicates,\n"
        "contradictions and near-empty prompts are pointed out. Exit code 2 when a gold answer or an empty one\n"
        "scores wrongly, 3 when a task cannot be run on this machine."
    )
    parser.add_argument("tasks", nargs="+", metavar="TASKS", help="task files, folders or built-in names")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    parser.add_argument("--all", action="store_true", help="every finding, not only the first of each task")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_task_parameters(parser)
    add_allow_outside(parser)
    add_trust(parser)


def run(options: argparse.Namespace) -> int:
    import asyncio

    import msgspec

    from assay.cli.main import BAD_INPUT, DONE, WITH_FAILURES
    from assay.core.errors import UsageError
    from assay.tasks.check import CANNOT_RUN

    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {options.limit}")
    checks = asyncio.run(_check_all(options))
    if options.json:
        print(msgspec.json.encode(checks).decode())
    else:
        _show(checks, every=options.all)
    findings = [finding for check in checks for finding in check.findings]
    if any(finding.error for finding in findings):
        return BAD_INPUT
    return WITH_FAILURES if any(finding.problem == CANNOT_RUN for finding in findings) else DONE


async def _check_all(options: argparse.Namespace) -> list[TaskCheck]:
    from assay.core.model_stack import close_model
    from assay.scorers.watch import Watch
    from assay.tasks.build import build_task
    from assay.tasks.check import check_task
    from assay.tasks.load import load_tasks

    told = task_parameters(options)
    found = []
    for definition in load_tasks(options.tasks, trust=options.trust, models_needed=False, **told):
        task = build_task(definition, limit=options.limit, trust=options.trust)
        with Watch(None):
            found.append(await check_task(task))
        for scorer in task.scorers.values():
            await close_model(scorer)
    return found


def _show(checks: list[TaskCheck], *, every: bool) -> None:
    from assay.reports.markdown import table
    from assay.tasks.check import CANNOT_RUN, SHOWN, worst_first

    rows = [
        [
            check.task,
            str(check.samples),
            str(check.gold_checked),
            str(sum(finding.error for finding in check.findings)),
            str(sum(not finding.error for finding in check.findings)),
        ]
        for check in checks
    ]
    print(table(["task", "samples", "gold tried", "errors", "remarks"], rows, numeric_from=1))
    for check in checks:
        findings = worst_first(check.findings)
        if check.gold_checked < check.samples and not any(each.problem == CANNOT_RUN for each in findings):
            without = f"{check.samples - check.gold_checked:,} of {check.samples:,} samples have"
            print(f"{check.task}: {without} no gold answer to try; the empty one was tried", file=sys.stderr)
        for finding in findings if every else findings[:SHOWN]:
            print(f"{finding.task}/{finding.sample}: {finding.problem}: {finding.detail}", file=sys.stderr)
        if not every and len(findings) > SHOWN:
            print(f"{check.task}: … and {len(findings) - SHOWN} more (--all shows them)", file=sys.stderr)
