"""The search itself, on GEPA. The only file that knows it; everything it must be kept from doing is kept here.

The engine is given no run folder (it would pickle its state), no cache (it mixes sets), no console (it would print) and
no say in how proposals are asked for. It sees a number for every evaluation, so this is also the one place that decides
which number stands for a failure: one below every valid score. No report ever shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from random import Random
from typing import IO, Any

from assay.costs.budget import SearchBudget
from assay.optimize.candidates import MERGE_REJECTED, Accepted, Search, StopReason
from assay.optimize.evaluations import Evaluations, ScoreOrFailure
from assay.optimize.feedback import failure_in_words
from assay.optimize.in_the_loop import InTheLoop
from assay.optimize.journal import Texts
from assay.optimize.objectives import refuse_unknown, sub_scores, upward
from assay.optimize.proposer import Proposer, Rewriting, Shown
from assay.optimize.reflection import RejectedText, repeat_complaint
from assay.optimize.search_settings import SCORE, SearchStrategy
from assay.optimize.sets import SearchSets, SetExample
from assay.optimize.settings import SearchSettings
from assay.overriding import override
from assay.results.search_rows import Rejected
from assay.text import numbers
from assay.text.printable import printable

BELOW_EVERY_SCORE = {"unit": -1e6, "any": -sys.float_info.max / 1e6}
"""The score of a failure in the engine: so low that one of them outweighs every other score, on a minibatch as on a
whole set. `any` leaves room for adding up ten thousand of them."""

REPEATS_SHOWN = 10
"""Texts that were tried already, shown to a proposer that repeated one."""


def search(
    seed: Texts,
    evaluations: Evaluations,
    proposer: Proposer,
    *,
    settings: SearchSettings,
    sets: SearchSets,
    money: SearchBudget,
    ask: InTheLoop,
    log: IO[str],
    result: Search,
) -> None:
    """Search until a limit is met. `result` is filled as it goes, so that an interrupted search has one too."""
    from gepa.api import optimize
    from gepa.strategies.batch_sampler import EpochShuffledBatchSampler
    from gepa.strategies.proposal_sampling import IndependentSampling, SameParentSampling

    _keep_from_tracking()
    strategy = settings.strategy
    chance = Random(settings.random_seed)
    failure = BELOW_EVERY_SCORE[settings.score_range]
    watch = _Watch(result, evaluations, proposer, sets, settings, money, failure)
    listeners: Any = [watch]  # it listens to some of the events, which is all the engine asks
    adapter: Any = _Adapter(evaluations, ask, strategy, failure)
    samplings = {"same_parent": SameParentSampling, "independent": IndependentSampling}
    perfect = settings.target_score if settings.score_range == "unit" and settings.target_score == 1.0 else None
    optimize(
        dict(seed),
        trainset=sets.dataset,
        valset=sets.valset,
        adapter=adapter,
        candidate_selection_strategy=_pareto_selector()(chance, lambda: watch.repeats > 0)
        if strategy.selector == "pareto"
        else strategy.selector,
        batch_sampler=EpochShuffledBatchSampler(min(settings.minibatch, len(sets.dataset)), chance),
        frontier_type=strategy.frontier,
        acceptance_criterion=watch,
        sampling_strategy=samplings[strategy.sampling](strategy.proposals) if strategy.proposals > 1 else None,
        reflection_strategy=_Reflecting(watch, proposer, ask, settings.remember),
        module_selector=strategy.components,
        # asking to improve on a perfect minibatch is a proposal thrown away
        skip_perfect_score=perfect is not None,
        perfect_score=perfect or 1.0,
        use_merge=bool(strategy.merges),
        max_merge_invocations=strategy.merges,
        merge_val_overlap_floor=1,
        stop_callbacks=[watch.should_stop],
        callbacks=listeners,
        logger=_Log(log),
        track_best_outputs=False,
        raise_on_exception=not strategy.merges,  # see `_Watch.on_error`
        seed=settings.random_seed,
    )
    if watch.error is not None:
        raise watch.error


_FOR_TRACKERS = ("_log_candidate_tree", "_log_proposal_lm_calls")
"""Methods of the engine that only prepare what experiment trackers show; the first draws all candidates each time."""


@cache
def _keep_from_tracking() -> None:
    """Let the engine prepare nothing for trackers in a search of ours, which has none."""
    from gepa.core import engine

    for name in _FOR_TRACKERS:
        prepare = getattr(engine.GEPAEngine, name, None)
        if prepare is not None:  # another version may not do this
            setattr(engine.GEPAEngine, name, _for_others(prepare))


def _for_others(prepare: Callable[..., None]) -> Callable[..., None]:
    def prepare_for_others(self: Any, *arguments: Any, **options: Any) -> None:
        if not isinstance(self.logger, _Log):
            prepare(self, *arguments, **options)

    return prepare_for_others


@cache
def _pareto_selector() -> Callable[[Random, Callable[[], bool]], Any]:
    """The engine's own, which looks for the front only when there is another candidate.

    After a repeat it takes another parent, where the front has one.
    """
    from gepa.strategies.candidate_selector import ParetoCandidateSelector

    class Selector(ParetoCandidateSelector):
        rng: Any

        def __init__(self, chance: Random, repeated: Callable[[], bool]) -> None:
            self.rng = self
            self._chance = chance
            self._repeated = repeated
            self._last: int | None = None
            self._known = 0
            self._front: list[int] = []

        @override
        def select_candidate_idx(self, state: Any) -> int:
            if self._known == len(state.program_candidates):  # only a new candidate can change the front
                return self.choice(self._front)
            self._known = len(state.program_candidates)
            return int(super().select_candidate_idx(state))

        def choice(self, front: list[int]) -> int:
            """What the engine's own draws with."""
            self._front = front
            others = [at for at in front if at != self._last] if self._repeated() else []
            self._last = self._chance.choice(others or front)
            return self._last

    return Selector


