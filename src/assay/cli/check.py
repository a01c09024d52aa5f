"""`assay check`: a task set proved without a model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from assay.cli.flags import option, repeated, switch
from assay.cli.output import add_form_arguments, is_one_screen, print_json, show, show_summary
from assay.cli.project import named_or_whole_project
from assay.cli.run_flags import add_task_parameters, task_parameters
from assay.cli.setting_flags import add_settings, flag_of_run
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.runs.exit_status import BAD_INPUT, DONE, WITH_FAILURES
from assay.tasks.task_settings import TaskSettings
from assay.text.wording import count_of, few, shortened

if TYPE_CHECKING:
    from assay.checking.findings import Finding, SampleRehearsal, TaskCheck
    from assay.core.types import Request, TaskDefinition
    from assay.formats.task_source import LoadedTask
    from assay.pages.document import TextTable
    from assay.results.gates.expression import DropGate
    from assay.run_config import RunConfig
    from assay.task_records import Declared

LONGEST_TEXT = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  assay check tasks/                   every task of a folder\n"
        "  assay check tasks/quiz.yaml --all    everything that was noticed, and the whole first request\n"
        "  assay check lm-eval:piqa --limit 20  the first samples of an installed lm-evaluation-harness task\n\n"
        "Every gold answer is scored and must get full marks; the empty answer must get none. Tests of code are\n"
        "tried on made-up programs: they must be able to run and must not pass for all of them. A YAML task is\n"
        "rehearsed like a run: every template is rendered on real rows, every snippet, scorer, rule and metric is\n"
        "tried, judges give one verdict of each kind; of one task, or with --all, the first request is shown.\n"
        "Duplicates, contradictions and near-empty prompts are pointed out. In a folder, tasks that need --config or\n"
        "--dataset-key are checked as far as possible without. Exit code 2 when anything is wrong, 3 when a task\n"
        "cannot be run on this machine."
    )
    parser.add_argument(
        "tasks",
        nargs="*",
        metavar="TASKS",
        help="task files, folders or built-in names (default: all tasks of the project)",
    )
    add_settings(parser, RunSettings, "limit")
    repeated(
        parser, "--gate GATE", 'whether the samples can meet a gate on a margin: "no-drop-beyond 0.02" (repeatable)'
    )
    switch(parser, "--prove", "what became of everything that a YAML task declares: metrics, models, parameters, files")
    switch(parser, "--all", "every finding and the whole request, nothing cut short")
    option(parser, "--timeout SECONDS", "time limit for one call of a snippet (60)", float)
    add_form_arguments(parser, json="as JSON", is_summary=True)
    add_task_parameters(parser)
    add_settings(parser, TaskSettings, "allow_outside")
    add_settings(parser, RunSettings, "trust")


def run(options: argparse.Namespace) -> int:
    import asyncio

    options.tasks = named_or_whole_project(options.tasks)
    from assay.checking.task_check import CANNOT_RUN

    gates = _gates_on_margins(options.gate)
    checks = [_with_margins(check, gates) for check in asyncio.run(_check_all(options))]
    if options.json:
        print_json(checks)
    elif len(checks) > 1 and not (options.all or options.prove) and is_one_screen(options):
        from assay.pages.documents.check_screen import check_screen

        show_summary(check_screen(checks), options)
    else:
        _show(checks, options)
    findings = [finding for check in checks for finding in check.findings]
    if any(finding.error for finding in findings):
        return BAD_INPUT
    return WITH_FAILURES if any(finding.problem == CANNOT_RUN for finding in findings) else DONE


def _gates_on_margins(texts: Sequence[str]) -> list[DropGate]:
    from assay.results.gates.expression import NO_DROP_BEYOND, DropGate, parse_gates

    gates = [gate for gate in parse_gates(texts) if isinstance(gate, DropGate) and gate.margin is not None]
    if len(gates) < len(texts):
        raise UsageError(f"--gate: before a run only a margin can be checked, such as `{NO_DROP_BEYOND} 0.02`")
    return gates


def _with_margins(check: TaskCheck, gates: Sequence[DropGate]) -> TaskCheck:
    """With a remark on each gate whose margin the task's samples cannot reach."""
    import msgspec

    from assay.checking.findings import Finding
    from assay.results.report_settings import View
    from assay.stats.margins import out_of_reach, smallest_margin

    units = check.samples if check.groups is None else check.groups
    reachable = smallest_margin(units, View().level, check.largest_loss)
    samples = count_of(units, "sample" if check.groups is None else "group")
    remarks = [
        Finding(task=check.task, problem="margin_out_of_reach", detail=f"gate `{gate.text}`: {why}", error=False)
        for gate in gates
        if check.samples and gate.looks_at(check.task)
        if (why := out_of_reach(gate.margin or 0.0, reachable, samples)) is not None
    ]
    return msgspec.structs.replace(check, findings=[*check.findings, *remarks])


