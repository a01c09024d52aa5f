"""A dry run: every solver is let loose on a model that only listens, so that requests are counted, not guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from assay.core.attempt import attempt_key
from assay.core.config import RunConfig
from assay.core.journal import finished_keys
from assay.core.model_stack import Asked
from assay.core.task import Task
from assay.core.types import Completion, Request, Sample, TaskDefinition
from assay.evaluation import Parts, close_parts, put_together, run_name
from assay.models.budget import about_tokens
from assay.reports.estimate_table import Estimate, TaskEstimate
from assay.reports.prices import Quote

TRIED = 500
"""Samples of a task whose solver is run; more are estimated from these."""


def estimate(definitions: Sequence[TaskDefinition], config: RunConfig, *, folder: Path | None = None) -> Estimate:
    """How many requests, about how many tokens and about how much money the run still takes; nobody is asked."""
    parts = put_together(definitions, config)
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    found = asyncio.run(_measure_all(parts, finished_keys(folder / "journal.jsonl")))
    return Estimate(model=parts.model.name, tasks=found, notes=_notes(found, parts.quote, parts.model.name, config))


class Listening:
    """A model that answers nothing and counts what it is asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests = 0
        self.tokens_in = 0
        self.most_tokens_out: int | None = 0

    async def generate(self, request: Request) -> Completion:
        self.requests += 1
        self.tokens_in += about_tokens(request.text())
        if request.max_tokens is None:
            self.most_tokens_out = None
        elif self.most_tokens_out is not None:
            self.most_tokens_out += request.max_tokens
        return Completion(text="")


async def _measure_all(parts: Parts, finished: set[int]) -> list[TaskEstimate]:
    try:
        return [await _measure(task, parts.run_file.config, finished, parts.quote) for task in parts.tasks]
    finally:
        await close_parts(parts)


async def _measure(task: Task, config: RunConfig, finished: set[int], quote: Quote | None) -> TaskEstimate:
    owed = _owed(task, config.repeat, finished)
    listening = Listening(config.model)
    model = Asked(listening, config.settings(), 1)
    tried, target_tokens = 0, 0
    for sample in islice(iter(task.dataset), TRIED):
        tried += 1
        target_tokens += _answer_tokens(sample, config.max_tokens)
        before = listening.requests
        try:
            await task.solver(sample, model)
        except Exception:  # noqa: S112 - a solver may not know what to do with an empty answer; what it asked is counted
            continue
        finally:
            if listening.requests == before and sample.prompt:
                # a solver that gave up before it asked would have asked at least once
                listening.requests += 1
                listening.tokens_in += about_tokens(sample.prompt)
    scale = owed / tried if tried else 0.0
    requests, tokens_in = round(listening.requests * scale), round(listening.tokens_in * scale)
    tokens_out = round(target_tokens * scale * listening.requests / tried) if tried else 0
    most = None if listening.most_tokens_out is None else round(listening.most_tokens_out * scale)
    return TaskEstimate(
        task=task.name,
        attempts=len(task.dataset) * config.repeat,
        owed=owed,
        requests=requests,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        most_tokens_out=most,
        cost=None if quote is None else quote.price.of(tokens_in, tokens_out),
        most_cost=None if quote is None or most is None else quote.price.of(tokens_in, most),
        currency=quote.currency if quote is not None else "USD",
        exact=len(task.dataset) <= TRIED,
    )


def _owed(task: Task, repeat: int, finished: set[int]) -> int:
    if not finished:
        return len(task.dataset) * repeat
    return sum(
        int(attempt_key(task.name, sample, attempt), 16) not in finished
        for sample in task.dataset
        for attempt in range(1, repeat + 1)
    )


def _answer_tokens(sample: Sample, longest: int | None) -> int:
    """About as long as the target, which is all that can be known before asking."""
    expected = about_tokens(sample.targets[0]) if sample.targets else 100
    return expected if longest is None else min(expected, longest)


def _notes(tasks: list[TaskEstimate], quote: Quote | None, model: str, config: RunConfig) -> list[str]:
    said = ["tokens are about a quarter of the characters; answers are taken to be as long as their targets"]
    if config.max_tokens is None:
        said.append("no longest answer is set: with --max-answer-tokens N there is an upper bound")
    if quote is None:
        said.append(f"no price is known for `{model}`; add it to prices.yaml")
    else:
        said.append(f"prices: {quote.source}, {quote.date}")
    if any(not each.exact for each in tasks):
        said.append(f"large tasks are estimated from their first {TRIED} samples")
    said.append("requests of judges and other scorers that ask a model are not counted")
    return said
