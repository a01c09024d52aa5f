"""A whole search: checks first, then the seed, the search, the testset, and files that say what happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.run import Stop
from assay.core.seams import Model, close_part
from assay.core.usage import Account, usage_of
from assay.costs.budget import SearchBudget, prices_for
from assay.costs.spending import total_cost
from assay.evaluators.llm_judge import JudgeEvaluator, clamped_in_words
from assay.evaluators.payload import AsksModels, Evaluator, EvaluatorError
from assay.evaluators.preflight import notes, preflight
from assay.optimize.budget import CallEstimate
from assay.optimize.candidates import Accepted, Search, by_bad_luck
from assay.optimize.demonstrations import COMPONENT, Demonstrations
from assay.optimize.engine import search
from assay.optimize.engine_package import engine_version, require_engine
from assay.optimize.evaluations import Evaluations, ScoreOrFailure, SearchEnded
from assay.optimize.events import Events, listeners_of
from assay.optimize.feedback import output_of
from assay.optimize.folder import SearchFolder, earlier_search, lenders_of, prepare_folder, write_files
from assay.optimize.in_the_loop import InTheLoop, run_by_turns
from assay.optimize.journal import FILE, ONE, SearchEntry, SearchJournal, Texts, candidate_of
from assay.optimize.objectives import pareto_front
from assay.optimize.proposer import FunctionInPlaceOfModel, Proposer, ProposerFunction
from assay.optimize.results import SCHEMA, STOPPED, Result, comparison, lineage, overall_verdict, problem_of
from assay.optimize.sets import REFUSED, SearchSets, SetExample
from assay.optimize.settings import SearchSettings, check_settings, estimated, require_objective
from assay.optimize.task_fitness import WHERE_A_SAMPLE_IS_FROM, TaskFitness
from assay.results.search_rows import EvaluationRow, ExampleOutcomes
from assay.runs.effects import why_not_applied
from assay.runs.listeners import SearchEvent
from assay.runs.patient_evaluator import PatientEvaluator
from assay.runs.progress import Progress, run_blocking, signals

__all__ = ["SearchFolder", "SearchProgress", "SearchSettings", "aoptimize", "optimize"]


class NotBegunError(UsageError):
    """What was given is fine, but evaluator, proposer or budget gave out before there was a text with a score."""


class SearchProgress(Progress):
    """What a search reports while it runs; this one shows nothing."""

    def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None: ...


async def aoptimize(
    settings: SearchSettings,
    evaluator: Evaluator,
    proposer: Model | None,
    *,
    folder: Path | SearchFolder | None = None,
    propose: ProposerFunction | None = None,
    probe: bool = True,
    progress: SearchProgress | None = None,
    listeners: Sequence[object] = (),
    on_event: Callable[[SearchEvent], object] | None = None,
) -> Result:
    """Search for a better text, or resume the search that the folder holds.

    `propose` writes the texts instead of a model, which may then be None. `listeners` (those of runs that have a
    `search_event`) and `on_event` receive each event as it happens, in threads of their own. `UsageError` for what is
    wrong before it begins, `EvaluatorError` when the evaluator fails its preflight.
    """
    progress = progress or SearchProgress()
    hearing = listeners_of(listeners, on_event)
    where = folder if isinstance(folder, SearchFolder) else SearchFolder(path=folder)
    check_settings(settings)
    require_engine()
    model = _proposing(settings, proposer, propose)
    models = [
        *([] if propose is not None else [model]),
        *(evaluator.called_models if isinstance(evaluator, AsksModels) else ()),
    ]
    limits = settings.spending_limits
    prices_for([each.name for each in models], limits)  # a price that is missing is reported before anything is written
    sets = settings.sets()
    path = where.path or Path("runs") / f"optimize-{fingerprint(settings.identity(evaluator, sets))[:8]}"
    earlier = None if where.fresh else earlier_search(path / "run.json")
    if earlier is not None:
        sets = settings.sets(earlier.holdout)
    planned = estimated(settings, sets)
    lenders = lenders_of(where)
    if not lenders:
        planned.refuse_too_small()
    await _make_ready(evaluator, progress)  # before anything is written
    now = prepare_folder(path, settings, evaluator, model, sets, earlier, where, progress)
    stop = Stop()
    events = Events(hearing, progress.warn, folder=path, fingerprint=now.fingerprint, budget=settings.budget)
    with closing(SearchJournal(path / FILE)) as journal, signals(stop, progress):
        if hearing:
            journal.on_entry = lambda entry: events.notify("entry", entry=entry)
        events.notify("began")
        try:
            if isinstance(evaluator, TaskFitness):
                evaluator.bind(stop, progress.warn)
            for lender, kinds in lenders:
                progress.say(f"{lender}: {journal.borrow(lender / FILE, kinds)} answers may be reused")
            _announce(planned, sets, evaluator, len(journal), progress)
            if probe and not len(journal):
                await _probe(evaluator, settings, journal, stop, progress)
            money = SearchBudget(limits, models, journal.spent)
            work = _Work(settings, sets, evaluator, model, journal, money, stop, progress, propose, events)
            result = await work.run(path, planned, now.fingerprint)
            write_files(path, result)
            best = result.valset.best.mean
            events.notify("finished", calls=result.calls["used"], best=best, last=result.stopped, result=result)
        finally:
            await evaluator.close()
            if proposer is not None:
                await close_part(proposer)
            await events.drain()
            progress.end()
    return result


async def _make_ready(evaluator: Evaluator, progress: SearchProgress) -> None:
    if isinstance(evaluator, TaskFitness):
        try:
            await evaluator.make_ready(progress)
        except BaseException:
            await evaluator.close()
            raise


def optimize(settings: SearchSettings, evaluator: Evaluator, proposer: Model | None, **options: Any) -> Result:
    """`aoptimize` for callers without `await`; the options are the same."""
    return run_blocking(aoptimize(settings, evaluator, proposer, **options), run_by_turns)


def _proposing(settings: SearchSettings, proposer: Model | None, propose: ProposerFunction | None) -> Model:
    if propose is not None:
        return FunctionInPlaceOfModel(propose)
    if proposer is None:
        raise UsageError("a search needs a proposer: a model, or your own function")
    check_proposer(settings, proposer)
    return proposer


def check_proposer(settings: SearchSettings, proposer: Model) -> None:
    """Refuse a model that is not told what to write, and settings that it does not apply."""
    require_objective(settings)
    for name in ("temperature", "max_tokens"):
        is_set = getattr(settings.proposer_request, name) is not None
        if is_set and (why := why_not_applied(proposer, name)) is not None:
            raise UsageError(f"--{name.replace('_', '-')} has no effect here: {why}")


def _announce(planned: CallEstimate, sets: SearchSets, evaluator: Evaluator, known: int, progress: Progress) -> None:
    progress.say(planned.in_words())
    if sets.held_out:
        also = f", and {sets.held_out_of_dataset} equal ones of the dataset" if sets.held_out_of_dataset else ""
        progress.say(
            f"held out: {sets.held_out} of {sets.source_records} records of the {sets.source}{also}, for the verdict"
        )
    if sets.shared:
        progress.warn(
            f"{sets.shared} of {len(sets.valset)} records of the valset are in the dataset too: the proposer sees what "
            "texts are selected on, so the valset's score says less"
        )
    if sets.why_none_held_out and sets.why_none_held_out != REFUSED:  # --holdout 0 needs no warning
        progress.warn(f"nothing is held out ({sets.why_none_held_out}), so there will be no verdict; see --testset")
    if warning := planned.warning():
        progress.warn(warning)
    if known:
        progress.say(f"resuming: {known} answers are known already")
    for note in notes(evaluator):
        progress.say(note)


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
            patience_seconds=settings.patience_seconds,
        )
        self._money = money
        records = [example.record for example in sets.dataset if example.record is not None]
        picked = Demonstrations(records, settings.demonstrations, settings.random_seed)
        self._demonstrations = picked if settings.demonstrations else None
        self._proposer = Proposer(
            proposer,
            journal,
            settings,
            stop,
            money=money,
            function=propose,
            check=evaluator.broken_by if isinstance(evaluator, TaskFitness) else None,
            hidden=WHERE_A_SAMPLE_IS_FROM if isinstance(evaluator, TaskFitness) else (),
            demonstrations=self._demonstrations,
        )

    async def run(self, folder: Path, planned: CallEstimate, run_fingerprint: str) -> Result:
        state = Search(self._news, self._settings.strategy.chosen_by)
        (folder / "engine.log").unlink(missing_ok=True)  # of an earlier process, or a link that came with the folder
        with (folder / "engine.log").open("x", encoding="utf-8") as log:
            try:
                seed = dict(self._settings.texts or await self._first_draft())
                if self._demonstrations is not None:
                    seed[COMPONENT] = self._demonstrations.first()
                await self._ask.run(partial(self._search, seed, state, log))
            except SearchEnded:
                state.stop_reason = self._why_ended()
        if not state.kept:
            self._refuse_without_a_score()
        if state.stop_reason == "repeating":
            self._journal.add(SearchEntry(kind="repeats", key="", index=state.answers_since_new))
        await self._resolve(state)
        tested = await self._test(state)
        return self._result(state, tested, planned, run_fingerprint)

    async def _resolve(self, state: Search) -> None:
        """Ask once more for the few evaluations of kept texts that failed, before the best one is chosen."""
        if state.stop_reason in ("interrupted", "spent", "evaluator_away", "evaluator_failed"):
            return
        resolved = []
        for item in state.kept:
            if by_bad_luck(item):
                try:
                    outcomes = await self._evaluations.evaluate([(item.texts, self._sets.valset)], counted=False)
                except SearchEnded:
                    state.stop_reason = self._why_ended()
                    return
                item = msgspec.structs.replace(item, outcomes=outcomes)  # noqa: PLW2901 - the same candidate, known better
            resolved.append(item)
        state.choose_again(resolved)

    def _search(self, seed: Texts, state: Search, log: IO[str]) -> None:
        search(
            seed,
            self._evaluations,
            self._proposer,
            settings=self._settings,
            sets=self._sets,
            money=self._money,
            ask=self._ask,
            log=log,
            result=state,
        )

    def _why_ended(self) -> str:
        if self._stop.interrupted:
            return "interrupted"
        return "spent" if self._stop.reason is None else "evaluator_away"

    def _refuse_without_a_score(self) -> None:
        if self._stop.interrupted:
            raise KeyboardInterrupt
        if self._stop.reason is not None:
            raise NotBegunError(f"the seed was not scored: {self._stop.reason}. Rerun the same command to resume.")
        raise NotBegunError(
            f"{self._money.used_up} before the seed was scored; raise it and rerun the same command: "
            "finished evaluations are kept"
        )

    async def _first_draft(self) -> Texts:
        hidden = WHERE_A_SAMPLE_IS_FROM if isinstance(self._evaluator, TaskFitness) else ()
        records = [example.record for example in self._sets.dataset[:3] if example.record is not None]
        shown = [{name: value for name, value in record.items() if name not in hidden} for record in records]
        text = await self._proposer.first_draft(ONE, shown)
        if text is None:
            failure = self._proposer.failure
            reasons = [failure.message] if failure else list(self._proposer.unusable)
            raise NotBegunError(f"the proposer wrote no first text: {reasons[-1] if reasons else 'it said nothing'}")
        return {ONE: text}

    def _news(self, state: Search) -> None:
        best = state.best.mean if state.kept else None
        self._progress.step(calls=self._evaluations.calls, budget=self._settings.budget, best=best, last=state.last)
        self._events.notify("step", calls=self._evaluations.calls, best=best, last=state.last)

    async def _test(self, state: Search) -> tuple[list[ScoreOrFailure], list[ScoreOrFailure]] | None:
        testset = self._sets.testset
        if not testset or state.stop_reason in ("interrupted", "spent", "evaluator_away"):
            return None
        records = "held-out records" if self._sets.held_out else "records of the testset"
        self._progress.say(f"scoring seed and best on the {len(testset)} {records}, outside the budget")
        try:
            before = await self._evaluations.evaluate([(state.kept[0].texts, testset)])
            after = before
            if state.best is not state.kept[0]:
                after = await self._evaluations.evaluate([(state.best.texts, testset)])
        except SearchEnded:
            state.stop_reason = self._why_ended()
            return None
        return before, after

    def _result(
        self,
        state: Search,
        tested: tuple[list[ScoreOrFailure], list[ScoreOrFailure]] | None,
        planned: CallEstimate,
        run_fingerprint: str,
    ) -> Result:
        best, seed, sets = state.best, state.kept[0], self._sets
        stop_reason = state.stop_reason or "interrupted"
        spent = self._money.spent()
        valset = comparison(sets.valset, seed.outcomes, best.outcomes, selected_on=True)
        testset = comparison(sets.testset, *tested, selected_on=False) if tested else None
        on_testset = [outcome for outcomes in tested or () for outcome in outcomes]
        failed_on_testset = sum(outcome.failure is not None for outcome in on_testset)
        unresolved = sum(candidate.failed for candidate in state.kept) + failed_on_testset
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
            problem=self._stop.reason
            or problem_of(state, self._proposer.failure, unresolved, used.messages, used.failed_texts),
            verdict=overall_verdict(sets, valset, testset),
            better=testset.is_better if testset else None,
            best=str(candidate_of(best.texts)),
            seed=str(candidate_of(seed.texts)),
            best_number=best.number,
            best_is_seed=best is seed,
            best_components=best.texts if len(best.texts) > 1 else {},
            seed_components=seed.texts if len(seed.texts) > 1 else {},
            proposals=self._proposal_counts(state),
            unusable=dict(sorted(self._proposer.unusable.items())),
            evaluator_failures=dict(sorted(used.failures.items())),
            failure_messages=dict(sorted(used.messages.items())),
            failed_texts=used.failed_texts,
            failures_shown=len(used.failed_texts.keys() & self._proposer.failures_shown),
            unresolved=unresolved,
            proposer_failure=self._proposer.failure,
            calls=self._call_counts(),
            clamped=self._clamped(),
            merges=state.merges if self._settings.strategy.merges else None,
            feedback_cut=self._proposer.cut,
            estimate=planned,
            valset=valset,
            testset=testset,
            held_out=sets.held_out,
            lineage=lineage(state.kept),
            rejected=state.rejected,
            front=self._front(state.kept),
            examples=[
                *_outcomes(sets.valset, seed.outcomes, best.outcomes),
                *(_outcomes(sets.testset, *tested) if tested else ()),
            ],
            evaluations=[self._row(entry) for entry in self._journal.evaluations()],
            spent=spent,
            cost=total_cost([row.cost for row in spent]),
        )

    def _proposal_counts(self, state: Search) -> dict[str, int]:
        return {
            "made": state.proposals,
            "accepted": len(state.kept) - 1,
            "rejected": len(state.rejected),
            "repeated": state.repeated,
            "unusable": sum(self._proposer.unusable.values()),
        }

    def _clamped(self) -> str | None:
        if not isinstance(self._evaluator, JudgeEvaluator):
            return None
        return clamped_in_words([entry.side_info for entry in self._journal.evaluations() if entry.failure is None])

    def _call_counts(self) -> dict[str, int]:
        used = self._evaluations
        return {
            "budget": self._settings.budget,
            "used": used.calls,
            "from_cache": used.cached,
            "reused": used.reused,
            "made_now": used.made,
            "retries": used.retries,
        }

    def _front(self, candidates: Sequence[Accepted]) -> Any:
        by_number = {candidate.number: (candidate.texts, candidate.outcomes) for candidate in candidates}
        strategy = self._settings.strategy
        return pareto_front(by_number, strategy.objectives, strategy.chosen_by)

    def _row(self, entry: SearchEntry) -> EvaluationRow:
        return EvaluationRow(
            candidate=entry.candidate or 0,
            part=entry.part,
            index=entry.index or 0,
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


async def _probe(
    evaluator: Evaluator, settings: SearchSettings, journal: SearchJournal, stop: Stop, progress: Progress
) -> None:
    example = settings.dataset[0] if settings.dataset else None
    patient = PatientEvaluator(evaluator, stop, progress.say, patience_seconds=settings.patience_seconds)
    names = settings.component_names
    probing = asyncio.ensure_future(
        preflight(evaluator, example, settings.task_model, components=names, patient=patient)
    )
    stop.bind(probing.cancel)
    try:
        with Account() as account:
            await probing
    except (EvaluatorError, asyncio.CancelledError):
        if stop.interrupted:
            raise KeyboardInterrupt from None
        raise
    journal.add(SearchEntry(kind="preflight", key="", usage=usage_of(account)))