async def _check_all(options: argparse.Namespace) -> list[TaskCheck]:
    from assay.checking.findings import Finding, TaskCheck
    from assay.checking.reference_model import Script
    from assay.checking.task_check import Means, check_built, check_files, check_rest
    from assay.run_config import RunConfig
    from assay.runs.assemble import assemble_tasks
    from assay.runs.metric_trial import MetricError, try_metrics
    from assay.runs.plan import check_settings, warnings_of
    from assay.tasks.load import read_sources

    config = RunConfig(limit=options.limit, trust=bool(options.trust), timeout_seconds=options.timeout)
    check_settings(config, flag_of_run)
    parameters = task_parameters(options)
    reading = {"trust": config.trust, "models_needed": False, **parameters}
    loaded, refused = read_sources(options.tasks, **reading)
    for warning in warnings_of([task.definition for task in loaded], parameters["config"]):
        print(f"warning: {warning}", file=sys.stderr)
    script = Script()
    async with assemble_tasks([], config, model_for=script.model_for) as parts:

        async def tried(definition: TaskDefinition) -> Finding | None:
            try:
                await try_metrics([definition], config)
            except MetricError as error:
                name, detail = definition.name, error.problem
                return Finding(task=name, problem="metric_failed", field=error.field, detail=detail)
            return None

        means = Means(config, parts.build_task, script, tried, partial(policy_findings, config=config))
        checks = [await check_built(task, means) for task in loaded]
        rests = [(file, await check_rest(file, reading, means)) for file in refused]
    policies = means.try_policies(loaded)
    checks += [
        TaskCheck(task=file, findings=[policy for policy in policies if policy.task == file])
        for file in dict.fromkeys(policy.task for policy in policies)
    ]
    unread = [file for file, rest in rests if not rest]
    all_checks = [*(check for _, rest in rests for check in rest), *checks]
    return [*check_files(options.tasks, unread, known=all_checks), *all_checks]


def policy_findings(loaded: Sequence[LoadedTask], config: RunConfig) -> list[Finding]:
    """The rules of run files that no task of theirs can meet."""
    from assay.checking.findings import Finding
    from assay.runs.gates import Gates, PolicyError
    from assay.runs.plan import plan_runs

    findings: dict[Finding, None] = {}
    for places in {id(task.places.document): task.places for task in loaded if task.places is not None}.values():
        own = [task.definition for task in loaded if task.places and task.places.document is places.document]
        for run in plan_runs(own, config) if any(item.plan.policies for item in own) else ():
            try:
                Gates([], run.definitions, run.config)
            except PolicyError as error:
                for rule, problem in error.problems.items():
                    position, field = places.of_policy_rule(rule)
                    about = Finding(
                        task=str(places.document.path),
                        problem="bad_policy",
                        detail=problem,
                        place=str(position),
                        field=field,
                    )
                    findings[about] = None
    return list(findings)


