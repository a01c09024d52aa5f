"""A dry run: every solver is let loose on a model that only listens, so that requests are counted, not guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from assay.core.attempt import attempt_key
from assay.core.config import RunConfig
from assay.core.journal import finished_keys
from assay.core.key_set import KeySet
from assay.core.model_stack import Asked
from assay.core.seams import Model
from assay.core.task import Task
from assay.core.types import Completion, PartSpec, Request, Sample, TaskDefinition, Trace
from assay.core.usage import about_tokens
from assay.evaluation import Parts, close_parts, put_together, run_name
from assay.models.pool import ModelPool
from assay.reports.budgets import Quotes
from assay.reports.estimate_table import Estimate, JudgeEstimate, TaskEstimate

TRIED = 500
"""Samples of a task whose solver is run; more are estimated from these."""


def estimate(definitions: Sequence[TaskDefinition], config: RunConfig, *, folder: Path | None = None) -> Estimate:
    """How many requests, about how many tokens and about how much money the run still takes; nobody is asked."""
    parts = put_together(definitions, config, models=Ears(config))
    folder = folder or Path("runs") / run_name(parts.run_file, definitions)
    found = asyncio.run(_measure_all(parts, finished_keys(folder / "journal.jsonl")))
    return Estimate(model=parts.model.name, tasks=found, notes=_notes(found, parts))


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


class Ears(ModelPool):
    """Models that all only listen: the evaluated one and its judges."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self.listening: list[Listening] = []

    def wrap(self, model: Model, **how: float | None) -> Model:
        del how  # nobody waits for an ear
        self._plain.append(model)
        self.listening.append(Listening(model.name))
        return self.listening[-1]


async def _measure_all(parts: Parts, finished: KeySet) -> list[TaskEstimate]:
    try:
        return [await _measure(task, parts, finished) for task in parts.tasks]
    finally:
        await close_parts(parts)


async def _measure(task: Task, parts: Parts, finished: KeySet) -> TaskEstimate:
    config, quotes = parts.run_file.config, parts.quotes
    owed = _owed(task, config.repeat, finished)
    listening = Listening(parts.model.name)
    judges = [each for each in getattr(parts.models, "listening", []) if each is not parts.model]
    before = [(judge.requests, judge.tokens_in) for judge in judges]
    tried, target_tokens = await _listen(task, listening, config)
    scale = owed / tried if tried else 0.0
    requests, tokens_in = round(listening.requests * scale), round(listening.tokens_in * scale)
    tokens_out = round(target_tokens * scale * listening.requests / tried) if tried else 0
    most = None if listening.most_tokens_out is None else round(listening.most_tokens_out * scale)
    quote = quotes.get(parts.model.name)
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
        judges=[
            _judge(judge.name, (judge.requests - asked) * scale, (judge.tokens_in - tokens) * scale, quotes)
            for judge, (asked, tokens) in zip(judges, before, strict=True)
            if judge.requests > asked
        ],
    )


async def _listen(task: Task, listening: Listening, config: RunConfig) -> tuple[int, int]:
    """Let the solver ask about every sample, then its judges about the target; how many samples, and their answers."""
    model = Asked(listening, config.settings(), 1)
    judging = [task.scorers[part.key] for part in task.definition.scorers if asks_a_model(part) and not task.unusable]
    tried, target_tokens = 0, 0
    for sample in islice(iter(task.dataset), TRIED):
        tried += 1
        target_tokens += _answer_tokens(sample, config.max_tokens)
        before = listening.requests
        trace = Trace(prediction=sample.targets[0] if sample.targets else "")
        with suppress(Exception):  # a solver may not know what to do with an empty answer; what it asked is counted
            solved = await task.solver(sample, model)
            trace = msgspec.structs.replace(solved, prediction=solved.prediction or trace.prediction)
        if listening.requests == before and sample.prompt:
            # a solver that gave up before it asked would have asked at least once
            listening.requests += 1
            listening.tokens_in += about_tokens(sample.prompt)
        for scorer in judging:
            if sample.scorer in (None, scorer.name):
                with suppress(Exception):  # silence is no verdict, so the scorer fails; what it asked is counted
                    await scorer(sample, trace)
    return tried, target_tokens


def asks_a_model(part: PartSpec) -> bool:
    """Whether a scorer is known to ask a model and do nothing else: only such may be called when nobody is asked."""
    return bool({"model_key", "judge_model_key"} & {name for name, value in part.options.items() if value})


def _judge(name: str, requests: float, tokens_in: float, quotes: Quotes) -> JudgeEstimate:
    quote = quotes.get(name)
    return JudgeEstimate(
        model=name,
        requests=round(requests),
        tokens_in=round(tokens_in),
        least_cost=None if quote is None else quote.price.of(round(tokens_in), 0),
    )


def _owed(task: Task, repeat: int, finished: KeySet) -> int:
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


def _notes(tasks: list[TaskEstimate], parts: Parts) -> list[str]:
    said = ["tokens are about a quarter of the characters; answers are taken to be as long as their targets"]
    if parts.run_file.config.max_tokens is None:
        said.append("no longest answer is set: with --max-answer-tokens N there is an upper bound")
    unpriced = [name for name, quote in parts.quotes.items() if quote is None]
    said.extend(f"no price is known for `{name}`; add it to prices.yaml" for name in unpriced)
    known = dict.fromkeys((quote.source, quote.date) for quote in parts.quotes.values() if quote)
    said.extend(f"prices: {source}, dated {date}" for source, date in known)
    if any(not each.exact for each in tasks):
        said.append(f"large tasks are estimated from their first {TRIED} samples")
    judges = {judge.model: judge for task in tasks for judge in task.judges}
    if judges:
        said.append(
            "judges are counted with the target as the answer and are at least asked this often; what they will say is "
            "not known, so their cost is that of their prompts alone"
        )
    unheard = [judge.name for judge in parts.models.judges if judge.name not in judges]
    if unheard:
        said.append(f"these models are asked too, nobody can say how often: {', '.join(dict.fromkeys(unheard))}")
    return said
