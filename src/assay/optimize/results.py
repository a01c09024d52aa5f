"""What came of a search, told honestly: the numbers, how sure they are, and what did not work."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from assay.core.types import Failure
from assay.optimize.budget import Estimate
from assay.optimize.engine import Found, Rejected
from assay.optimize.evaluations import Outcome
from assay.reports.board import Cost
from assay.reports.spending import Spent, spent_in_words
from assay.stats.paired import PairedComparison, compare

SCHEMA = "assay.optimize.v1"

STOPPED = {
    "budget": "the budget was used up",
    "target_reached": "the target score was reached",
    "no_improvement": "no proposal was better for too long",
    "proposals": "the allowed number of proposals was made",
    "repeating": "the proposer only repeated itself",
    "nothing_left": "the best text is perfect on the dataset, so there is nothing to learn from",
    "proposer_failed": "the proposer failed",
    "evaluator_failed": "the evaluator kept failing",
    "interrupted": "it was interrupted",
    "spent": "the budget of money or tokens was used up; a larger one goes on from here",
}


class Measure(Struct, frozen=True, kw_only=True):
    """One text on one set; failures are in no mean."""

    mean: float | None
    scored: int
    failed: int


class Comparison(Struct, frozen=True, kw_only=True):
    """Seed and best on the same examples."""

    seed: Measure
    best: Measure
    difference: float | None
    low: float | None
    high: float | None
    level: float
    pairs: int
    better: int
    worse: int
    verdict: str
    signature: str = ""


class Candidate(Struct, frozen=True, kw_only=True):
    """A kept text, where it came from, and what changed."""

    number: int
    parent: int | None
    calls: int
    mean: float | None
    failed: int
    text: str
    diff: list[str]
    """Against its parent, as a unified diff."""


class Example(Struct, frozen=True, kw_only=True):
    """One example of a set under the seed and under the best text."""

    part: str
    index: int
    seed: float | None
    best: float | None
    seed_failure: str | None
    best_failure: str | None
    record: dict[str, Any] | None


class Result(Struct, frozen=True, kw_only=True):
    """Everything `assay optimize` says; `summary.json` is this record."""

    schema: str
    fingerprint: str
    evaluator: str
    proposer: str
    score_range: str
    selected_on: str
    """`valset`, `dataset`, or `text` when there are no examples."""
    stop_reason: str
    stopped: str
    problem: str | None
    """Why the search cannot be trusted to have done its work; None when nothing speaks against it."""
    best: str
    seed: str
    best_is_seed: bool
    proposals: dict[str, int]
    """`made`, `accepted`, `rejected`, `unusable`."""
    unusable: dict[str, int]
    evaluator_failures: dict[str, int]
    proposer_failure: Failure | None
    calls: dict[str, int]
    """`asked` for, `used`, `from_cache`, `made_now`."""
    estimate: Estimate
    valset: Comparison
    testset: Comparison | None
    lineage: list[Candidate]
    rejected: list[Rejected]
    examples: list[Example]
    spent: list[Spent] = []
    """What every model used, in every session and for what failed too, at its own price."""
    cost: Cost | None = None
    """Of all of them."""


def measure(outcomes: Sequence[Outcome]) -> Measure:
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    return Measure(mean=mean, scored=len(scores), failed=len(outcomes) - len(scores))


def comparison(seed: Sequence[Outcome], best: Sequence[Outcome], *, level: float = 0.95) -> Comparison:
    """Paired over the examples that both texts were scored on."""
    pairs = [
        (before.score, after.score)
        for before, after in zip(seed, best, strict=True)
        if before.score is not None and after.score is not None
    ]
    found = compare([before for before, _ in pairs], [after for _, after in pairs], level=level)
    return Comparison(
        seed=measure(seed),
        best=measure(best),
        difference=found.difference,
        low=found.interval.low,
        high=found.interval.high,
        level=level,
        pairs=found.n,
        better=found.wins,
        worse=found.losses,
        verdict=verdict(found),
        signature=found.signature,
    )


def verdict(found: PairedComparison) -> str:
    """Better, worse or no evidence, in a sentence with its interval."""
    difference, low, high = found.difference, found.interval.low, found.interval.high
    if difference is None:
        return f"nothing to compare: {found.reason or 'no example was scored under both texts'}"
    if not found.wins and not found.losses:
        return f"no evidence of improvement: no score changed, {found.n} examples"
    if low is None or high is None:
        return f"changed by {difference:+.4g}; too few examples for an interval"
    said = f"{found.interval.level * 100:g} % CI {low:.4g} to {high:.4g}, {found.n} examples"
    if low > 0:
        return f"better by {difference:.4g}, {said}"
    if high < 0:
        return f"worse by {-difference:.4g}, {said}"
    return f"no evidence of improvement: changed by {difference:+.4g}, {said}"


def lineage(found: Sequence[Found]) -> list[Candidate]:
    """Every kept text with its diff against its parent."""
    texts = {each.number: each.text for each in found}
    return [
        Candidate(
            number=each.number,
            parent=each.parent,
            calls=each.calls,
            mean=each.mean,
            failed=each.failed,
            text=each.text,
            diff=[] if each.parent is None else unified(texts[each.parent], each.text, each.parent, each.number),
        )
        for each in found
    ]


def unified(before: str, after: str, before_name: object, after_name: object) -> list[str]:
    """A unified diff, line by line; empty when nothing changed."""
    return list(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), f"candidate {before_name}", f"candidate {after_name}", lineterm=""
        )
    )


def problem_of(stop_reason: str, proposals: dict[str, int], proposer_failure: Failure | None) -> str | None:
    """What a reader must know before anything else."""
    if stop_reason == "proposer_failed" and proposer_failure is not None:
        return f"the proposer failed: {proposer_failure.message}"
    if stop_reason == "evaluator_failed":
        return "the evaluator kept failing; see evaluator_failures"
    if proposals["made"] == 0 and stop_reason not in ("target_reached", "interrupted", "spent"):
        return "not a single usable proposal was made, so nothing was searched"
    return None


def in_words(result: Result) -> str:
    """The result for a person, the most important first."""
    made, calls = result.proposals, result.calls
    said = []
    if result.problem is not None:
        said.append(f"PROBLEM: {result.problem}")
    said += [
        f"stopped: {result.stopped}",
        f"proposals: {made['made']} made, {made['accepted']} accepted, {made['rejected']} rejected"
        + (f", {made['unusable']} answers unusable" if made["unusable"] else ""),
        f"evaluator calls: {calls['used']} used, {calls['asked']} asked for"
        + (f", {calls['from_cache']} more answered from the cache" if calls["from_cache"] else ""),
    ]
    if result.evaluator_failures:
        kinds = ", ".join(f"{kind} {number}" for kind, number in result.evaluator_failures.items())
        said.append(f"evaluator failures: {sum(result.evaluator_failures.values())} ({kinds})")
    flatters = "" if result.best_is_seed else "; the search selected on it, so this flatters"
    said.append(f"{result.selected_on}: {_both(result.valset)}{flatters}")
    if result.testset is not None:
        said.append(f"testset: {_both(result.testset)}")
        said.append(f"verdict: {result.testset.verdict}")
    else:
        hint = "" if result.selected_on == "text" else f" (on the {result.selected_on}; a --testset would tell more)"
        said.append(f"verdict: {result.valset.verdict}{hint}")
    if result.best_is_seed:
        said.append("the seed stays the best text")
    said += spent_in_words(result.spent)
    return "\n".join(said)


def _both(comparison: Comparison) -> str:
    return f"seed {_one(comparison.seed)}, best {_one(comparison.best)}"


def _one(measured: Measure) -> str:
    mean = "no score" if measured.mean is None else f"{measured.mean:.4f}"
    return mean if not measured.failed else f"{mean} ({measured.failed} failed)"