def _show(checks: list[TaskCheck], options: argparse.Namespace) -> None:
    from assay.checking.findings import most_severe_first, some_of_each
    from assay.checking.task_check import CANNOT_RUN
    from assay.pages.document import Cell, Span, TextTable
    from assay.pages.documents.check_screen import verdict

    every: bool = options.all
    rows: list[list[Cell]] = []
    for check in checks:
        errors = sum(finding.error for finding in check.findings)
        counts = (check.samples, check.gold_checked, errors, len(check.findings) - errors)
        rows.append([check.task, *map(str, counts)])
        rows[-1][3] = Span(str(errors), "bad" if errors else "good")
    if len(checks) > 1:
        print(f"{verdict(checks)}\n")
    show(TextTable(header=["task", "samples", "gold tried", "errors", "remarks"], rows=rows, numeric_from=1), options)
    for check in checks if options.prove else ():
        print()
        show(declared_table(check.declared), options)
    for check in checks if every or len(checks) == 1 else ():  # one of fifty prompts is read by name
        if check.first_sample is not None:
            print(_first_sample(check.task, check.first_sample, every=every))
    could_run = [check for check in checks if not any(each.problem == CANNOT_RUN for each in check.findings)]
    for line in _without_gold(could_run, every=every):
        print(line, file=sys.stderr)
    printed: set[str] = set()
    for check in checks:
        every_finding = [
            item for item in most_severe_first(check.findings) if not item.place or str(item) not in printed
        ]
        findings = every_finding if every else some_of_each(every_finding)
        printed.update(map(str, findings))
        if check.tried < check.samples and check.tried:
            print(
                f"{check.task}: {check.tried:,} of {check.samples:,} samples were checked, spread evenly "
                "over the task; --limit N checks the first N instead",
                file=sys.stderr,
            )
        for finding in findings:
            print(finding, file=sys.stderr)
        if len(findings) < len(every_finding):
            more = len(every_finding) - len(findings)
            print(f"{check.task}: … and {more:,} more like these (--all shows them)", file=sys.stderr)


def declared_table(declared: Sequence[Declared]) -> TextTable:
    """Everything that a task declares, with what it became."""
    from assay.pages.document import TextTable

    rows = [[each.kind, each.name, each.became, each.place] for each in declared]
    return TextTable(header=["declared", "name", "became", "where"], rows=rows, numeric_from=9, prose=("became",))


def _without_gold(checks: Sequence[TaskCheck], *, every: bool) -> list[str]:
    """Which scorers were tried on no answer that is known to be right; what is alike in several tasks is said once,
    with one of them as the example.
    """
    groups: dict[str, list[tuple[TaskCheck, str]]] = {}
    for check in checks:
        for kind, sentence in _scorers_without_gold(check):
            groups.setdefault(f"{check.task}: {sentence}" if every else kind, []).append((check, sentence))
    lines = []
    for group in groups.values():
        check, sentence = group[0]
        lines.append(f"{check.task}: {sentence}")
        if others := [other.task for other, _ in group[1:]]:
            lines[-1] += f"; also for {few(others, 2)}"
    return lines


def _scorers_without_gold(check: TaskCheck) -> list[tuple[str, str]]:
    """What is alike in tasks, and the sentence."""
    if check.first_sample is not None:
        return [
            (
                key,
                f"no gold answer can be made for the scorer `{key}` ({samples:,} of {check.tried:,} samples); "
                + (f"{check.tried_instead[key]}; " if key in check.tried_instead else "")
                + "the empty one was tried",
            )
            for key, samples in check.without_gold.items()
        ]
    without = check.tried - check.gold_checked
    if not without or any(finding.problem == "no_request" for finding in check.findings):
        return []
    sentence = f"{without:,} of {check.tried:,} samples have no gold answer to try; the empty one was tried"
    return [("", sentence)]


def _first_sample(task: str, sample: SampleRehearsal, *, every: bool) -> str:
    """The request for the first sample, the answer given in place of the model's, and its scores."""

    def cut(text: str) -> str:
        return text if every else shortened(text, LONGEST_TEXT)

    lines = [f"\n{task}, sample `{sample.sample}`"]
    if sample.requests:
        lines += ["  request:", *_indented(cut(_request_text(sample.requests[-1])))]
        lines += ["  answered for the model:", *_indented(cut(sample.answer))]
    for key, requests in sample.judged.items():
        if requests:
            lines += [f"  request of the judge `{key}`:", *_indented(cut(_request_text(requests[-1])))]
    for score in sample.scores:
        values = ", ".join(f"{name} {value}" for name, value in score.values.items())
        lines.append(f"  {score.name}: {cut(values)}")
    return "\n".join(lines)


def _request_text(request: Request) -> str:
    lines = [f"{message.role}: {message.content}" for message in request.messages or ()]
    return "\n".join(lines) or f"{request.prompt or ''}{request.continuation or ''}"


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()] or ["    (nothing)"]