class _Adapter:
    """Evaluations as the engine asks for them: many pairs at once, a number and what was seen for each."""

    propose_new_texts = None  # the reflection strategy does

    def __init__(self, evaluations: Evaluations, ask: InTheLoop, strategy: SearchStrategy, failure: float) -> None:
        self._evaluations = evaluations
        from gepa.core.adapter import EvaluationBatch

        self._batch_type: Any = EvaluationBatch
        self._ask = ask
        self._strategy = strategy
        self._failure = failure

    def evaluate(self, batch: list[SetExample], candidate: Texts, capture_traces: bool = False) -> Any:
        return self.batch_evaluate([(candidate, batch)])[0]

    def batch_evaluate(self, items: list[tuple[Texts, list[SetExample]]], *, capture_traces: bool = True) -> list[Any]:
        wanted = self._evaluations.batch(items)
        if wanted.unknown:  # of most parents, everything is known
            self._ask(self._evaluations.make(wanted))
        outcomes = self._evaluations.outcomes(wanted)
        at, batches = 0, []
        for texts, batch in items:
            batches.append(self._batch(texts, batch, outcomes[at : at + len(batch)]))
            at += len(batch)
        return batches

    def make_reflective_dataset(self, candidate: Texts, batch: Any, components: list[str]) -> dict[str, Any]:
        return {name: [{"shown": Shown(*shown)} for shown in batch.trajectories] for name in components}

    def _batch(self, texts: Texts, batch: list[SetExample], outcomes: Sequence[ScoreOrFailure]) -> Any:
        return self._batch_type(
            outputs=[None] * len(batch),
            scores=[self._failure if outcome.score is None else outcome.score for outcome in outcomes],
            trajectories=list(zip(outcomes, batch, strict=True)),
            objective_scores=None
            if self._strategy.frontier == "instance"
            else [self._objectives(outcome, texts) for outcome in outcomes],
            num_metric_calls=len(batch),
        )

    def _objectives(self, outcome: ScoreOrFailure, texts: Texts) -> dict[str, float]:
        names = self._strategy.objectives or (SCORE, *sub_scores(outcome))
        return upward(outcome, texts, names, self._failure)


