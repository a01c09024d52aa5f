"""Proves a task set without a model: gold answers must score full marks, empty ones must not, oddities are named.

The tasks of YAML files are gone through as a run would, with a script in the place of every model (`rehearse.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.attempt import score_trace
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Rehearsable
from assay.core.task import Task
from assay.core.types import Failure, Sample, Score, TaskDefinition, Trace
from assay.scorers.rehearsed import KnowsGold
from assay.tasks.build import start_scorers
from assay.tasks.declarative.places import Places
from assay.tasks.declarative.yaml_reader import PLACED_SENTENCE
from assay.tasks.load import LoadedTask, RefusedFile
from assay.tasks.rehearse import Fault, Heard, Script, rehearse
from assay.wording import shortened

SHORTEST_PROMPT = 3
REWARDS_SILENCE = {"forbidden_patterns"}
"""Metrics that look for what must not be said: an empty answer rightly scores."""
SHOWN = 20
CANNOT_RUN = "cannot_run_here"
"""The problem of a task of which nothing could be tried."""


class Finding(Struct, frozen=True, kw_only=True):
    """Something about one sample, or about a whole task."""

    task: str
    sample: str
    problem: str
    """One word: `gold_not_full_marks`, `empty_answer_scores`, `duplicate`, …"""
    detail: str
    error: bool
    """False for what only deserves a look."""
    place: str = ""
    """File, line and column of the field that is to blame."""
    field: str = ""
    samples: int = 1
    """How many samples it is true of; `sample` is the first."""

    def __str__(self) -> str:
        about = f"sample `{self.sample}`: " if self.sample else ""
        more = f" (and {self.samples - 1:,} more samples)" if self.samples > 1 else ""
        if self.place:
            return f"{self.place}: {f'{self.field}: ' if self.field else ''}{about}{self.detail}{more}"
        return f"{self.task}{f'/{self.sample}' if self.sample else ''}: {self.problem}: {self.detail}{more}"


class TaskCheck(Struct, frozen=True, kw_only=True):
    """What was proved about one task."""

    task: str
    samples: int
    gold_checked: int
    """Samples whose gold answer could be tried; code tasks have none unless `extras.solution` gives one."""
    findings: list[Finding]
    without_gold: dict[str, int] = {}
    """Scorers for which no gold answer can be made, and of how many samples."""
    tried: int = 0
    """Samples that were gone through: all of them, or a stated number of a large dataset's."""
    heard: Heard | None = None
    """The first sample, gone through."""


NEEDS_VALUES = "needs_values"
"""The problem of a task in a folder that wants `--config` or `--dataset` before it can be gone through."""


async def check_built(
    loaded: LoadedTask, build: Callable[[TaskDefinition], Awaitable[Task]], script: Script
) -> TaskCheck:
    """Build a task and check it; what cannot be built is a finding like any other."""
    definition = loaded.definition
    try:
        checked = await check_task(await build(definition), script=script, places=loaded.places)
    except UsageError as error:
        found = _faults_of(definition.name, error)
        return TaskCheck(task=definition.name, samples=0, gold_checked=0, findings=found)
    missing = definition.metadata.get("missing_models", ())
    remarks = [
        _of_file(
            definition.name,
            f"no model stands behind the key `{key}`: a run needs --model-for '{key}=MODEL', or a file in models/",
            problem="no_model",
            error=False,
        )
        for key in missing
    ]
    return msgspec.structs.replace(checked, findings=[*checked.findings, *remarks])


def check_files(sources: Sequence[str], refused: Sequence[RefusedFile]) -> list[TaskCheck]:
    """What is wrong with files of which no task could be made, and with the models and datasets of folders."""
    from assay.tasks.declarative.config_spec import NoValueError
    from assay.tasks.declarative.load import files_named_by_key

    checks = []
    for path, error, in_folder in refused:
        found = _faults_of(str(path), error)
        if in_folder and isinstance(error, NoValueError):
            needs = _of_file(str(path), str(error), problem=NEEDS_VALUES, error=False)
            found = _file_findings(path) or [needs]
        checks.append(TaskCheck(task=str(path), samples=0, gold_checked=0, findings=found))
    for folder in [Path(source) for source in sources if Path(source).is_dir()]:
        for path in files_named_by_key(folder):
            if found := _file_findings(path):
                checks.append(TaskCheck(task=str(path), samples=0, gold_checked=0, findings=found))
    return checks


def _file_findings(path: Path) -> list[Finding]:
    """What can be known of a YAML file without rows."""
    from assay.tasks.declarative.load import check_yaml_file

    try:
        check_yaml_file(path)
    except UsageError as error:
        return _faults_of(str(path), error)
    return []


def _faults_of(task: str, error: UsageError) -> list[Finding]:
    return [_of_file(task, line) for line in str(error).splitlines()]


def _of_file(task: str, line: str, *, problem: str = "bad_file", error: bool = True) -> Finding:
    """A sentence about a file, which begins with its place if it has one."""
    placed = PLACED_SENTENCE.match(line)
    if placed is None:
        return Finding(task=task, sample="", problem=problem, detail=line, error=error)
    place, field, detail = placed[1], placed[2] or "", placed[3]
    return Finding(task=task, sample="", problem=problem, detail=detail, error=error, place=place, field=field)


