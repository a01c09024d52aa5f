"""A dry run: every solver runs against a model that only records, so that requests are counted, not guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import msgspec

from assay.core.attempt import attempt_key
from assay.core.errors import FailureError
from assay.core.model_stack import WithRunSettings, given_settings, innermost
from assay.core.seams import Model, identity_of, offers_of
from assay.core.task import Task
from assay.core.types import Completion, Request, Sample, TaskDefinition, Trace
from assay.core.usage import about_tokens
from assay.costs.estimate import JudgeEstimate, RunEstimate, TaskEstimate
from assay.costs.prices import Quotes, cost_at, dated
from assay.costs.spending import no_price
from assay.models.layers.cached import Cached, is_uncertain, refusal_of
from assay.models.pool import ModelPool
from assay.models.served import NotReachedError, probe
from assay.overriding import override
from assay.results.side_labels import model_and_cell
from assay.run_config import RunConfig
from assay.runs.assemble import Parts, assemble, with_frame
from assay.runs.canary import PROMPTS
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.folder import default_folder
from assay.runs.progress import run_blocking
from assay.tasks.task_parts import asks_a_model
from assay.text.wording import few

TRIED = 500
COUNTED = "tokens are about a quarter of the characters; answers are taken to be as long as their targets"
"""Samples of a task whose solver is run; more are estimated from these."""
SOME_ANSWER = "an answer"
"""Where no target is known: what scorers ask of other models may depend on there being an answer."""


def estimate(
    definitions: Sequence[TaskDefinition], config: RunConfig, *, folder: Path | None = None, fresh: bool = False
) -> RunEstimate:
    """How many requests, about how many tokens and about how much money the run still takes; no model is called.

    A `fresh` run starts over: what its folder holds spares it nothing.
    """
    return run_blocking(_estimate(definitions, config, folder, fresh=fresh))


async def _estimate(
    definitions: Sequence[TaskDefinition], config: RunConfig, folder: Path | None, *, fresh: bool
) -> RunEstimate:
    async with assemble(definitions, config, models=RecordingPool(config)) as parts:
        await parts.refuse_without_effect()
        await parts.check_cached_models()
        journal = (folder or default_folder(parts.run_file)) / "journal.jsonl"
        earlier = EarlierAttempts(*(() if fresh else (journal,)))
        estimates = [await _measure(task, parts, earlier) for task in parts.tasks]
        label = model_and_cell(parts.run_file.model_label, parts.run_file.settings)
        return RunEstimate(
            model=parts.model.name,
            label=label,
            tasks=estimates,
            notes=_notes(estimates, parts),
            unbilled=parts.run_file.unbilled,
        )


class RecordingModel:
    """A model that answers nothing and counts its requests."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.offers = offers_of(model)
        self.requests = 0
        self.tokens_in = 0
        self.most_tokens_out: int | None = 0

    async def generate(self, request: Request) -> Completion:
        if request.fresh:  # a judge called again, because this empty answer is no verdict
            return Completion(text="")
        self.requests += 1
        self.tokens_in += about_tokens(request.text())
        if request.embed:
            return Completion(text="", embedding=(1.0,))
        if request.max_tokens is None:
            self.most_tokens_out = None
        elif self.most_tokens_out is not None:
            self.most_tokens_out += request.max_tokens
        return Completion(text="")