class _Reflecting:
    """Asks for proposals in the engine's place, all of an iteration at once."""

    total_cost = 0.0

    def __init__(self, watch: _Watch, proposer: Proposer, ask: InTheLoop, remember: int) -> None:
        self._watch = watch
        self._proposer = proposer
        self._ask = ask
        self._remember = remember

    def reflect(self, candidate: Texts, dataset: Mapping[str, Any], components: list[str]) -> tuple[Any, _Reflecting]:
        made: tuple[Any, _Reflecting] = self.reflect_many([(candidate, dataset, components)])[0]
        return made

    def reflect_many(self, jobs: list[tuple[Texts, Mapping[str, Any], list[str]]]) -> list[tuple[Any, _Reflecting]]:
        from gepa.proposer.reflective_mutation.reflection_lm import ReflectionProposal

        wanted = [
            (
                at,
                Rewriting(
                    dict(texts),
                    component,
                    [record["shown"] for record in dataset[component]],
                    self._watch.rejected_from(texts, component, self._remember),
                    # of several components that are rewritten at once, one may well stay as it is
                    partial(self._watch.repeat_of, dict(texts), component) if len(components) == 1 else None,
                ),
            )
            for at, (texts, dataset, components) in enumerate(jobs)
            for component in components
        ]
        made: list[dict[str, str]] = [{} for _ in jobs]
        before = self._proposer.proposed
        for (at, rewriting), text in zip(wanted, self._propose([each for _, each in wanted]), strict=True):
            if text is not None:
                made[at][rewriting.component] = text
        candidates = [{**texts, **new} for (texts, _, _), new in zip(jobs, made, strict=True) if new]
        self._watch.proposed(candidates, answers=self._proposer.proposed - before)
        return [(ReflectionProposal(new_texts=texts), self) for texts in made]

    def _propose(self, wanted: list[Rewriting]) -> list[str | None]:
        if self._proposer.failure is not None:
            return [None] * len(wanted)
        return self._ask(self._proposer.propose(wanted))


