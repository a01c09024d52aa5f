"""The search itself, on GEPA. The only file that knows it; everything it must be kept from doing is kept here.

The engine is given no run folder (it would pickle its state), no cache (it mixes sets) and no console (it would print).
It sees a number for every evaluation, so this is also the one place that decides which number stands for a failure: one
below every valid score. No report ever shows it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

from msgspec import Struct

from assay.core.errors import UsageError
from assay.evaluators.payload import ScoreRange, why_not_a_number
from assay.optimize.evaluations import Evaluations, Outcome, SetExample
from assay.optimize.proposer import Proposer
from assay.optimize.purse import Purse
from assay.printable import printable

BELOW_EVERY_SCORE = {"unit": -1e6, "any": -sys.float_info.max / 1e6}
"""What the engine is told of a failure: so low that one of them outweighs every score beside it, on a minibatch as on a
whole set. `any` leaves room for adding up ten thousand of them."""

DEFAULT_OBJECTIVE = "Rewrite the text so that its evaluations score higher."
_REPEATS_ALLOWED = 8
_LONGEST_TEXT = 2000
_MOST_CHARACTERS = 8000

StopReason = str
"""One of `results.STOPPED`."""


class Limits(Struct, frozen=True, kw_only=True):
    """When the search ends. Looked at between proposals, so the budget may be overrun by one of them."""

    budget: int
    max_proposals: int
    target_score: float | None = None
    patience: int | None = None
    """So many proposals without a better text on the valset."""
    failures_in_a_row: int = 25
    purse: Purse | None = None
    """Looked into for money and tokens; None lets the search use as many as it likes."""


class Found(Struct, frozen=True, kw_only=True):
    """A text that was kept: it did better than its parent on a minibatch and was scored on the whole valset."""

    number: int
    """0 is the seed."""
    text: str
    parent: int | None
    iteration: int
    calls: int
    """Evaluator calls used when it had been scored."""
    outcomes: list[Outcome]
    """On the valset, in its order."""

    @property
    def mean(self) -> float | None:
        """Over the examples that were scored; None when none was."""
        scores = [outcome.score for outcome in self.outcomes if outcome.score is not None]
        return sum(scores) / len(scores) if scores else None

    @property
    def failed(self) -> int:
        return sum(outcome.failure is not None for outcome in self.outcomes)


class Rejected(Struct, frozen=True, kw_only=True):
    """A text that was evaluated on a minibatch and not kept."""

    text: str
    parent: int | None
    iteration: int
    calls: int
    parent_score: float | None
    """Mean on the minibatch; None when an evaluation failed."""
    score: float | None
    reason: str


class Search:
    """What is known of a search while it goes on and when it has ended."""

    def __init__(self, on_news: Callable[[Search], None]) -> None:
        self.found: list[Found] = []
        self.rejected: list[Rejected] = []
        self.stop_reason: StopReason | None = None
        self.iterations = 0
        self.last: str = ""
        self._on_news = on_news

    @property
    def best(self) -> Found:
        """The highest mean, failures counting as below every score; the earliest of equals."""
        return max(self.found, key=_rank)

    def news(self, sentence: str) -> None:
        self.last = sentence
        self._on_news(self)


def _rank(found: Found) -> tuple[int, float]:
    # a text with a failure ranks below every text with fewer of them, whatever its scores
    return (-found.failed, -sys.float_info.max if found.mean is None else found.mean)


def require_engine() -> None:
    """One line for those who have not installed it, before anything is spent."""
    from importlib.util import find_spec

    if find_spec("gepa") is None:
        raise UsageError("optimize needs the gepa package: pip install 'assay-eval[optimize]'")


def search(
    seed: str,
    evaluations: Evaluations,
    proposer: Proposer,
    *,
    dataset: Sequence[SetExample],
    valset: Sequence[SetExample],
    limits: Limits,
    score_range: ScoreRange,
    objective: str,
    background: str,
    random_seed: int,
    minibatch: int,
    runner: asyncio.Runner,
    log: IO[str],
    result: Search,
) -> None:
    """Search until a limit is met. `result` is filled as it goes, so that an interrupted search has one too."""
    from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, TrackingConfig, optimize_anything

    batches = _Batches(seed, evaluations, runner, BELOW_EVERY_SCORE[score_range])
    watch = _Watch(result, evaluations, proposer, valset, limits, BELOW_EVERY_SCORE[score_range])
    listeners: Any = [watch]  # it listens to some of the events, which is all the engine asks
    perfect = limits.target_score if score_range == "unit" and limits.target_score == 1.0 else None
    config = GEPAConfig(
        engine=EngineConfig(
            max_candidate_proposals=sys.maxsize,  # some limit of its own it must have; ours are in the watch
            seed=random_seed,
            use_cloudpickle=False,
            track_best_outputs=False,
            cache_evaluation=False,
            parallel=False,
            frontier_type="instance",
        ),
        reflection=ReflectionConfig(
            reflection_lm=proposer,
            reflection_minibatch_size=minibatch,
            # asking to improve on a perfect minibatch is a proposal thrown away
            skip_perfect_score=perfect is not None,
            perfect_score=perfect,
        ),
        tracking=TrackingConfig(logger=_Log(log)),
        stop_callbacks=[watch.should_stop],
        callbacks=listeners,
    )
    optimize_anything(
        seed,
        batch_evaluator=batches,
        dataset=list(dataset),
        valset=list(valset),
        objective=objective or DEFAULT_OBJECTIVE,
        background=background or None,
        config=config,
    )
    if watch.error is not None:
        raise watch.error


class _Batches:
    """Evaluations as the engine asks for them: many pairs at once, a number and a dictionary for each."""

    def __init__(self, seed: str, evaluations: Evaluations, runner: asyncio.Runner, failure_number: float) -> None:
        self._seed = seed
        self._evaluations = evaluations
        self._runner = runner
        self._failure_number = failure_number

    def __call__(self, pairs: list[tuple[str, SetExample]]) -> list[tuple[float, dict[str, Any]]]:
        # a hiccup while the seed is scored would make a wrong baseline for the whole search
        retry = all(text == self._seed for text, _ in pairs)
        outcomes = self._runner.run(self._evaluations.evaluate(pairs, retry=retry))
        return [
            (self._failure_number if outcome.score is None else outcome.score, feedback(outcome, example))
            for outcome, (_, example) in zip(outcomes, pairs, strict=True)
        ]


class _Watch:
    """Listens to the engine, says when to stop, and remembers why. The engine ignores what its listeners raise."""

    def __init__(
        self,
        result: Search,
        evaluations: Evaluations,
        proposer: Proposer,
        valset: Sequence[SetExample],
        limits: Limits,
        failure_number: float,
    ) -> None:
        self.error: Exception | None = None
        self._failure_number = failure_number
        self._result = result
        self._evaluations = evaluations
        self._proposer = proposer
        self._valset = valset
        self._limits = limits
        self._parent: int | None = None
        self._text = ""
        self._minibatch: list[list[float]] = []
        self._spent = (0, 0)
        self._idle = 0
        self._repeats = 0
        self._proposals_at_best = 0

    def should_stop(self, gepa_state: object) -> bool:
        self._result.stop_reason = self._reason()
        return self._result.stop_reason is not None

    def _reason(self) -> StopReason | None:
        limits, used = self._limits, self._evaluations
        best = self._result.best
        target = limits.target_score
        tries = len(self._result.found) - 1 + len(self._result.rejected)
        reasons: list[tuple[StopReason, bool]] = [
            ("error", self.error is not None),
            ("proposer_failed", self._proposer.failure is not None),
            ("evaluator_failed", used.failed_in_a_row >= limits.failures_in_a_row or best.mean is None),
            ("target_reached", target is not None and not best.failed and (best.mean or 0.0) >= target),
            ("spent", limits.purse is not None and limits.purse.used_up is not None),
            ("budget", used.calls >= limits.budget),
            ("proposals", tries >= limits.max_proposals),
            ("no_improvement", limits.patience is not None and tries - self._proposals_at_best >= limits.patience),
            ("repeating", self._repeats > _REPEATS_ALLOWED),
            ("nothing_left", self._idle > 2 * len(self._valset) + 50),
        ]
        return next((name for name, holds in reasons if holds), None)

    def on_iteration_start(self, event: dict[str, Any]) -> None:
        self._result.iterations += 1
        self._minibatch = []
        self._text = ""
        (calls, asked), (calls_before, asked_before) = (self._evaluations.calls, self._proposer.asked), self._spent
        self._idle = self._idle + 1 if (calls, asked) == self._spent else 0
        # a proposal that needs no evaluation is one that was made and evaluated before
        self._repeats = 0 if calls > calls_before else self._repeats + (asked > asked_before)
        self._spent = (calls, asked)

    def on_candidate_selected(self, event: dict[str, Any]) -> None:
        self._parent = event["candidate_idx"]

    def on_evaluation_end(self, event: dict[str, Any]) -> None:
        self._minibatch.append(list(event["scores"]))

    def on_proposal_end(self, event: dict[str, Any]) -> None:
        self._text = next(iter(event["new_instructions"].values()), "")

    def on_candidate_rejected(self, event: dict[str, Any]) -> None:
        self._guarded(self._add_rejected, event)

    def on_valset_evaluated(self, event: dict[str, Any]) -> None:
        self._guarded(self._add_found, event)

    def on_error(self, event: dict[str, Any]) -> None:
        self.error = self.error or event["exception"]

    def _guarded(self, act: Callable[[dict[str, Any]], None], event: dict[str, Any]) -> None:
        try:
            act(event)
        except Exception as error:
            self.error = self.error or error

    def _add_rejected(self, event: dict[str, Any]) -> None:
        before, after = (*self._minibatch, [], [])[:2]
        rejected = Rejected(
            text=self._text,
            parent=self._parent,
            iteration=self._result.iterations,
            calls=self._evaluations.calls,
            parent_score=self._minibatch_mean(before),
            score=self._minibatch_mean(after),
            reason="an evaluation failed" if self._minibatch_mean(after) is None else "no better than its parent",
        )
        self._result.rejected.append(rejected)
        shown = "failed" if rejected.score is None else f"{rejected.score:.3f}"
        self._result.news(f"rejected ({shown} on its minibatch)")

    def _add_found(self, event: dict[str, Any]) -> None:
        text = next(iter(event["candidate"].values()))
        parents = list(event["parent_ids"])
        found = Found(
            number=event["candidate_idx"],
            text=text,
            parent=parents[0] if parents else None,
            iteration=self._result.iterations,
            calls=self._evaluations.calls,
            outcomes=[self._evaluations.latest(text, example) for example in self._valset],
        )
        better = bool(self._result.found) and _rank(found) > _rank(self._result.best)
        self._result.found.append(found)
        if better:
            self._proposals_at_best = len(self._result.found) - 1 + len(self._result.rejected)
        shown = "failed everywhere" if found.mean is None else f"{found.mean:.3f}"
        self._result.news(f"seed scored {shown}" if found.parent is None else f"accepted ({shown} on the whole set)")

    def _minibatch_mean(self, scores: list[float]) -> float | None:
        if not scores or any(score <= self._failure_number for score in scores):
            return None
        return sum(scores) / len(scores)


def feedback(outcome: Outcome, example: SetExample) -> dict[str, Any]:
    """What the proposer reads about one evaluation: the score too, which the engine would keep from it."""
    said: dict[str, Any] = {}
    if outcome.failure is None:
        said["score"] = outcome.score
    else:
        said["error"] = _cut(outcome.failure.message)
    if example.record is not None and "example" not in outcome.side_info:
        said["example"] = example.record
    for name, value in outcome.side_info.items():
        said.setdefault(name, value)
    scores = said.pop("scores", None)
    bounded = _bounded(said)
    # the engine takes `scores` for objectives and breaks on anything but numbers
    if isinstance(scores, dict) and scores and all(why_not_a_number(value) is None for value in scores.values()):
        bounded["scores"] = {str(name): float(value) for name, value in scores.items()}
    return bounded


def _bounded(said: dict[str, Any]) -> dict[str, Any]:
    """Long texts cut, and whatever comes after too much left out: a proposer's prompt has an end."""
    bounded: dict[str, Any] = {}
    room = _MOST_CHARACTERS
    for name, value in said.items():
        short = _shortened(value)
        room -= len(str(short))
        if room < 0:
            bounded["left_out"] = "the rest of this was too long to show"
            break
        bounded[str(name)] = short
    return bounded


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict):
        return {str(name): _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(inner) for inner in value]
    return value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(text)} characters)"


class _Log:
    """The engine's own talk, for those who want to know."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def log(self, message: str) -> None:
        self._file.write(f"{printable(message)}\n")
