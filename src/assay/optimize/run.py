"""A whole search: checks first, then the seed, the search, the testset, and files that tell what happened."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.regular_file import read_regular
from assay.core.run_file import write_whole
from assay.core.seams import Model
from assay.core.types import Request
from assay.core.usage import Account, usage_of
from assay.evaluators.model_identity import unwrapped_identity
from assay.evaluators.payload import Evaluator, ScoreRange
from assay.evaluators.preflight import preflight
from assay.optimize.answer_block import UnusableAnswerError
from assay.optimize.budget import Estimate, estimate
from assay.optimize.constraints import Constraints
from assay.optimize.engine import Found, Limits, Search, require_engine, search
from assay.optimize.evaluations import Evaluations, Outcome, OutOfBudget, SetExample
from assay.optimize.journal import Entry, Journal
from assay.optimize.page import page
from assay.optimize.proposer import Proposer, first_draft_prompt
from assay.optimize.purse import Purse
from assay.optimize.results import (
    SCHEMA,
    STOPPED,
    Comparison,
    Example,
    Result,
    comparison,
    lineage,
    problem_of,
)
from assay.reports.budgets import prices_for
from assay.reports.spending import total_cost
from assay.scorers.watch import Watch
from assay.user.seal import is_vouched_for, refuse_foreign, vouch

RUN_SCHEMA = "assay.optimize.run.v1"
MINIBATCH = 3


class Settings(Struct, frozen=True, kw_only=True):
    """Everything a search is asked to do."""

    seed: str | None
    """None: the proposer writes the first text from the objective."""
    dataset: list[dict[str, Any]] | None = None
    valset: list[dict[str, Any]] | None = None
    """None: the dataset is also what candidates are selected on."""
    testset: list[dict[str, Any]] | None = None
    objective: str = ""
    background: str = ""
    score_range: ScoreRange = "unit"
    task_model: str | None = None
    constraints: Constraints = Constraints()
    random_seed: int = 0
    minibatch: int = MINIBATCH
    proposer_request: Request = Request()
    """Temperature, length and seed of the proposer's answers."""

    budget: int = 100
    max_proposals: int | None = None
    target_score: float | None = None
    patience: int | None = None
    failures_in_a_row: int = 25
    concurrency: int = 4
    max_cost: float | None = None
    max_total_tokens: int | None = None
    prices: str | None = None
    """The price file; None takes the one in the folder, else assay's own."""

    def identity(self, evaluator: Evaluator, proposer: Model) -> dict[str, Any]:
        """What the course of the search depends on, each part by its hash. Budget and speed are not among it."""
        parts = {
            "seed": self.seed,
            "dataset": self.dataset,
            "valset": self.valset,
            "testset": self.testset,
            "evaluator": evaluator.identity,
            "proposer": unwrapped_identity(proposer),
            "objective and background": [self.objective, self.background],
            "score range": self.score_range,
            "task model": self.task_model,
            "constraints": self.constraints,
            "random seed": self.random_seed,
            "minibatch": self.minibatch,
            "proposer settings": self.proposer_request,
        }
        return {name: fingerprint(part) for name, part in parts.items()}


class Progress(Protocol):
    """What a search tells while it goes on."""

    def say(self, sentence: str) -> None: ...

    def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None: ...


class Silence:
    """Progress that nobody wants to hear of."""

    def say(self, sentence: str) -> None: ...

    def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None: ...


