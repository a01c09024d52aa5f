"""Proves a task set without a model: gold answers must score full marks, empty ones must not, oddities are named.

The tasks of YAML files are rehearsed as in a run, with a script in place of every model (`rehearse.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.checking.findings import Finding, TaskCheck
from assay.checking.reference_model import Script
from assay.checking.rehearse import rehearse
from assay.checking.rehearse_tests import BadTest, rehearse_tests
from assay.core.attempt import score_trace
from assay.core.describe import ScorerInfo
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Rehearsable
from assay.core.task import Task
from assay.core.types import Failure, Sample, Score, TaskDefinition, Trace
from assay.datasets.content import awaited
from assay.formats.declarative.config_spec import NoValueError
from assay.formats.declarative.library import absent_models
from assay.formats.declarative.places import Places
from assay.formats.declarative.yaml_reader import PLACED_SENTENCE, PlacedError, read_yaml
from assay.formats.task_source import LoadedTask
from assay.run_config import RunConfig
from assay.scorers.judging.rehearsed import KnowsGold
from assay.tasks.built_tasks import Unavailable, start_scorers
from assay.tasks.descriptions import largest_loss_of
from assay.tasks.load import RefusedFile
from assay.text.wording import shortened

SHORTEST_PROMPT = 3
_OF_WHOLE_PARTS = {
    "same_prompt",
    *("gold_not_full_marks", "empty_answer_scores", "verdict_misread", "metric_reads_nothing", "answer_not_shown"),
}
"""Problems that a part may have only because something was removed from it."""
CANNOT_RUN = "cannot_run_here"
"""The problem of a task that could not be tried at all."""


NEEDS_VALUES = "needs_values"
"""The problem of a task in a folder that needs `--config` or `--dataset-key` before it can be rehearsed."""


class Means(NamedTuple):
    """What a check needs from the code that runs tasks."""

    config: RunConfig
    build: Callable[[TaskDefinition], Task]
    script: Script
    try_metrics: Callable[[TaskDefinition], Awaitable[Finding | None]]
    """What is wrong with a Python metric whatever the scores will be."""
    try_policies: Callable[[Sequence[LoadedTask]], list[Finding]]
    """The rules of run files that no task of theirs can meet."""


async def check_built(loaded: LoadedTask, means: Means) -> TaskCheck:
    """Build a task and check it; what cannot be built is a finding like any other."""
    definition = loaded.definition
    if (other := awaited(definition.dataset)) is not None:
        remark = f"its samples are the results of `{other}`, which have to be made first; nothing was tried"
        return TaskCheck(
            task=definition.name, findings=[_of_file(definition.name, remark, problem="awaited", error=False)]
        )
    try:
        task = means.build(definition)
        checked = await check_task(task, script=means.script, places=loaded.places, config=means.config)
    except UsageError as error:
        return TaskCheck(task=definition.name, findings=_faults_of(definition.name, error))
    if not definition.aggregates and loaded.places is not None:
        message = "no scorer has metrics, so the task has no score"
        none = Finding(task=task.name, problem="no_score", field="definition.scorers", detail=message, error=False)
        checked = msgspec.structs.replace(checked, findings=[*checked.findings, _located(task, none, loaded.places)])
    if (unlocated := await means.try_metrics(definition)) is not None:
        finding = _located(task, unlocated, loaded.places)
        others = [each for each in checked.findings if (each.problem, each.field) != (finding.problem, finding.field)]
        checked = msgspec.structs.replace(checked, findings=[finding, *others])
    remarks = [
        _of_file(definition.name, sentence, problem="no_model")
        for sentence in absent_models(definition.plan.missing_models)
    ]
    variant = definition.plan.variant
    name = f"{definition.name} ({variant.label})" if variant else checked.task
    declared = definition.provenance.declared
    remarks += [
        Finding(
            task=definition.name,
            problem="unused_parameter",
            detail=f"nothing of the task reads the parameter `{each.name}`",
            error=False,
            place=each.place,
            field="config_spec",
        )
        for each in declared
        if each.unused
    ]
    return msgspec.structs.replace(checked, task=name, findings=[*checked.findings, *remarks], declared=declared)


async def check_rest(file: RefusedFile, reading: Mapping[str, Any], means: Means) -> list[TaskCheck]:
    """A refused YAML file checked without its faults, which are reported together with those they were hiding.

    `reading` is how it was read. Nothing where nothing of it is left to check.
    """
    from assay.formats.declarative.load import YAML, read_located_tasks, reading_options
    from assay.formats.declarative.mending import Mending, read_with_all_faults
    from assay.tasks.load import context_of

    needs = file.error if file.in_folder and isinstance(file.error, NoValueError) else None
    mendable = isinstance(file.error, PlacedError) and not _is_unwritten(file.error)
    if (needs is None and not mendable) or file.source not in YAML:
        return []
    mending = Mending()
    if needs is not None:
        mending.leave_out(read_yaml(file.path, environ=None, collect_faults=True), needs.parameters)
    options = reading_options(replace(context_of(reading), in_folder=file.in_folder), mending)
    tasks = read_with_all_faults(lambda: read_located_tasks(file.path, options), mending)
    known = [_of_file(str(file.path), line) for line in mending.sentences]
    if needs is not None and not tasks:
        return []  # nothing can be rehearsed without the values
    if not tasks:
        return [TaskCheck(task=str(file.path), findings=known)]
    checks = [await check_built(task, means) for task in tasks]
    known += means.try_policies(tasks) if mending.keeps_numbers() else []
    checks = [_without_consequences(check, mending.parts()) for check in checks]
    if needs is not None:
        remark = _of_file(str(file.path), str(needs), problem=NEEDS_VALUES, error=False)
        return [_without_values(check, [*known, remark]) for check in checks]
    if len(checks) > 1:
        return [TaskCheck(task=str(file.path), findings=known), *checks]
    return [msgspec.structs.replace(checks[0], findings=[*known, *checks[0].findings])]


def _without_consequences(check: TaskCheck, cut: Collection[str]) -> TaskCheck:
    """Leaves out findings that are only true because parts were removed."""
    about_answers = any(part.endswith(".solver") for part in cut)
    kept = [
        finding
        for finding in check.findings
        if finding.problem not in _OF_WHOLE_PARTS
        or not (about_answers or any(finding.field == part or finding.field.startswith(f"{part}.") for part in cut))
    ]
    return msgspec.structs.replace(check, findings=kept, without_gold={})


def _without_values(check: TaskCheck, known: list[Finding]) -> TaskCheck:
    """Checks the templates that need no value on the rows; without the others no answer and no score can be shown."""
    findings = [finding for finding in check.findings if finding.problem not in _OF_WHOLE_PARTS]
    return msgspec.structs.replace(check, findings=[*known, *findings], gold_checked=0, tried=0, first_sample=None)


def check_files(
    sources: Sequence[str], refused: Sequence[RefusedFile], *, known: Sequence[TaskCheck] = ()
) -> list[TaskCheck]:
    """What is wrong with files of which no task could be made, and with the models and datasets of folders.

    What is already `known` from tasks that name those is not repeated.
    """
    from assay.formats.declarative.load import files_named_by_key

    checks = []
    for path, error, in_folder, _ in refused:
        needs = [_of_file(str(path), str(error), problem=NEEDS_VALUES, error=False)]
        if _is_unwritten(error):
            findings = needs
        elif in_folder and isinstance(error, NoValueError):
            findings = _file_findings(path) or needs
        else:
            findings = _faults_of(str(path), error)
        checks.append(TaskCheck(task=str(path), findings=findings))
    for folder in [Path(source) for source in sources if Path(source).is_dir()]:
        for path in files_named_by_key(folder):
            reported = {str(finding) for check in [*checks, *known] for finding in check.findings}
            if findings := [finding for finding in _file_findings(path) if str(finding) not in reported]:
                checks.append(TaskCheck(task=str(path), findings=findings))
    return checks


def _is_unwritten(error: UsageError) -> bool:
    """Whether the only finding is that a model has not written the rows yet."""
    from assay.formats.declarative.library import NotGeneratedError

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, NotGeneratedError):
        cause = cause.__cause__
    return cause is not None and "\n" not in str(error)


def _file_findings(path: Path) -> list[Finding]:
    """What can be checked in a YAML file without rows."""
    from assay.formats.declarative.load import check_yaml_file

    try:
        check_yaml_file(path)
    except UsageError as error:
        return _faults_of(str(path), error)
    return []


def _faults_of(task: str, error: UsageError) -> list[Finding]:
    return [_of_file(task, line) for line in str(error).splitlines()]


def _of_file(task: str, line: str, *, problem: str = "bad_file", error: bool = True) -> Finding:
    """A message about a file, which begins with its location if it has one."""
    placed = PLACED_SENTENCE.match(line)
    if placed is None:
        return Finding(task=task, problem=problem, detail=line, error=error)
    place, field, detail = placed[1], placed[2] or "", placed[3]
    return Finding(task=task, problem=problem, detail=detail, error=error, place=place, field=field)


async def check_task(
    task: Task,
    *,
    script: Script | None = None,
    places: Places | None = None,
    config: RunConfig = RunConfig(),  # noqa: B008 -- frozen
) -> TaskCheck:
    """Try the tests, the gold and the empty answer of every sample, and look at every prompt.

    `script` stands for the task's other models, `places` are the locations of its fields; both are for YAML tasks.
    `config` is the one that the task was built for.
    """
    failure = _cannot_score(task)
    if failure is not None:
        detail = f"{failure.message} (so its tests and answers were not tried)"
        finding = Finding(task=task.name, problem=CANNOT_RUN, detail=detail, error=False)
        return TaskCheck(task=task.name, samples=task.definition.dataset.size, findings=[finding])
    bad_tests = await rehearse_tests(task, config)
    findings = [_of_test(task, bad, places) for bad in bad_tests]
    refused = {(bad.sample, bad.scorer) for bad in bad_tests if bad.found.refused}
    unscorable = {bad.sample for bad in bad_tests if bad.found.refused and bad.alone}
    seen: dict[bytes, tuple[str, tuple[str, ...]]] = {}
    samples = gold_checked = 0
    groups: set[str] = set()
    rehearsed = task.definition.provenance.over_rows and not isinstance(task.solver, Rehearsable)
    for sample in task.dataset:
        await asyncio.sleep(0)  # a request to stop takes effect here: scoring itself seldom waits for anything
        samples += 1
        groups.add(str(sample.metadata.get("group", f"sample {sample.id}")))
        findings.extend(_look_at(task, sample, seen))
        if rehearsed or sample.id in unscorable:
            continue
        gold = gold_answer(task, sample)
        if isinstance(task.solver, Rehearsable):
            gold_checked += 1
            findings.extend(
                _located(task, problem, places) for problem in await _try_choices(task, task.solver, sample)
            )
            continue
        if gold is not None:
            gold_checked += 1
            findings.extend(await _try_gold(task, sample, gold))
        findings.extend(await _try_empty(task, sample))
    units = len(groups) if len(groups) < samples else None
    if not rehearsed:
        return TaskCheck(
            task=task.name,
            samples=samples,
            groups=units,
            largest_loss=largest_loss_of(task.definition),
            gold_checked=gold_checked,
            findings=findings,
            tried=samples,
        )
    rehearsal = await rehearse(task, script or Script(), refused)
    located = [_located(task, each, places) for each in rehearsal.findings]
    return msgspec.structs.replace(
        rehearsal,
        samples=samples,
        groups=units,
        largest_loss=largest_loss_of(task.definition),
        findings=[*located, *findings],
    )


def _of_test(task: Task, bad: BadTest, places: Places | None) -> Finding:
    found = bad.found
    finding = Finding(
        task=task.name,
        sample=bad.sample,
        problem=found.problem,
        detail=f"the test: {found.detail}",
        error=found.refused,
        field=f"scorers.{bad.scorer}",
    )
    return _located(task, finding, places)


def _located(task: Task, finding: Finding, places: Places | None) -> Finding:
    if places is None or not finding.field:
        return finding
    position, field = places.of(task.definition, finding.field, finding.detail)
    return msgspec.structs.replace(finding, place=str(position), field=field)


def _cannot_score(task: Task) -> Failure | None:
    """Why this machine cannot run one of the scorers: nothing is proved about the task then."""
    scorers = start_scorers(task)[0].scorers.values()
    return next((scorer.failure for scorer in scorers if isinstance(scorer, Unavailable)), None)


def gold_answer(task: Task, sample: Sample) -> str | None:
    """An answer that must score full marks; None when the sample names none."""
    solution = sample.extras.get("solution")
    if isinstance(solution, str):
        return solution
    uses = {part.use for part in task.definition.scorers}
    if uses == {"assertions"}:
        [scorer, *others] = task.scorers.values()
        gold = scorer.gold(sample) if isinstance(scorer, KnowsGold) and not others else None
        return gold.text if gold is not None else None
    if uses != {"metric"}:
        return None
    return sample.targets[0] if sample.targets else None


async def _try_gold(task: Task, sample: Sample, gold: str) -> list[Finding]:
    scores, failures, *_ = await score_trace(task, sample, Trace(prediction=gold, prompt=sample.prompt))
    if failures:
        return [_finding(task, sample, "gold_failed", f"{failures[0].kind}: {failures[0].message}")]
    findings = []
    for score in scores:
        if not _full(score):
            reason = f": {score.reason}" if score.reason else ""
            detail = f"{score.name} gives the gold answer {shortened(gold)!r} {_value(score)}{reason}"
            findings.append(_finding(task, sample, "gold_not_full_marks", detail))
    return findings


async def _try_choices(task: Task, solver: Rehearsable, sample: Sample) -> list[Finding]:
    """Multiple choice by likelihood has no answer to try: the right choice being the likeliest is full marks."""

    def fault(problem: str, message: str) -> list[Finding]:
        field = f"scorers.{task.definition.scorers[0].key}" if task.definition.scorers else "definition"
        return [_finding(task, sample, problem, message, field=field)]

    full = 0
    try:
        traces = solver.traces_without_a_model(sample)
    except FailureError as error:
        return fault("gold_failed", f"{error.failure.kind}: {error.failure.message}")
    for trace in traces:
        scores, failures, *_ = await score_trace(task, sample, trace)
        if failures:
            return fault("gold_failed", f"{failures[0].kind}: {failures[0].message}")
        full += any(_full(score) for score in scores)
    if 0 < full < len(traces):
        return []
    how = "every choice" if full else "no choice"
    return fault("gold_not_full_marks", f"{how} of {len(traces)} is right when it is the likeliest")


async def _try_empty(task: Task, sample: Sample) -> list[Finding]:
    if any(isinstance(part.about, ScorerInfo) and part.about.empty_may_score for part in task.definition.scorers):
        return []
    scores, *_ = await score_trace(task, sample, Trace(prediction="", prompt=sample.prompt))
    return [
        _finding(task, sample, "empty_answer_scores", f"{score.name} gives the empty answer {_value(score)}")
        for score in scores
        if isinstance(value := score.values.get("score"), int | float) and value > 0
    ]


def _look_at(task: Task, sample: Sample, seen: dict[bytes, tuple[str, tuple[str, ...]]]) -> list[Finding]:
    findings = []
    messages = sample.extras.get("messages")
    if len(sample.prompt.strip()) < SHORTEST_PROMPT and sample.row is None and not messages:
        detail = f"the prompt is {shortened(sample.prompt)!r}"
        findings.append(_finding(task, sample, "near_empty_prompt", detail, error=False))
    # the prompt of a sample with messages of its own is not sent
    question = repr(messages or sample.prompt) if sample.row is None else repr(sorted(sample.row.items(), key=str))
    digest = blake2b(question.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    earlier, targets = seen.setdefault(digest, (sample.id, sample.targets))
    if earlier != sample.id and targets == sample.targets:
        findings.append(_finding(task, sample, "duplicate", f"asks the same as {earlier}", error=False))
    elif earlier != sample.id:
        detail = f"asks the same as {earlier} but wants another answer"
        findings.append(_finding(task, sample, "contradiction", detail, error=False))
    return findings


def _finding(task: Task, sample: Sample, problem: str, detail: str, *, error: bool = True, field: str = "") -> Finding:
    return Finding(task=task.name, sample=sample.id, problem=problem, detail=detail, error=error, field=field)


def _full(score: Score) -> bool:
    return score.values.get("score") in (1, 1.0)


def _value(score: Score) -> str:
    return str(score.values.get("score"))