class RecordingPool(ModelPool):
    """Models that only record: the evaluated one and its judges."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self.listening: list[RecordingModel] = []

    @override
    def wrap(self, model: Model, **how: float | None) -> Model:
        del how  # a recording model needs no limits
        self._models.append(model)
        if is_uncertain(self._config, offers_of(model)):
            self._unproven.append(Cached(model, None, identity_of(model), reads=False))
        self.listening.append(RecordingModel(model))
        return self.listening[-1]

    @override
    async def check_cached(self) -> list[str]:
        """As in a run, without opening a cache; a server need not be up for an estimate."""
        notes = []
        for cached in self._unproven:
            try:
                served = await probe(cached)
            except NotReachedError:
                notes.append(f"{cached.name} does not answer now, so whether its answers can be cached is not known")
            else:
                notes += [] if served is not None and served.strong else [refusal_of(cached, self._config)]
        return notes


async def _measure(task: Task, parts: Parts, earlier: EarlierAttempts) -> TaskEstimate:
    config, quotes = parts.run_file.config, parts.quotes
    remaining, answered = _remaining(task, config.repeat_of(task.name), earlier)
    listening = RecordingModel(parts.model)
    recording = parts.models.listening if isinstance(parts.models, RecordingPool) else []
    judges = [item for item in recording if item is not parts.model]
    names = {id(innermost(judge)): judge.name for judge in parts.models.judges}
    before = [(judge.requests, judge.tokens_in) for judge in judges]
    tried, target_tokens, faults = await _listen(task, listening, config)
    scale, judging = ((remaining - answered) / tried, remaining / tried) if tried else (0.0, 0.0)
    requests, tokens_in = round(listening.requests * scale), round(listening.tokens_in * scale)
    tokens_out = round(target_tokens * scale * listening.requests / tried) if tried else 0
    most = None if listening.most_tokens_out is None else round(listening.most_tokens_out * scale)
    quote = quotes.get(parts.model.name)
    return TaskEstimate(
        task=task.name,
        attempts=len(task.dataset) * config.repeat_of(task.name),
        remaining=remaining,
        requests=requests,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        most_tokens_out=most,
        cost=cost_at(quote, tokens_in, tokens_out),
        most_cost=None if most is None else cost_at(quote, tokens_in, most),
        currency=quote.currency if quote is not None else "USD",
        exact=len(task.dataset) <= TRIED,
        judges=[
            _judge(
                names.get(id(judge), judge.name),
                (judge.requests - asked) * judging,
                (judge.tokens_in - tokens) * judging,
                quotes,
            )
            for judge, (asked, tokens) in zip(judges, before, strict=True)
            if judge.requests > asked
        ],
        not_rendered=len(faults),
        first_fault=next(iter(faults.values()), None),
    )


NOT_RENDERED = ("template", "bad_input", "filter")
"""Kinds of failures caused by a row, whatever the model answers."""


async def _listen(task: Task, listening: RecordingModel, config: RunConfig) -> tuple[int, int, dict[str, str]]:
    """Let the solver ask about every sample, then its judges about the target.

    How many samples, how long their answers are, and of those that could not be rendered, why.
    """
    settings = config.settings_of_tasks().get(task.name, config.settings())
    model = WithRunSettings(with_frame(listening, config), given_settings(settings))
    judging = [task.scorers[part.key] for part in task.definition.scorers if asks_a_model(part)]
    tried, target_tokens = 0, 0
    faults: dict[str, str] = {}
    for sample in islice(iter(task.dataset), TRIED):
        tried += 1
        target_tokens += _answer_tokens(sample, config.max_tokens)
        before = listening.requests
        trace = Trace(prediction=sample.targets[0] if sample.targets else SOME_ANSWER)
        with _noting(faults, sample):  # a solver may not know what to do with an empty answer; what it asked is counted
            solved = await (task.solve or task.solver)(sample, model)
            trace = msgspec.structs.replace(solved, prediction=solved.prediction or trace.prediction)
        if sample.id in faults:
            continue
        if listening.requests == before and sample.prompt:
            # a solver that gave up before it asked would have asked at least once
            listening.requests += 1
            listening.tokens_in += about_tokens(sample.prompt)
        for scorer in judging:
            if sample.scorer in (None, scorer.name):
                with _noting(faults, sample):  # an empty answer is not a verdict, so the scorer fails; its calls count
                    await scorer(sample, trace)
    return tried, target_tokens, faults


@contextmanager
def _noting(faults: dict[str, str], sample: Sample) -> Iterator[None]:
    """A failure for lack of an answer is expected; a row that cannot be rendered is reported."""
    try:
        yield
    except FailureError as error:
        if error.failure.kind in NOT_RENDERED:
            faults.setdefault(sample.id, error.failure.message)
    except Exception:  # noqa: S110 - a third-party part, which was given an empty answer
        pass


def _judge(name: str, requests: float, tokens_in: float, quotes: Quotes) -> JudgeEstimate:
    return JudgeEstimate(
        model=name,
        requests=round(requests),
        tokens_in=round(tokens_in),
        least_cost=cost_at(quotes.get(name), round(tokens_in), 0),
    )


def _remaining(task: Task, repeat: int, earlier: EarlierAttempts) -> tuple[int, int]:
    """How many attempts remain, and how many of them have an answer and lack only scores."""
    if not earlier:
        return len(task.dataset) * repeat, 0
    remaining = answered = 0
    for sample in task.dataset:
        for attempt in range(1, repeat + 1):
            key = int(attempt_key(task.name, sample, attempt), 16)
            if key not in earlier:
                remaining += 1
                answered += earlier.reached(key)[0] > 0
    return remaining, answered


def _answer_tokens(sample: Sample, longest: int | None) -> int:
    """About as long as the target, which is all that is known before any call."""
    expected = about_tokens(sample.targets[0]) if sample.targets else 100
    return expected if longest is None else min(expected, longest)


def _notes(tasks: list[TaskEstimate], parts: Parts) -> list[str]:
    notes = [COUNTED]
    if unbounded := [task.task for task in tasks if task.most_tokens_out is None]:
        notes.append(f"no longest answer is set for {few(unbounded)}: with --max-tokens N there is an upper bound")
    unpriced = [name for name, quote in parts.quotes.items() if quote is None and name not in parts.run_file.unbilled]
    notes.extend([no_price(unpriced)] if unpriced else [])
    known = dict.fromkeys((quote.source, quote.date) for quote in parts.quotes.values() if quote)
    notes.extend(f"prices: {dated(source, date)}" for source, date in known)
    if any(not task.exact for task in tasks):
        notes.append(f"large tasks are estimated from their first {TRIED} samples")
    judges = {judge.model: judge for task in tasks for judge in task.judges}
    if judges:
        notes.append(
            "judges are counted with the target as the answer and are at least asked this often; what they will say is "
            "not known, so their cost is that of their prompts alone"
        )
    if parts.config.canary:
        notes.append(f"the canary adds {len(PROMPTS)} short requests")
    unheard = [judge.name for judge in parts.models.judges if judge.name not in judges]
    if unheard:
        notes.append(f"also called, number of calls unknown: {', '.join(dict.fromkeys(unheard))}")
    return [*notes, *parts.notes]
