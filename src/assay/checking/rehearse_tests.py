"""Tries the tests of a task's samples on made-up programs before a model is called, once for each task.

A test that cannot run, or that passes for every program, would be a score that says nothing about the model. What is
found is remembered in the user's folder by the content of the task, so that a resumed run does not try it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from time import monotonic

import msgspec
from msgspec import Struct

from assay.core.errors import FailureError
from assay.core.fingerprint import fingerprint
from assay.core.task import Task
from assay.core.types import Failure, Sample
from assay.processes.start import cores
from assay.run_config import RunConfig
from assay.scorers.judging.rehearsed import RehearsesTests, TestProblem
from assay.text.wording import shortened
from assay.user.remembered import recall, remember

SHOWN = 5
SECONDS_UNTIL_TOLD, SECONDS_BETWEEN = 5.0, 30.0


class BadTest(Struct, frozen=True, kw_only=True):
    """A sample whose test deserves a word before the run."""

    sample: str
    scorer: str
    alone: bool
    """No other scorer judges the sample."""
    found: TestProblem

    def failure(self) -> Failure:
        return Failure(
            stage="sandbox", part=self.scorer, kind=self.found.problem, message=f"the test: {self.found.detail}"
        )


async def rehearse_tests(
    task: Task, config: RunConfig, say: Callable[[str], object] = lambda sentence: None
) -> list[BadTest]:
    """What is wrong with the tests of the samples that the run includes; nothing where this machine cannot try them."""
    scorers = {key: scorer for key, scorer in task.scorers.items() if isinstance(scorer, RehearsesTests)}
    if not scorers or task.unusable is not None:
        return []
    try:
        reports = [scorer.start_here() for scorer in scorers.values()]
    except FailureError:
        return []
    from assay.sandbox.rehearsal import version_of_rules  # few tasks have anything to run in a sandbox

    only = None if config.only is None else config.only.get(task.name)
    samples = [task.fingerprint, config.limit, only]
    machine = [(report.tier, report.python) for report in reports]
    subject = f"tests {fingerprint([version_of_rules(), machine, samples])}"
    # samples that have no hash may be others the next time
    kept = recall(subject) if task.definition.dataset.sha256 else None
    if kept is not None:
        bad = msgspec.json.decode(kept, type=list[BadTest])
    else:
        bad = await _try_all(task, scorers, say)
        if task.definition.dataset.sha256:
            remember(subject, msgspec.json.encode(bad))
    for key, scorer in scorers.items():
        scorer.recall_tests([item.found for item in bad if item.scorer == key])
    return bad


async def _try_all(task: Task, scorers: Mapping[str, RehearsesTests], say: Callable[[str], object]) -> list[BadTest]:
    """Enough at a time to keep every worker of the sandbox busy."""
    bad: list[tuple[int, BadTest]] = []
    waiting = _numbered(task, scorers)
    tell = _Telling(task.name, len(task.dataset), say)

    async def work() -> None:
        for number, sample, key, alone in waiting:
            tell.at(number)
            try:
                found = await scorers[key].rehearse_test(sample)
            except FailureError:
                continue  # a template or a field at fault, which scoring reports with its place
            if found is not None:
                bad.append((number, BadTest(sample=sample.id, scorer=key, alone=alone, found=found)))

    async with asyncio.TaskGroup() as group:
        for _ in range(2 * cores()):
            group.create_task(work())
    return [each for _, each in sorted(bad, key=lambda pair: pair[0])]


def _numbered(task: Task, keys: Container[str]) -> Iterator[tuple[int, Sample, str, bool]]:
    for number, sample in enumerate(task.dataset):
        used = [scorer.name for scorer in task.scorers_for(sample)]
        yield from ((number, sample, key, len(used) == 1) for key in used if key in keys)


class _Telling:
    """Says how far it is, only if it takes long."""

    def __init__(self, name: str, total: int, say: Callable[[str], object]) -> None:
        self._name, self._total, self._say = name, total, say
        self._next = monotonic() + SECONDS_UNTIL_TOLD

    def at(self, number: int) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + SECONDS_BETWEEN
            self._say(f"trying the tests of `{self._name}` before the first request: {number:,} of {self._total:,}")


def refusal(task: Task, refused: Sequence[BadTest]) -> str:
    """Why a run of a task with these tests is refused, and what to do."""
    lines = [f"task `{task.name}`: {_count(refused)} cannot judge any answer:"]
    lines += [f"  sample `{test.sample}`: {shortened(test.found.detail, 300)}" for test in refused[:SHOWN]]
    if len(refused) > SHOWN:
        lines.append(f"  … and {len(refused) - SHOWN:,} more, which `assay check --all` lists")
    lines.append(
        "Fix them; or `assay run --allow-broken-tests` counts attempts at these samples as failures, without a model."
    )
    return "\n".join(lines)


def _count(refused: Sequence[BadTest]) -> str:
    return "1 test" if len(refused) == 1 else f"{len(refused):,} tests"