def optimize(
    settings: Settings,
    evaluator: Evaluator,
    proposer: Model,
    *,
    folder: Path | None = None,
    fresh: bool = False,
    resume_foreign: bool = False,
    probe: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Search for a better text, or go on with the search that the folder holds.

    `UsageError` for what is wrong before it begins, `EvaluatorError` when the evaluator fails its preflight.
    """
    progress = progress or Silence()
    _check(settings)
    require_engine()
    identity = settings.identity(evaluator, proposer)
    folder = folder or Path("runs") / f"optimize-{fingerprint(identity)[:8]}"
    models = (proposer.name, *getattr(evaluator, "model_names", ()))
    limits = RunConfig(model="", prices=settings.prices, max_cost=settings.max_cost)
    prices_for(models, limits)  # a price that is missing is told before anything is written
    _prepare(folder, identity, fresh=fresh, resume_foreign=resume_foreign)
    journal = Journal(folder / "journal.jsonl")
    purse = Purse(
        journal, models, prices=settings.prices, max_cost=settings.max_cost, max_tokens=settings.max_total_tokens
    )
    runner = asyncio.Runner()
    try:
        planned = estimated(settings)
        progress.say(planned.in_words())
        if warning := planned.warning():
            progress.say(f"warning: {warning}")
        if len(journal):
            progress.say(f"going on: {len(journal)} answers of an earlier run are known already")
        if probe and not len(journal):
            first = settings.dataset[0] if settings.dataset else None
            runner.run(_probe(evaluator, first, settings.task_model, journal))
        work = _Work(settings, evaluator, proposer, journal, purse, runner, progress, fingerprint(identity))
        result = work.run(folder, planned)
    finally:
        runner.run(_close(evaluator, proposer))
        runner.close()
        journal.close()
    write_files(folder, result)
    return result


def estimated(settings: Settings) -> Estimate:
    """What the budget of these settings buys."""
    dataset = len(settings.dataset) if settings.dataset is not None else 1
    valset = len(settings.valset) if settings.valset is not None else dataset
    return estimate(
        settings.budget,
        dataset=dataset,
        valset=valset,
        testset=len(settings.testset or ()),
        minibatch=settings.minibatch,
    )


def write_files(folder: Path, result: Result) -> None:
    """The summary, the best text, and the page."""
    write_whole(folder / "summary.json", msgspec.json.format(msgspec.json.encode(result), indent=2))
    write_whole(folder / "best.txt", result.best.encode())
    write_whole(folder / "page.html", page(result).encode())


class _Work:
    """One search from its seed to its result."""

    def __init__(
        self,
        settings: Settings,
        evaluator: Evaluator,
        proposer: Model,
        journal: Journal,
        purse: Purse,
        runner: asyncio.Runner,
        progress: Progress,
        run_fingerprint: str,
    ) -> None:
        self._settings = settings
        self._evaluator = evaluator
        self._model = proposer
        self._runner = runner
        self._progress = progress
        self._fingerprint = run_fingerprint
        self._evaluations = Evaluations(
            evaluator,
            journal,
            identity=fingerprint(evaluator.identity),
            task_model=settings.task_model,
            concurrency=settings.concurrency,
            purse=purse,
        )
        self._purse = purse
        self._proposer = Proposer(proposer, journal, settings.constraints, runner, settings.proposer_request)
        self._dataset = _examples("dataset", settings.dataset) or [SetExample(part="single", index=0, record=None)]
        self._valset = _examples("valset", settings.valset) or self._dataset
        self._testset = _examples("testset", settings.testset)

    def run(self, folder: Path, planned: Estimate) -> Result:
        settings = self._settings
        seed = settings.seed if settings.seed is not None else self._first_draft()
        found = Search(self._news)
        (folder / "engine.log").unlink(missing_ok=True)  # of an earlier process, or a link that came with the folder
        with (folder / "engine.log").open("x", encoding="utf-8") as log:
            try:
                search(
                    seed,
                    self._evaluations,
                    self._proposer,
                    dataset=self._dataset,
                    valset=self._valset,
                    limits=Limits(
                        budget=settings.budget,
                        max_proposals=settings.max_proposals or settings.budget,
                        target_score=settings.target_score,
                        patience=settings.patience,
                        failures_in_a_row=settings.failures_in_a_row,
                        purse=self._purse,
                    ),
                    score_range=settings.score_range,
                    objective=settings.objective,
                    background=self._background(),
                    random_seed=settings.random_seed,
                    minibatch=min(settings.minibatch, len(self._dataset)),
                    runner=self._runner,
                    log=log,
                    result=found,
                )
            except KeyboardInterrupt:
                found.stop_reason = "interrupted"
                if not found.found:
                    raise
            except OutOfBudget as end:
                found.stop_reason = "spent"
                if not found.found:
                    raise UsageError(
                        f"{self._purse.used_up} before the seed was scored; raise it and run the same command again: "
                        "what was paid for is kept"
                    ) from end
        return self._result(found, seed, planned)

    def _first_draft(self) -> str:
        settings = self._settings
        prompt = first_draft_prompt(
            settings.objective, settings.background, settings.constraints, (settings.dataset or [])[:3]
        )
        try:
            return self._proposer.propose(prompt)
        except UnusableAnswerError:
            # the proposer is told what was wrong, once
            try:
                return self._proposer.propose(prompt)
            except UnusableAnswerError as error:
                raise UsageError(f"the proposer wrote no first text: {error}") from error

    def _background(self) -> str:
        said = (self._settings.background, self._settings.constraints.in_words())
        return "\n\n".join(part for part in said if part)

    def _news(self, found: Search) -> None:
        best = found.best.mean if found.found else None
        self._progress.step(calls=self._evaluations.calls, budget=self._settings.budget, best=best, last=found.last)

    def _result(self, found: Search, seed: str, planned: Estimate) -> Result:
        best = found.best
        tested = None
        if found.stop_reason not in ("interrupted", "spent"):
            try:
                tested = self._test(seed, best)
            except OutOfBudget:
                found.stop_reason = "spent"
        stop_reason = found.stop_reason or "interrupted"
        spent = self._purse.spent()
        unusable = self._proposer.unusable
        proposals = {
            "made": len(found.found) - 1 + len(found.rejected),
            "accepted": len(found.found) - 1,
            "rejected": len(found.rejected),
            "unusable": sum(unusable.values()),
        }
        return Result(
            schema=SCHEMA,
            fingerprint=self._fingerprint,
            evaluator=self._evaluator.name,
            proposer=self._model.name,
            score_range=self._settings.score_range,
            selected_on={"single": "text"}.get(self._valset[0].part, self._valset[0].part),
            stop_reason=stop_reason,
            stopped=STOPPED.get(stop_reason, stop_reason),
            problem=problem_of(stop_reason, proposals, self._proposer.failure),
            best=best.text,
            seed=seed,
            best_is_seed=best.number == 0,
            proposals=proposals,
            unusable=dict(sorted(unusable.items())),
            evaluator_failures=dict(sorted(self._evaluations.failures.items())),
            proposer_failure=self._proposer.failure,
            calls={
                "asked": self._settings.budget,
                "used": self._evaluations.calls,
                "from_cache": self._evaluations.cached,
                "made_now": self._evaluations.made,
            },
            estimate=planned,
            valset=comparison(found.found[0].outcomes, best.outcomes),
            testset=tested[0] if tested else None,
            lineage=lineage(found.found),
            rejected=found.rejected,
            examples=[*_changes(self._valset, found.found[0].outcomes, best.outcomes), *(tested[1] if tested else [])],
            spent=spent,
            cost=total_cost([row.cost for row in spent]),
        )

    def _test(self, seed: str, best: Found) -> tuple[Comparison, list[Example]] | None:
        if not self._testset:
            return None
        self._progress.say(f"scoring seed and best on the testset of {len(self._testset)}, outside the budget")
        before = self._on_testset(seed)
        after = before if best.number == 0 else self._on_testset(best.text)
        return comparison(before, after), _changes(self._testset, before, after)

    def _on_testset(self, text: str) -> list[Outcome]:
        pairs = [(text, example) for example in self._testset]
        return self._runner.run(self._evaluations.evaluate(pairs, retry=True))


def _check(settings: Settings) -> None:
    if settings.budget < 1:
        raise UsageError(f"--budget must be at least 1, not {settings.budget}")
    for name in ("minibatch", "concurrency", "max_proposals", "patience"):
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
    for flag, limit in (("--max-cost", settings.max_cost), ("--max-tokens", settings.max_total_tokens)):
        if limit is not None and limit <= 0:
            raise UsageError(f"{flag} must be above 0, not {limit}")
    if settings.valset is not None and settings.dataset is None:
        raise UsageError("a valset needs a dataset to learn from: give --dataset as well")
    for name in ("dataset", "valset", "testset"):
        if getattr(settings, name) == []:
            raise UsageError(f"the {name} holds no records")
    if settings.seed is None and not settings.objective.strip():
        raise UsageError("without a seed the proposer needs --objective: what the text is for")


def _prepare(folder: Path, identity: dict[str, Any], *, fresh: bool, resume_foreign: bool) -> None:
    path = folder / "run.json"
    if path.exists() and fresh:
        number = 1
        while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
            number += 1
        shutil.move(folder, aside)
    if path.exists():
        changed = _what_changed(path, identity)
        if changed:
            raise UsageError(
                f"{folder}: holds another search; changed since: {', '.join(changed)}. "
                "Use --fresh to put it aside and start anew, or another --run-dir."
            )
        if not is_vouched_for(folder, fingerprint(identity)):
            if not resume_foreign:
                refuse_foreign(folder)
            vouch(folder, fingerprint(identity))
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is not empty and holds no search; choose another --run-dir")
    record = {"schema": RUN_SCHEMA, "fingerprint": fingerprint(identity), "parts": identity}
    write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=2))
    vouch(folder, fingerprint(identity))


def _what_changed(path: Path, identity: dict[str, Any]) -> list[str]:
    try:
        earlier = msgspec.json.decode(read_regular(path), type=dict[str, Any])
        parts = dict(earlier["parts"]) if earlier["schema"] == RUN_SCHEMA else {}
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: is not the run.json of a search; choose another --run-dir") from error
    if not parts:
        raise UsageError(f"{path}: is not the run.json of a search; choose another --run-dir")
    return [name for name in {**parts, **identity} if parts.get(name) != identity.get(name)]


def _examples(part: str, records: Sequence[dict[str, Any]] | None) -> list[SetExample]:
    return [SetExample(part=part, index=index, record=record) for index, record in enumerate(records or ())]


def _changes(examples: Sequence[SetExample], seed: Sequence[Outcome], best: Sequence[Outcome]) -> list[Example]:
    return [
        Example(
            part=example.part,
            index=example.index,
            seed=before.score,
            best=after.score,
            seed_failure=before.failure.message if before.failure else None,
            best_failure=after.failure.message if after.failure else None,
            record=example.record,
        )
        for example, before, after in zip(examples, seed, best, strict=True)
    ]


async def _probe(
    evaluator: Evaluator, example: dict[str, Any] | None, task_model: str | None, journal: Journal
) -> None:
    with Account() as account, Watch(None):
        await preflight(evaluator, example, task_model)
    journal.add(Entry(kind="preflight", key="", usage=usage_of(account)))


async def _close(evaluator: Evaluator, proposer: Model) -> None:
    await evaluator.close()
    close = getattr(proposer, "aclose", None)
    if close is not None:
        await close()
