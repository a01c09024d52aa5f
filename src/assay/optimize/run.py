"""A whole search: checks first, then the seed, the search, the testset, and files that say what happened."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.regular_file import read_regular
from assay.core.run import Stop
from assay.core.run_file import SEARCH_SCHEMA, sealed_as, write_whole
from assay.core.seams import Model, close_part, identity_of
from assay.core.types import Request
from assay.core.usage import Account, usage_of
from assay.costs.budget import SearchBudget, SpendingLimits, prices_for
from assay.costs.spending import total_cost
from assay.evaluators.payload import AsksModels, Evaluator, EvaluatorError, ScoreRange
from assay.evaluators.preflight import in_words, preflight
from assay.optimize.budget import CallEstimate, estimate
from assay.optimize.constraints import Constraints
from assay.optimize.demonstrations import COMPONENT, Demonstrations
from assay.optimize.engine import (
    Found,
    Search,
    SearchLimits,
    SearchStrategy,
    by_bad_luck,
    engine_version,
    require_engine,
    search,
)
from assay.optimize.evaluations import Evaluations, ScoreOrFailure, SearchEnded
from assay.optimize.events import Events, listeners_of
from assay.optimize.feedback import ROOM, output_of
from assay.optimize.in_the_loop import InTheLoop
from assay.optimize.journal import FILE, ONE, SearchEntry, SearchJournal, Texts
from assay.optimize.objectives import pareto_front
from assay.optimize.page import page
from assay.optimize.patient import candidate_of
from assay.optimize.proposer import Proposer, ProposerFunction
from assay.optimize.reflection import ReflectionSettings, check_template
from assay.optimize.results import (
    SCHEMA,
    STOPPED,
    EvaluationRow,
    ExampleOutcomes,
    Result,
    comparison,
    lineage,
    overall_verdict,
    problem_of,
)
from assay.optimize.sets import HOLDOUT, SearchSets, SetExample, make_sets
from assay.runs.folder import put_aside, record_change, take_folder
from assay.runs.listeners import SearchEvent
from assay.runs.progress import Progress, run_blocking, signals
from assay.scorers.watch import Watch
from assay.user.seal import is_vouched_for, refuse_foreign

MINIBATCH = 3


class SearchSettings(Struct, frozen=True, kw_only=True):
    """Everything a search is asked to do."""

    seed: str | Texts | None
    """A text, or several by the names of their components. None: the proposer writes the first text."""
    dataset: list[dict[str, Any]] | None = None
    valset: list[dict[str, Any]] | None = None
    """None: the dataset is also what candidates are selected on."""
    testset: list[dict[str, Any]] | None = None
    holdout: float | None = None
    """The part of the data that becomes the testset where none is given; None takes 0.3, or what the folder had."""
    objective: str = ""
    background: str = ""
    template: str | None = None
    feedback_characters: int = ROOM
    remember: int = 3
    score_range: ScoreRange = "unit"
    task_model: str | None = None
    constraints: Constraints = Constraints()
    random_seed: int = 0
    minibatch: int = MINIBATCH
    repeat: int = 1
    """So often every evaluation is made; its score is the mean."""
    demonstrations: int = 0
    """So many examples of the dataset are shown in the text, as a component that is searched too."""
    strategy: SearchStrategy = SearchStrategy()
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

    @property
    def texts(self) -> Texts | None:
        return {ONE: self.seed} if isinstance(self.seed, str) else self.seed

    @property
    def reflection(self) -> ReflectionSettings:
        return ReflectionSettings(
            objective=self.objective,
            background=self.background,
            template=self.template,
            feedback_characters=self.feedback_characters,
            remember=self.remember,
        )

    def sets(self, holdout: float | None = None) -> SearchSets:
        """The sets as they are used, with a part held out; `holdout` is what an earlier session had."""
        share = self.holdout if self.holdout is not None else holdout
        if share is None:
            share = 0.0 if self.testset else HOLDOUT
        # a testset that was added later takes the place of what was held out, which stays out
        given = None if share else self.testset
        sets = make_sets(self.dataset, self.valset, given, holdout=share, random_seed=self.random_seed)
        if not share or not self.testset:
            return sets
        alone = make_sets(self.dataset, self.valset, self.testset, holdout=0.0, random_seed=self.random_seed)
        return msgspec.structs.replace(sets, testset=alone.testset, held_out=0)

    def identity(self, evaluator: Evaluator, sets: SearchSets) -> dict[str, str]:
        """What makes it this search, each part by its hash: its question, not who proposes, nor for how long."""
        parts = {
            "seed": self.texts,
            "dataset": [example.digest for example in sets.dataset],
            "valset": [example.digest for example in sets.valset],
            "evaluator": evaluator.identity,
            "score range": self.score_range,
            "task model": self.task_model,
            "random seed": self.random_seed,
            "minibatch": self.minibatch,
            "repeat": self.repeat,
            "demonstrations": self.demonstrations,
            "strategy": self.strategy,
            "engine": engine_version(),
        }
        return {name: fingerprint(part) for name, part in parts.items()}

    def changeable(self, proposer: Model, sets: SearchSets) -> dict[str, str]:
        """What may change while the search goes on; that it did is reported."""
        parts = {
            "proposer": identity_of(proposer),
            "proposer settings": self.proposer_request,
            "objective and background": [self.objective, self.background],
            "reflection": [self.template, self.feedback_characters, self.remember],
            "constraints": self.constraints,
            "testset": [example.digest for example in sets.testset],
        }
        return {name: fingerprint(part) for name, part in parts.items()}


class SearchFile(Struct, frozen=True, kw_only=True):
    """`run.json` of a search: what makes it this one, and what it was last run with, each part by its hash."""

    schema: str
    fingerprint: str
    parts: dict[str, str]
    created: str
    holdout: float
    """The part of the data that was held out."""
    last: dict[str, str] = {}


class SearchProgress(Progress):
    """What a search reports while it runs; this one shows nothing."""

    def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None: ...


class SearchFolder(Struct, frozen=True, kw_only=True):
    """Where a search is written, and what it may take from others."""

    path: Path | None = None
    """None: `runs/optimize-<hash>`."""
    fresh: bool = False
    resume_foreign: bool = False
    reuse: tuple[Path, ...] = ()
    """Searches whose evaluations are taken where they fit."""
    branch: Path | None = None
    """A search whose proposals are taken too: this one continues it, and leaves it as it is."""


async def aoptimize(
    settings: SearchSettings,
    evaluator: Evaluator,
    proposer: Model,
    *,
    folder: Path | SearchFolder | None = None,
    propose: ProposerFunction | None = None,
    probe: bool = True,
    progress: SearchProgress | None = None,
    listeners: Sequence[object] = (),
    on_event: Callable[[SearchEvent], object] | None = None,
) -> Result:
    """Search for a better text, or resume the search that the folder holds.

    `propose` writes the texts instead of a model. `listeners` (those of runs that have a `search_event`) and `on_event`
    hear of each event as it happens, in threads of their own. `UsageError` for what is wrong before it begins,
    `EvaluatorError` when the evaluator fails its preflight.
    """
    progress = progress or SearchProgress()
    hearing = listeners_of(listeners, on_event)
    where = folder if isinstance(folder, SearchFolder) else SearchFolder(path=folder)
    _check(settings)
    require_engine()
    models = (proposer.name, *(evaluator.model_names if isinstance(evaluator, AsksModels) else ()))
    limits = SpendingLimits(max_tokens=settings.max_total_tokens, max_cost=settings.max_cost, prices=settings.prices)
    prices_for(models, limits)  # a price that is missing is reported before anything is written
    sets = settings.sets()
    path = where.path or Path("runs") / f"optimize-{fingerprint(settings.identity(evaluator, sets))[:8]}"
    earlier = None if where.fresh else _earlier(path / "run.json")
    if earlier is not None:
        sets = settings.sets(earlier.holdout)
    planned = estimated(settings, sets)
    lenders = _lenders(where)
    if not lenders:
        planned.refuse_too_small()
    now = _prepare(path, settings, evaluator, proposer, sets, earlier, where, progress)
    stop = Stop()
    events = Events(hearing, progress.warn, folder=path, fingerprint=now.fingerprint, budget=settings.budget)
    with closing(SearchJournal(path / FILE)) as journal, signals(stop, progress):
        journal.on_entry = lambda entry: events.tell("entry", entry=entry)
        events.tell("began")
        try:
            with Watch(None, stop, progress.warn):
                for lender, kinds in lenders:
                    progress.say(f"{lender}: {journal.borrow(lender / FILE, kinds)} answers may be reused")
                _announce(planned, sets, len(journal), progress)
                if (how := in_words(evaluator)) is not None:
                    progress.say(how)
                if probe and not len(journal):
                    await _probe(evaluator, settings, journal, stop)
                money = SearchBudget(limits, models, journal.spent)
                work = _Work(settings, sets, evaluator, proposer, journal, money, stop, progress, propose, events)
                result = await work.run(path, planned, now.fingerprint)
                write_files(path, result)
                best = result.valset.best.mean
                events.tell("finished", calls=result.calls["used"], best=best, last=result.stopped, result=result)
        finally:
            await evaluator.close()
            await close_part(proposer)
            await events.heard()
            progress.end()
    return result


def optimize(settings: SearchSettings, evaluator: Evaluator, proposer: Model, **options: Any) -> Result:
    """`aoptimize` for who does not write `await`; the options are the same."""
    return run_blocking(aoptimize(settings, evaluator, proposer, **options), "aoptimize")


def estimated(settings: SearchSettings, sets: SearchSets) -> CallEstimate:
    """What the budget of these settings buys."""
    return estimate(
        settings.budget,
        dataset=len(sets.dataset),
        valset=len(sets.valset),
        testset=len(sets.testset),
        minibatch=settings.minibatch,
        repeat=settings.repeat,
    )


def write_files(folder: Path, result: Result) -> None:
    """The summary, the best text or texts, and the page."""
    write_whole(folder / "summary.json", msgspec.json.format(msgspec.json.encode(result, enc_hook=repr), indent=2))
    write_whole(folder / "best.txt", result.best.encode())
    for name, text in result.best_components.items():
        write_whole(folder / "best" / f"{name}.txt", text.encode())
    write_whole(folder / "page.html", page(result).encode())


def _announce(planned: CallEstimate, sets: SearchSets, known: int, progress: Progress) -> None:
    progress.say(planned.in_words())
    if sets.held_out:
        left = len(sets.dataset if sets.source == "dataset" else sets.valset)
        progress.say(
            f"held out: {sets.held_out} of {sets.held_out + left} records of the {sets.source}, for the verdict"
        )
    if warning := planned.warning():
        progress.warn(warning)
    if known:
        progress.say(f"resuming: {known} answers are known already")


class _Work:
    """One search from its seed to its result."""

    def __init__(
        self,
        settings: SearchSettings,
        sets: SearchSets,
        evaluator: Evaluator,
        proposer: Model,
        journal: SearchJournal,
        money: SearchBudget,
        stop: Stop,
        progress: SearchProgress,
        propose: ProposerFunction | None,
        events: Events,
    ) -> None:
        self._events = events
        self._settings = settings
        self._sets = sets
        self._evaluator = evaluator
        self._stop = stop
        self._ask = InTheLoop(stop)
        self._progress = progress
        self._journal = journal
        self._evaluations = Evaluations(
            evaluator,
            journal,
            identity=fingerprint(evaluator.identity),
            task_model=settings.task_model,
            concurrency=settings.concurrency,
            stop=stop,
            money=money,
            repeat=settings.repeat,
            say=progress.say,
        )
        self._money = money
        records = [example.record for example in sets.dataset if example.record is not None]
        picked = Demonstrations(records, settings.demonstrations, settings.random_seed)
        self._demonstrations = picked if settings.demonstrations else None
        self._proposer = Proposer(
            proposer,
            journal,
            settings.constraints,
            settings.reflection,
            settings.proposer_request,
            stop,
            money=money,
            function=propose,
            demonstrations=self._demonstrations,
        )

    async def run(self, folder: Path, planned: CallEstimate, run_fingerprint: str) -> Result:
        found = Search(self._news, self._settings.strategy.chosen_by)
        (folder / "engine.log").unlink(missing_ok=True)  # of an earlier process, or a link that came with the folder
        with (folder / "engine.log").open("x", encoding="utf-8") as log:
            try:
                seed = dict(self._settings.texts or await self._first_draft())
                if self._demonstrations is not None:
                    seed[COMPONENT] = self._demonstrations.first()
                await self._ask.in_a_thread(partial(self._search, seed, found, log))
            except SearchEnded:
                found.stop_reason = self._why_ended()
        if not found.found:
            self._refuse_without_a_score()
        await self._resolve(found)
        tested = await self._test(found)
        return self._result(found, tested, planned, run_fingerprint)

    async def _resolve(self, found: Search) -> None:
        """Ask once more for the few evaluations of kept texts that failed, before the best one is chosen."""
        if found.stop_reason in ("interrupted", "spent", "evaluator_away", "evaluator_failed"):
            return
        resolved = []
        for each in found.found:
            if by_bad_luck(each):
                pairs = [(each.texts, example) for example in self._sets.valset]
                try:
                    outcomes = await self._evaluations.evaluate(pairs, counted=False)
                except SearchEnded:
                    found.stop_reason = self._why_ended()
                    return
                each = msgspec.structs.replace(each, outcomes=outcomes)  # noqa: PLW2901 - the same candidate, known better
            resolved.append(each)
        found.choose_again(resolved)

    def _search(self, seed: Texts, found: Search, log: IO[str]) -> None:
        settings = self._settings
        search(
            seed,
            self._evaluations,
            self._proposer,
            sets=self._sets,
            limits=SearchLimits(
                budget=settings.budget,
                max_proposals=settings.max_proposals or settings.budget,
                target_score=settings.target_score,
                patience=settings.patience,
                failures_in_a_row=settings.failures_in_a_row,
                money=self._money,
            ),
            strategy=settings.strategy,
            score_range=settings.score_range,
            random_seed=settings.random_seed,
            minibatch=min(settings.minibatch, len(self._sets.dataset)),
            remember=settings.remember,
            ask=self._ask,
            log=log,
            result=found,
        )

    def _why_ended(self) -> str:
        if self._stop.interrupted:
            return "interrupted"
        return "spent" if self._stop.reason is None else "evaluator_away"

    def _refuse_without_a_score(self) -> None:
        if self._stop.interrupted:
            raise KeyboardInterrupt
        if self._stop.reason is not None:
            raise UsageError(f"the seed was not scored: {self._stop.reason}. Rerun the same command to resume.")
        raise UsageError(
            f"{self._money.used_up} before the seed was scored; raise it and run the same command again: "
            "what was paid for is kept"
        )

    async def _first_draft(self) -> Texts:
        text = await self._proposer.first_draft(ONE, (self._settings.dataset or [])[:3])
        if text is None:
            failure = self._proposer.failure
            reasons = [failure.message] if failure else list(self._proposer.unusable)
            raise UsageError(f"the proposer wrote no first text: {reasons[-1] if reasons else 'it said nothing'}")
        return {ONE: text}

    def _news(self, found: Search) -> None:
        best = found.best.mean if found.found else None
        self._progress.step(calls=self._evaluations.calls, budget=self._settings.budget, best=best, last=found.last)
        self._events.tell("step", calls=self._evaluations.calls, best=best, last=found.last)

    async def _test(self, found: Search) -> tuple[list[ScoreOrFailure], list[ScoreOrFailure]] | None:
        testset = self._sets.testset
        if not testset or found.stop_reason in ("interrupted", "spent", "evaluator_away"):
            return None
        what = "held-out records" if self._sets.held_out else "records of the testset"
        self._progress.say(f"scoring seed and best on the {len(testset)} {what}, outside the budget")
        try:
            before = await self._on(testset, found.found[0].texts)
            after = before if found.best is found.found[0] else await self._on(testset, found.best.texts)
        except SearchEnded:
            found.stop_reason = self._why_ended()
            return None
        return before, after

    async def _on(self, examples: Sequence[SetExample], texts: Texts) -> list[ScoreOrFailure]:
        return await self._evaluations.evaluate([(texts, example) for example in examples])

    def _result(
        self,
        found: Search,
        tested: tuple[list[ScoreOrFailure], list[ScoreOrFailure]] | None,
        planned: CallEstimate,
        run_fingerprint: str,
    ) -> Result:
        best, seed, sets = found.best, found.found[0], self._sets
        stop_reason = found.stop_reason or "interrupted"
        spent = self._money.spent()
        unusable = self._proposer.unusable
        valset = comparison(sets.valset, seed.outcomes, best.outcomes, selected_on=True)
        testset = comparison(sets.testset, *tested, selected_on=False) if tested else None
        on_testset = [outcome for each in tested or () for outcome in each]
        failed_on_testset = sum(outcome.failure is not None for outcome in on_testset)
        unresolved = sum(each.failed for each in found.found) + failed_on_testset
        used = self._evaluations
        return Result(
            schema=SCHEMA,
            fingerprint=run_fingerprint,
            engine=engine_version(),
            evaluator=self._evaluator.name,
            proposer=", ".join(self._journal.proposers),
            score_range=self._settings.score_range,
            selected_on=sets.selected_on,
            stop_reason=stop_reason,
            stopped=STOPPED.get(stop_reason, stop_reason),
            problem=self._stop.reason or problem_of(found, self._proposer.failure, unresolved, used.messages),
            verdict=overall_verdict(sets, valset, testset),
            better=testset.is_better if testset else None,
            best=str(candidate_of(best.texts)),
            seed=str(candidate_of(seed.texts)),
            best_number=best.number,
            best_is_seed=best is seed,
            best_components=best.texts if len(best.texts) > 1 else {},
            seed_components=seed.texts if len(seed.texts) > 1 else {},
            proposals={
                "made": len(found.found) - 1 + len(found.rejected),
                "accepted": len(found.found) - 1,
                "rejected": len(found.rejected),
                "unusable": sum(unusable.values()),
            },
            unusable=dict(sorted(unusable.items())),
            evaluator_failures=dict(sorted(used.failures.items())),
            failure_messages=dict(sorted(used.messages.items())),
            unresolved=unresolved,
            proposer_failure=self._proposer.failure,
            calls={
                "asked": self._settings.budget,
                "used": used.calls,
                "from_cache": used.cached,
                "reused": used.reused,
                "made_now": used.made,
                "retries": used.retries,
            },
            feedback_cut=self._proposer.cut,
            estimate=planned,
            valset=valset,
            testset=testset,
            held_out=sets.held_out,
            lineage=lineage(found.found),
            rejected=found.rejected,
            front=self._front(found.found),
            examples=[
                *_outcomes(sets.valset, seed.outcomes, best.outcomes),
                *(_outcomes(sets.testset, *tested) if tested else ()),
            ],
            evaluations=[self._row(entry) for entry in self._journal.evaluations()],
            spent=spent,
            cost=total_cost([row.cost for row in spent]),
        )

    def _front(self, found: Sequence[Found]) -> Any:
        kept = {each.number: (each.texts, each.outcomes) for each in found}
        strategy = self._settings.strategy
        return pareto_front(kept, strategy.objectives, strategy.chosen_by)

    def _row(self, entry: SearchEntry) -> EvaluationRow:
        return EvaluationRow(
            candidate=entry.candidate or 0,
            part=entry.part,
            index=entry.index,
            repeat=entry.repeat,
            score=entry.score,
            output=output_of(entry.side_info),
            scores=entry.side_info.get("scores"),
            side_info=entry.side_info,
            failure=entry.failure,
            seconds=entry.seconds,
            cost=self._money.cost_of(entry.usage),
            reused=entry.reused,
        )


def _check(settings: SearchSettings) -> None:
    if settings.budget < 1:
        raise UsageError(f"--budget must be at least 1, got {settings.budget}")
    if settings.demonstrations < 0:
        raise UsageError(f"--demonstrations must be 0 or more, got {settings.demonstrations}")
    for name in ("minibatch", "concurrency", "max_proposals", "patience", "repeat"):
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    for flag, limit in (("--max-cost", settings.max_cost), ("--max-tokens", settings.max_total_tokens)):
        if limit is not None and not limit > 0:
            raise UsageError(f"{flag} must be above 0, got {limit}")
    if settings.target_score is not None and settings.target_score != settings.target_score:
        raise UsageError("--target-score must be a number, got nan")
    if settings.feedback_characters < 200:
        raise UsageError(f"--feedback-chars must be at least 200, got {settings.feedback_characters}")
    if settings.strategy.proposals < 1:
        raise UsageError(f"--proposals must be at least 1, got {settings.strategy.proposals}")
    check_template(settings.template)
    _check_seed(settings)


def _check_seed(settings: SearchSettings) -> None:
    if settings.demonstrations and settings.valset is None:
        raise UsageError(
            "--demonstrations are picked from the dataset, so a text must be selected on other examples: "
            "give a --valset, or cut the data with --split"
        )
    if settings.seed is None and not settings.objective.strip():
        raise UsageError("without a seed the proposer needs --objective: what the text is for")
    if settings.seed is not None and not settings.texts:
        raise UsageError("a seed of several components needs at least one")
    for name in settings.texts or ():
        if not re.fullmatch(r"\w[\w.-]{0,99}", name):
            raise UsageError(
                f"component {name!r}: a name has letters, digits, `_`, `-` and `.`; it becomes a file's name"
            )


def _prepare(
    folder: Path,
    settings: SearchSettings,
    evaluator: Evaluator,
    proposer: Model,
    sets: SearchSets,
    earlier: SearchFile | None,
    where: SearchFolder,
    progress: Progress,
) -> SearchFile:
    if where.fresh and (folder / "run.json").exists():
        put_aside(folder)
    if earlier is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is not empty and holds no search; choose another --run-dir")
    identity = settings.identity(evaluator, sets)
    share = settings.holdout if settings.holdout is not None else (HOLDOUT if not settings.testset else 0.0)
    now = SearchFile(
        schema=SEARCH_SCHEMA,
        fingerprint=fingerprint(identity),
        parts=identity,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if earlier is None else earlier.created,
        holdout=share if earlier is None else earlier.holdout,
        last=settings.changeable(proposer, sets),
    )
    parts = identity if earlier is None else earlier.parts
    changed = [f"{name} changed" for name in {**parts, **identity} if parts.get(name) != identity.get(name)]
    foreign = earlier is not None and not where.resume_foreign
    try:
        take_folder(folder, now, earlier, changed=changed, refuse_if_foreign=foreign)
    except UsageError as error:
        if not changed:
            raise
        raise UsageError(
            f"{error} --reuse {folder} takes its evaluations, --branch {folder} its proposals too."
        ) from None
    if earlier is not None and earlier.last != now.last:
        others = [name for name, part in now.last.items() if earlier.last.get(name) != part]
        progress.say(f"continuing this search with what changed since: {', '.join(others)}")
        record_change(folder, now)
    return now


def _earlier(path: Path) -> SearchFile | None:
    if not path.exists():
        return None
    try:
        earlier = msgspec.json.decode(read_regular(path), type=SearchFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not the run.json of a search; choose another --run-dir") from error
    if earlier.schema != SEARCH_SCHEMA:
        raise UsageError(f"{path}: is not the run.json of a search; choose another --run-dir")
    return earlier


def _lenders(where: SearchFolder) -> list[tuple[Path, tuple[str, ...]]]:
    """The searches that answers are taken from, and which; the user's own ones, or as they are."""
    lenders: list[tuple[Path, tuple[str, ...]]] = [(path, ("evaluation",)) for path in where.reuse]
    if where.branch is not None:
        lenders.append((where.branch, ("evaluation", "proposal")))
    for path, _ in lenders:
        earlier = _earlier(path / "run.json")
        if earlier is None or not (path / FILE).exists():
            raise UsageError(f"{path}: holds no search to take answers from")
        if not where.resume_foreign and not is_vouched_for(path, sealed_as(earlier)):
            refuse_foreign(path)
    return lenders


def _outcomes(
    examples: Sequence[SetExample], seed: Sequence[ScoreOrFailure], best: Sequence[ScoreOrFailure]
) -> list[ExampleOutcomes]:
    return [
        ExampleOutcomes(
            part=example.part,
            index=example.index,
            record=example.record,
            seed=before.score,
            best=after.score,
            seed_failure=before.failure.message if before.failure else None,
            best_failure=after.failure.message if after.failure else None,
        )
        for example, before, after in zip(examples, seed, best, strict=True)
    ]


async def _probe(evaluator: Evaluator, settings: SearchSettings, journal: SearchJournal, stop: Stop) -> None:
    example = settings.dataset[0] if settings.dataset else None
    probing = asyncio.ensure_future(preflight(evaluator, example, settings.task_model))
    stop.bind(probing.cancel)
    try:
        with Account() as account:
            await probing
    except (EvaluatorError, asyncio.CancelledError):
        if stop.interrupted:
            raise KeyboardInterrupt from None
        raise
    journal.add(SearchEntry(kind="preflight", key="", usage=usage_of(account)))