class _Watch:
    """Listens to the engine, decides what is accepted, says when to stop, and remembers why.

    The engine ignores what its listeners raise, so an error is kept here.
    """

    def __init__(
        self,
        result: Search,
        evaluations: Evaluations,
        proposer: Proposer,
        sets: SearchSets,
        settings: SearchSettings,
        money: SearchBudget,
        failure: float,
    ) -> None:
        self.error: Exception | None = None
        self._failure = failure
        self._result = result
        self._evaluations = evaluations
        self._proposer = proposer
        self._sets = sets
        self._settings = settings
        self._money = money
        self._numbers: list[int] = []
        """Of the engine's candidates, in its order."""
        self._merged: Texts = {}
        self._seen: set[frozenset[tuple[str, str]]] = set()
        """The texts of every candidate that was scored or proposed."""
        self._spent = (0, 0)
        self._idle = 0
        self.repeats = 0
        """Rounds of proposals since the last new text."""
        self._proposals_at_best = 0

    # -- what the engine asks --------------------------------------------------------------------------------------

    def should_accept(self, proposal: Any, state: object) -> bool:
        """Better on the examples of the minibatch that both texts were scored on, and failing on no more of them."""
        before, after = self._means(proposal)
        if self._failed(proposal.subsample_scores_after) > self._failed(proposal.subsample_scores_before):
            return False
        if after is None or before is None:
            return after is not None
        return after > before or (self._settings.strategy.acceptance == "improvement_or_equal" and after == before)

    def reject_reason(self, proposal: Any, state: object) -> str:
        """Called for every proposal that was not accepted."""
        before, after = self._means(proposal)
        failed = self._failed(proposal.subsample_scores_after) > self._failed(proposal.subsample_scores_before)
        reason = "an evaluation failed" if failed else "no better than its parent"
        failure = _first_failure(proposal.eval_after.trajectories) if failed else None
        self._guarded(
            self._add_rejected, dict(proposal.candidate), proposal.parent_program_ids, before, after, reason, failure
        )
        return reason

    def should_stop(self, gepa_state: object) -> bool:
        self._result.stop_reason = self._reason()
        return self._result.stop_reason is not None

    def rejected_from(self, texts: Mapping[str, str], component: str, most: int) -> list[RejectedText]:
        """The last rewritings of this component of this candidate that were not kept."""
        number = self._evaluations.journal.number_of(dict(texts))
        latest: dict[str, RejectedText] = {}
        for item in reversed(self._result.rejected):
            if len(latest) == most:
                break
            after = item.texts[component]
            # a text that was rejected twice is shown once, at its last place
            if item.parent == number and after != texts[component] and after not in latest:
                latest[after] = RejectedText(
                    before=texts[component],
                    after=after,
                    reason=self._in_words(item),
                    failure=item.failure,
                    number=item.number,
                )
        return list(latest.values())[::-1]

    def repeat_of(self, texts: Texts, component: str, text: str) -> str | None:
        """What to tell a proposer whose rewriting of this component makes a known candidate; None for a new one."""
        if frozenset({**texts, component: text}.items()) not in self._seen:
            return None
        tried = self.rejected_from(texts, component, REPEATS_SHOWN)
        kept = [item.texts[component] for item in self._result.kept if item.texts[component] != texts[component]]
        return repeat_complaint(text, texts[component], [item.after for item in tried] + kept[-REPEATS_SHOWN:])

    def proposed(self, candidates: Sequence[Texts], *, answers: int) -> None:
        """The candidates of one round of proposals, before any is evaluated."""
        new = 0
        for texts in candidates:
            known = frozenset(texts.items())
            new += known not in self._seen
            self._seen.add(known)
        self._result.repeated += len(candidates) - new
        self._result.answers_since_new = 0 if new else self._result.answers_since_new + answers
        if candidates:
            self.repeats = 0 if new else self.repeats + 1

    # -- events of the engine --------------------------------------------------------------------------------------

    def on_iteration_start(self, event: dict[str, Any]) -> None:
        self._result.iterations += 1
        spent = (self._evaluations.calls, self._proposer.asked)
        self._idle = self._idle + 1 if spent == self._spent else 0
        self._spent = spent

    def on_valset_evaluated(self, event: dict[str, Any]) -> None:
        self._guarded(self._add_kept, dict(event["candidate"]), list(event["parent_ids"]))

    def on_merge_attempted(self, event: dict[str, Any]) -> None:
        self._merged = dict(event["merged_candidate"])

    def on_merge_rejected(self, event: dict[str, Any]) -> None:
        self._guarded(self._add_rejected, self._merged, list(event["parent_ids"]), None, None, MERGE_REJECTED)

    def on_error(self, event: dict[str, Any]) -> None:
        error = event["exception"]
        # the engine chooses what to merge with scores as weights, and fails where they are 0 or less
        if self._settings.strategy.merges and isinstance(error, ValueError) and "weights" in str(error):
            return
        self.error = self.error or error

    # -- and what is made of it ------------------------------------------------------------------------------------

    def _reason(self) -> StopReason | None:
        if self.error is not None:
            return "error"
        limits, used = self._settings, self._evaluations
        best = self._result.best
        target = limits.target_score
        tries = self._result.proposals
        stale, most_stale = tries - self._proposals_at_best, limits.max_stale_proposals
        reasons: list[tuple[StopReason, bool]] = [
            ("proposer_failed", self._proposer.failure is not None),
            ("evaluator_failed", used.failed_in_a_row >= limits.failures_in_a_row or best.mean is None),
            ("target_reached", target is not None and not best.failed and (best.mean or 0.0) >= target),
            ("spent", self._money.used_up is not None),
            ("budget", used.calls >= limits.budget),
            ("proposals", tries >= (limits.max_proposals or limits.budget)),
            ("no_improvement", most_stale is not None and stale >= most_stale),
            ("repeating", self.repeats >= limits.max_repeats),
            ("nothing_left", self._idle > 2 * len(self._sets.valset) + 50),
        ]
        return next((name for name, holds in reasons if holds), None)

    def _guarded(self, act: Callable[..., None], *arguments: Any) -> None:
        try:
            act(*arguments)
        except Exception as error:
            self.error = self.error or error

    def _add_rejected(
        self,
        texts: Texts,
        parents: Sequence[int],
        before: float | None,
        after: float | None,
        reason: str,
        failure: str | None = None,
    ) -> None:
        self._result.rejected.append(
            Rejected(
                number=self._evaluations.journal.number_of(texts),
                texts=texts,
                parent=self._numbers[parents[0]] if parents else None,
                iteration=self._result.iterations,
                calls=self._evaluations.calls,
                parent_score=before,
                score=after,
                reason=reason,
                failure=failure,
            )
        )
        shown = "failed" if after is None else numbers.number(after)
        self._result.news(f"rejected ({shown} on its minibatch)")

    def _add_kept(self, texts: Texts, parents: Sequence[int | None]) -> None:
        number = self._evaluations.journal.number_of(texts)
        known = number in self._numbers
        # of several parents the first is the one that a diff is shown against
        of = [self._numbers[parent] for parent in parents if parent is not None]
        self._numbers.append(number)
        if known:  # the engine keeps a text once more when it comes from another parent, or from a merge
            self._result.kept_again += 1
            self._result.repeated += len(of) > 1  # rewritings that repeat a text are counted when they are proposed
            self._result.news("accepted, but known already")
            return
        kept = Accepted(
            number=number,
            texts=texts,
            parent=of[0] if of else None,
            merged_with=of[1] if len(of) > 1 else None,
            iteration=self._result.iterations,
            calls=self._evaluations.calls,
            outcomes=self._evaluations.latest(texts, self._sets.valset),
        )
        if kept.parent is None:
            refuse_unknown((self._result.chosen_by, *self._settings.strategy.objectives), kept.texts, kept.outcomes)
        self._seen.add(frozenset(texts.items()))
        if self._result.keep(kept):
            self._proposals_at_best = self._result.proposals
        shown = "failed everywhere" if kept.mean is None else numbers.number(kept.mean)
        self._result.news(f"seed scored {shown}" if kept.parent is None else f"accepted ({shown} on the whole set)")

    def _means(self, proposal: Any) -> tuple[float | None, float | None]:
        """Of both texts, over the examples of the minibatch that both were scored on."""
        both = zip(proposal.subsample_scores_before, proposal.subsample_scores_after, strict=True)
        common = [pair for pair in both if min(pair) > self._failure]
        if not common:
            fine = [score for score in proposal.subsample_scores_after if score > self._failure]
            return None, sum(fine) / len(fine) if fine else None
        return sum(before for before, _ in common) / len(common), sum(after for _, after in common) / len(common)

    def _failed(self, scores: Sequence[float]) -> int:
        return sum(score <= self._failure for score in scores)

    def _in_words(self, rejected: Rejected) -> str:
        if rejected.failure is not None or rejected.score is None or rejected.parent_score is None:
            return rejected.reason
        return f"scored {rejected.score:.4g} where the current text scores {rejected.parent_score:.4g}"


def _first_failure(trajectories: Sequence[tuple[ScoreOrFailure, SetExample]]) -> str | None:
    """What the first failure on a minibatch said, with what was seen of it."""
    return next((failure_in_words(outcome) for outcome, _ in trajectories if outcome.failure is not None), None)


class _Log:
    """The engine's own log, in a file."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def log(self, message: str) -> None:
        self._file.write(f"{printable(message)}\n")
