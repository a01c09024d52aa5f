"""Proves a task set without a model: gold answers must score full marks, empty ones must not, oddities are named."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from assay.core.attempt import score_trace
from assay.core.errors import FailureError
from assay.core.task import Task
from assay.core.types import Failure, Sample, Score, Trace
from assay.tasks.build import start_scorers

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


class TaskCheck(Struct, frozen=True, kw_only=True):
    """What was proved about one task."""

    task: str
    samples: int
    gold_checked: int
    """Samples whose gold answer could be tried; code tasks have none unless `extras.solution` gives one."""
    findings: list[Finding]


async def check_task(task: Task) -> TaskCheck:
    """Try the gold and the empty answer of every sample, and look at every prompt."""
    unusable = task.unusable or _cannot_start(task)
    if unusable is not None:
        refused = Finding(task=task.name, sample="", problem=CANNOT_RUN, detail=unusable.message, error=False)
        return TaskCheck(task=task.name, samples=task.definition.dataset.size, gold_checked=0, findings=[refused])
    findings: list[Finding] = []
    seen: dict[bytes, tuple[str, tuple[str, ...]]] = {}
    samples = gold_checked = 0
    for sample in task.dataset:
        await asyncio.sleep(0)  # who asked to end is heard here: scoring itself seldom waits for anything
        samples += 1
        findings.extend(_look_at(task, sample, seen))
        gold = gold_answer(task, sample)
        if hasattr(task.solver, "pretended"):
            gold_checked += 1
            findings.extend(await _try_choices(task, sample))
            continue
        if gold is not None:
            gold_checked += 1
            findings.extend(await _try_gold(task, sample, gold))
        findings.extend(await _try_empty(task, sample))
    return TaskCheck(task=task.name, samples=samples, gold_checked=gold_checked, findings=findings)


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
            f"{score.name} gives the gold answer {_shown(gold)} {_value(score)}"
            + (f": {score.reason}" if score.reason else ""),
        )
        for score in low
    ]


async def _try_choices(task: Task, sample: Sample) -> list[Finding]:
    """Multiple choice by likelihood has no answer to try: the right choice being the likeliest is full marks."""
    full = 0
    try:
        traces = task.solver.pretended(sample)  # type: ignore[attr-defined]  # asked for by the caller
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
        found.append(_finding(task, sample, "near_empty_prompt", f"the prompt is {_shown(sample.prompt)}", error=False))
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


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (not finding.error, finding.task))
