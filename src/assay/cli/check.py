"""`assay check`: a task set proved without a model."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from assay.cli.output import add_form_arguments, show
from assay.cli.run_flags import add_allow_outside, add_task_parameters, add_trust, task_parameters
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.core.task import Task
    from assay.core.types import Request, TaskDefinition
    from assay.tasks.check import TaskCheck
    from assay.tasks.rehearse import Heard

LONGEST_TEXT = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Every gold answer is scored and must get full marks; the empty answer must get none. A YAML task is gone\n"
        "through as a run would: every template is rendered on real rows, every snippet, scorer, rule and metric is\n"
        "tried, judges give one verdict of each kind, and the first sample is shown. Duplicates, contradictions and\n"
        "near-empty prompts are pointed out. Exit code 2 when anything is wrong, 3 when a task cannot be run on this\n"
        "machine. In a folder, tasks that need --config or --dataset are checked as far as that goes without."
    )
    parser.add_argument("tasks", nargs="+", metavar="TASKS", help="task files, folders or built-in names")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N samples of each task")
    parser.add_argument("--all", action="store_true", help="every finding and the whole request, nothing cut short")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_form_arguments(parser)
    add_task_parameters(parser)
    add_allow_outside(parser)
    add_trust(parser)


def run(options: argparse.Namespace) -> int:
    import asyncio

    import msgspec

    from assay.runs.exit_status import BAD_INPUT, DONE, WITH_FAILURES
    from assay.tasks.check import CANNOT_RUN

    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {options.limit}")
    checks = asyncio.run(_check_all(options))
    if options.json:
        print(msgspec.json.encode(checks).decode())
    else:
        _show(checks, options)
    findings = [finding for check in checks for finding in check.findings]
    if any(finding.error for finding in findings):
        return BAD_INPUT
    return WITH_FAILURES if any(finding.problem == CANNOT_RUN for finding in findings) else DONE


async def _check_all(options: argparse.Namespace) -> list[TaskCheck]:
    from assay.core.config import RunConfig
    from assay.runs.assemble import assemble_tasks
    from assay.runs.metric_trial import try_metrics
    from assay.runs.plan import warnings_of
    from assay.scorers.watch import Watch
    from assay.tasks.check import check_built, check_files
    from assay.tasks.load import read_sources
    from assay.tasks.rehearse import Script

    parameters = task_parameters(options)
    loaded, refused = read_sources(options.tasks, trust=options.trust, models_needed=False, **parameters)
    for warning in warnings_of([task.definition for task in loaded], parameters["config"]):
        print(f"warning: {warning}", file=sys.stderr)
    script = Script()
    config = RunConfig(limit=options.limit, trust=options.trust)
    async with assemble_tasks([], config, model_for=script.model_for) as parts:

        async def build(definition: TaskDefinition) -> Task:
            built = parts.build_task(definition)
            await try_metrics([definition], config)
            return built

        with Watch(None):
            checks = [await check_built(task, build, script) for task in loaded]
    return [*check_files(options.tasks, refused), *checks]


def _show(checks: list[TaskCheck], options: argparse.Namespace) -> None:
    from assay.reports.document import Cell, Span, TextTable
    from assay.tasks.check import CANNOT_RUN, SHOWN, most_severe_first

    every: bool = options.all
    rows: list[list[Cell]] = []
    for check in checks:
        errors = sum(finding.error for finding in check.findings)
        counts = (check.samples, check.gold_checked, errors, len(check.findings) - errors)
        rows.append([check.task, *map(str, counts)])
        rows[-1][3] = Span(str(errors), "bad" if errors else "good")
    show(TextTable(header=["task", "samples", "gold tried", "errors", "remarks"], rows=rows, numeric_from=1), options)
    for check in checks:
        if check.heard is not None:
            print(_heard(check.task, check.heard, every=every))
    for check in checks:
        findings = most_severe_first(check.findings)
        if check.tried < check.samples and check.tried:
            print(
                f"{check.task}: {check.tried:,} of {check.samples:,} samples were gone through, from the first to the "
                "last; --limit N takes the first N, all of them",
                file=sys.stderr,
            )
        if not any(each.problem == CANNOT_RUN for each in findings):
            for line in _without_gold(check):
                print(line, file=sys.stderr)
        for finding in findings if every else findings[:SHOWN]:
            print(finding, file=sys.stderr)
        if not every and len(findings) > SHOWN:
            print(f"{check.task}: … and {len(findings) - SHOWN} more (--all shows them)", file=sys.stderr)


def _without_gold(check: TaskCheck) -> list[str]:
    """Which scorers were tried on no answer that is known to be right."""
    if check.heard is not None:
        return [
            f"{check.task}: no gold answer can be made for the scorer `{key}` "
            f"({samples:,} of {check.tried:,} samples); the empty one was tried"
            for key, samples in check.without_gold.items()
        ]
    without = check.tried - check.gold_checked
    if not without:
        return []
    return [f"{check.task}: {without:,} of {check.tried:,} samples have no gold answer to try; the empty one was tried"]


def _heard(task: str, heard: Heard, *, every: bool) -> str:
    """The first sample as it is asked, what was answered for the model, and the scores of that."""
    from assay.wording import shortened

    def cut(text: str) -> str:
        return text if every else shortened(text, LONGEST_TEXT)

    lines = [f"\n{task}, sample `{heard.sample}`"]
    if heard.requests:
        lines += ["  asked:", *_indented(cut(_asked(heard.requests[-1])))]
        lines += ["  answered for the model:", *_indented(cut(heard.answer))]
    for key, requests in heard.judged.items():
        if requests:
            lines += [f"  judge `{key}` asked:", *_indented(cut(_asked(requests[-1])))]
    for score in heard.scores:
        values = ", ".join(f"{name} {value}" for name, value in score.values.items())
        lines.append(f"  {score.name}: {cut(values)}")
    return "\n".join(lines)


def _asked(request: Request) -> str:
    said = [f"{message.role}: {message.content}" for message in request.messages or ()]
    return "\n".join(said) or f"{request.prompt or ''}{request.continuation or ''}"


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()] or ["    (nothing)"]