async def check_task(task: Task, *, script: Script | None = None, places: Places | None = None) -> TaskCheck:
    """Try the gold and the empty answer of every sample, and look at every prompt.

    `script` is what the task's other models were built from, `places` where its fields stand; both are for YAML tasks.
    """
    unusable = task.unusable or _cannot_start(task)
    if unusable is not None:
        refused = Finding(task=task.name, sample="", problem=CANNOT_RUN, detail=unusable.message, error=False)
        return TaskCheck(task=task.name, samples=task.definition.dataset.size, gold_checked=0, findings=[refused])
    findings: list[Finding] = []
    seen: dict[bytes, tuple[str, tuple[str, ...]]] = {}
    samples = gold_checked = 0
    rehearsed = task.definition.format == "declarative" and not isinstance(task.solver, Rehearsable)
    for sample in task.dataset:
        await asyncio.sleep(0)  # who asked to end is heard here: scoring itself seldom waits for anything
        samples += 1
        findings.extend(_look_at(task, sample, seen))
        if rehearsed:
            continue
        gold = gold_answer(task, sample)
        if isinstance(task.solver, Rehearsable):
            gold_checked += 1
            findings.extend(await _try_choices(task, task.solver, sample))
            continue
        if gold is not None:
            gold_checked += 1
            findings.extend(await _try_gold(task, sample, gold))
        findings.extend(await _try_empty(task, sample))
    if not rehearsed:
        return TaskCheck(task=task.name, samples=samples, gold_checked=gold_checked, findings=findings, tried=samples)
    rehearsal = await rehearse(task, script or Script())
    return TaskCheck(
        task=task.name,
        samples=samples,
        gold_checked=rehearsal.gold_tried,
        findings=[*(_located(task, fault, places) for fault in rehearsal.faults), *findings],
        without_gold=rehearsal.without_gold,
        tried=rehearsal.tried,
        heard=rehearsal.heard,
    )


def _located(task: Task, fault: Fault, places: Places | None) -> Finding:
    position, field = places.of(task.definition, fault.field) if places is not None else ("", fault.field)
    return Finding(
        task=task.name,
        sample=fault.sample,
        problem=fault.problem,
        detail=fault.message,
        error=fault.error,
        place=str(position),
        field=field,
        samples=fault.samples,
    )


def _cannot_start(task: Task) -> Failure | None:
    """Nothing is proved of a task whose answers this machine cannot score."""
    try:
        start_scorers(task)
    except FailureError as error:
        return error.failure
    return None


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
    scores, failures, _ = await score_trace(task, sample, Trace(prediction=gold, prompt=sample.prompt))
    if failures:
        return [_finding(task, sample, "gold_failed", f"{failures[0].kind}: {failures[0].message}")]
    low = [score for score in scores if not _full(score)]
    return [
        _finding(
            task,
            sample,
            "gold_not_full_marks",
            f"{score.name} gives the gold answer {shortened(gold)!r} {_value(score)}"
            + (f": {score.reason}" if score.reason else ""),
        )
        for score in low
    ]


async def _try_choices(task: Task, solver: Rehearsable, sample: Sample) -> list[Finding]:
    """Multiple choice by likelihood has no answer to try: the right choice being the likeliest is full marks."""
    full = 0
    try:
        traces = solver.traces_without_a_model(sample)
    except FailureError as error:
        return [_finding(task, sample, "gold_failed", f"{error.failure.kind}: {error.failure.message}")]
    for trace in traces:
        scores, failures, _ = await score_trace(task, sample, trace)
        if failures:
            return [_finding(task, sample, "gold_failed", f"{failures[0].kind}: {failures[0].message}")]
        full += any(_full(score) for score in scores)
    if 0 < full < len(traces):
        return []
    told = "every choice" if full else "no choice"
    return [_finding(task, sample, "gold_not_full_marks", f"{told} of {len(traces)} is right when it is the likeliest")]


async def _try_empty(task: Task, sample: Sample) -> list[Finding]:
    if any(
        part.use in REWARDS_SILENCE or part.options.get("metric") in REWARDS_SILENCE for part in task.definition.scorers
    ):
        return []
    scores, _, _ = await score_trace(task, sample, Trace(prediction="", prompt=sample.prompt))
    return [
        _finding(task, sample, "empty_answer_scores", f"{score.name} gives the empty answer {_value(score)}")
        for score in scores
        if isinstance(value := score.values.get("score"), int | float) and value > 0
    ]


def _look_at(task: Task, sample: Sample, seen: dict[bytes, tuple[str, tuple[str, ...]]]) -> list[Finding]:
    found = []
    if len(sample.prompt.strip()) < SHORTEST_PROMPT and sample.row is None:
        found.append(
            _finding(task, sample, "near_empty_prompt", f"the prompt is {shortened(sample.prompt)!r}", error=False)
        )
    asked = sample.prompt if sample.row is None else repr(sorted(sample.row.items(), key=str))
    digest = blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    earlier = seen.setdefault(digest, (sample.id, sample.targets))
    if earlier[0] != sample.id:
        if earlier[1] == sample.targets:
            found.append(_finding(task, sample, "duplicate", f"asks the same as {earlier[0]}", error=False))
        else:
            detail = f"asks the same as {earlier[0]} but wants another answer"
            found.append(_finding(task, sample, "contradiction", detail, error=False))
    return found


def _finding(task: Task, sample: Sample, problem: str, detail: str, *, error: bool = True) -> Finding:
    return Finding(task=task.name, sample=sample.id, problem=problem, detail=detail, error=error)


def _full(score: Score) -> bool:
    return score.values.get("score") in (1, 1.0)


def _value(score: Score) -> str:
    return str(score.values.get("score"))


def most_severe_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (not finding.error, finding.task))
