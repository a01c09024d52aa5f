"""What came of a search: the numbers, how sure they are, and what did not work.

Only data that nothing was selected on decides whether a text is better. On the set that the search selected on the best
text is the best by construction: its numbers are shown as such, without an interval and without a verdict.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from assay.core.types import Failure
from assay.costs.spending import Cost, Spent, spent_in_words
from assay.optimize.budget import CallEstimate
from assay.optimize.candidates import Accepted, Search
from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.journal import Texts, candidate_of
from assay.optimize.sets import SearchSets, SetExample
from assay.results.search_rows import Comparison, KeptCandidate, SearchSummary, SetScore
from assay.stats.families import correct_known
from assay.stats.paired import PairedComparison, compare
from assay.text.numbers import equals_p, level_text, number, percent

SCHEMA = "assay.optimize.v2"

STOPPED = {
    "budget": "the budget was used up",
    "target_reached": "the target score was reached",
    "no_improvement": "no proposal was better for too long",
    "proposals": "the allowed number of proposals was made",
    "repeating": "the proposer only repeated itself; a higher --temperature or another --model may help",
    "nothing_left": "the best text is perfect on the dataset, so there is nothing to learn from; "
    "add records to it, or give it a larger share with --split",
    "proposer_failed": "the proposer failed",
    "evaluator_failed": "the evaluator kept failing",
    "evaluator_away": "the evaluator became unavailable",
    "interrupted": "it was interrupted",
    "spent": "the budget of money or tokens was used up; rerun with a larger one to resume",
}


class Result(SearchSummary, frozen=True, kw_only=True):
    """Everything `assay optimize` reports; `summary.json` is this record."""

    schema: str
    fingerprint: str
    engine: str
    stop_reason: str
    best_is_seed: bool
    best_components: Texts
    seed_components: Texts
    unusable: dict[str, int]
    evaluator_failures: dict[str, int]
    failure_messages: dict[str, str]
    """Of each kind, what the last one said."""
    failed_texts: dict[int, str]
    """Candidates that could not be evaluated while the evaluator still scored others, with what the last failure said;
    none of `evaluator_failures` are theirs."""
    failures_shown: int
    """How many of these failures the proposer was shown."""
    unresolved: int
    """Evaluations of kept texts that gave no score however often they were tried."""
    proposer_failure: Failure | None
    clamped: str | None
    """How many of a judge's answers were outside 0..1, in words; None when none was, or no judge scored."""
    merges: int | None
    """How many candidates are merges of two others, kept or not; None when --merge was not given."""
    feedback_cut: int
    """Examples that were too large to be shown to the proposer whole."""
    estimate: CallEstimate
    spent: list[Spent]
    """What every model used, in every session and for what failed too, at its own price."""
    cost: Cost | None = None
    """Of all of them."""


def measure(outcomes: Sequence[ScoreOrFailure]) -> SetScore:
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    return SetScore(mean=mean, scored=len(scores), failed=len(outcomes) - len(scores))


def comparison(
    examples: Sequence[SetExample],
    seed: Sequence[ScoreOrFailure],
    best: Sequence[ScoreOrFailure],
    *,
    selected_on: bool,
    level: float = 0.95,
) -> Comparison:
    """Paired over the examples that both texts were scored on."""
    pairs = [
        (before.score, after.score, example.digest.partition("-")[0])
        for example, before, after in zip(examples, seed, best, strict=True)
        if before.score is not None and after.score is not None
    ]
    before, after = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    better = sum(one > other for one, other in zip(after, before, strict=True))
    worse = sum(one < other for one, other in zip(after, before, strict=True))
    difference = (sum(after) - sum(before)) / len(pairs) if pairs else None
    sure: dict[str, Any] = {}
    if selected_on:
        word = "no example was scored under both texts" if difference is None else f"changed by {difference:+.4g}"
        sure["verdict"] = f"{word}; selected on, so biased upwards"
    else:
        # equal records are not independent
        records = [pair[2] for pair in pairs]
        compared = compare(before, after, groups=records if len(set(records)) < len(records) else None, level=level)
        [corrected] = correct_known([compared.p_value], level)
        significant = None if corrected is None else corrected.significant
        compared = compared if corrected is None else compared.corrected(corrected)
        sure = {
            "verdict": verdict(compared, significant),
            "is_better": None if significant is None else significant and (compared.difference or 0.0) > 0.0,
            "low": compared.interval.low,
            "high": compared.interval.high,
            "p_value": compared.p_value,
            "signature": compared.signature,
            "basis": compared.basis,
        }
    return Comparison(
        seed=measure(seed),
        best=measure(best),
        difference=difference,
        pairs=len(pairs),
        better=better,
        worse=worse,
        selected_on=selected_on,
        level=level,
        **sure,
    )


def verdict(compared: PairedComparison, significant: bool | None) -> str:
    """Better, worse or no evidence, in a sentence with its interval."""
    difference, low, high = compared.difference, compared.interval.low, compared.interval.high
    p_value, level = compared.p_value, compared.interval.level
    if difference is None or p_value is None:
        return f"nothing to compare: {compared.reason or 'no example was scored under both texts'}"
    if not compared.wins and not compared.losses:
        return f"no evidence of improvement: no score changed, {compared.n} examples"
    sure = equals_p(p_value) if low is None or high is None else f"{level_text(level)} CI {low:.4g} to {high:.4g}"
    if significant:
        word = "better" if difference > 0 else "worse"
        return f"{word} by {abs(difference):.4g}, {sure}, {compared.n} examples"
    return f"no evidence of improvement: changed by {difference:+.4g}, {sure}, {compared.n} examples"


def overall_verdict(sets: SearchSets, valset: Comparison, testset: Comparison | None) -> str:
    """What can be said of the best text, and on which data; or why nothing can."""
    if testset is not None:
        where = f"held out of the {sets.source}" if sets.held_out else "of the testset"
        return f"{testset.verdict} {where}"
    if sets.selected_on == "text":
        scores = " to ".join(
            "no score" if item.mean is None else f"{item.mean:.4g}" for item in (valset.seed, valset.best)
        )
        return f"{scores}; without examples there is nothing to verify it on"
    if sets.testset:
        unscored = "held-out records were" if sets.held_out else "testset was"
        return f"none: the search ended before the {unscored} scored"
    return (
        f"none: nothing was held out ({sets.why_none_held_out}), and the {sets.selected_on} was selected on. "
        "A --testset, or records that can be held out, would give a verdict"
    )


def lineage(kept: Sequence[Accepted]) -> list[KeptCandidate]:
    """Every kept candidate with its diff against its parent."""
    texts = {accepted.number: candidate_of(accepted.texts) for accepted in kept}
    return [
        KeptCandidate(
            number=candidate.number,
            parent=candidate.parent,
            calls=candidate.calls,
            mean=candidate.mean,
            failed=candidate.failed,
            text=str(texts[candidate.number]),
            diff=[]
            if candidate.parent is None
            else unified(texts[candidate.parent], texts[candidate.number], candidate.parent, candidate.number),
            components=candidate.texts if len(candidate.texts) > 1 else {},
            merged_with=candidate.merged_with,
        )
        for candidate in kept
    ]


def unified(before: str, after: str, before_name: object, after_name: object) -> list[str]:
    """A unified diff, line by line; empty when nothing changed."""
    return list(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), f"candidate {before_name}", f"candidate {after_name}", lineterm=""
        )
    )


def problem_of(
    state: Search,
    proposer_failure: Failure | None,
    unresolved: int,
    messages: dict[str, str],
    failed_texts: dict[int, str],
) -> str | None:
    """What a reader must know before anything else."""
    last = f" The last one: {next(reversed(messages.values()))}" if messages else ""
    if state.stop_reason == "proposer_failed" and proposer_failure is not None:
        return f"the proposer failed: {proposer_failure.message}"
    if state.stop_reason == "evaluator_failed":
        return f"the evaluator kept failing.{last}"
    nothing = _why_nothing_was_searched(state, failed_texts)
    if nothing is None and unresolved:
        count = "1 evaluation of a kept text" if unresolved == 1 else f"{unresolved} evaluations of kept texts"
        return f"{count} gave no score after all retries.{last}"
    return nothing


def _why_nothing_was_searched(state: Search, failed_texts: dict[int, str]) -> str | None:
    if not state.proposals and state.stop_reason not in ("target_reached", "interrupted", "spent"):
        return "not a single usable proposal was made, so nothing was searched"
    if state.stop_reason == "repeating" and state.tried_nothing_new:
        return "the proposer only gave the seed back, so nothing was searched"
    if failed_texts and state.new_texts <= failed_texts.keys():
        last = next(reversed(failed_texts.values()))
        return f"not one of the {len(failed_texts)} proposed texts could be evaluated. The last one: {last}"
    return None


def unseen(result: Result) -> str:
    """The name of the examples behind the verdict."""
    return "held out" if result.held_out else "testset"


def in_words(result: Result) -> str:
    """The result for a person, the most important first."""
    calls = result.calls
    lines = []
    if result.problem is not None:
        lines.append(f"PROBLEM: {result.problem}")
    lines += [
        f"stopped: {result.stopped}",
        f"proposals: {proposals_in_words(result)}",
        f"evaluator calls: {calls['used']} used, budget {calls['budget']}"
        + (f", {calls['from_cache']} more answered from the cache" if calls["from_cache"] else "")
        + (f", {calls['reused']} reused from another search" if calls["reused"] else "")
        + (f", {calls['retries']} retries" if calls["retries"] else ""),
    ]
    if result.evaluator_failures:
        total = sum(result.evaluator_failures.values())
        lines.append(f"evaluator failures: {total} ({counts(result.evaluator_failures)})")
    if result.failed_texts:
        lines.append(
            f"texts that failed: {len(result.failed_texts)}, while the evaluator scored others; "
            f"{_shown_in_words(result)} shown to the proposer"
        )
    if result.clamped is not None:
        lines.append(f"judge: {result.clamped}")
    if result.merges == 0:
        lines.append("merges: none was made; --merge had no effect")
    if result.feedback_cut:
        lines.append(f"feedback: {result.feedback_cut} examples were cut to fit (--feedback-chars)")
    selected = "" if result.best_is_seed or result.selected_on == "text" else " (selected on, so biased upwards)"
    lines.append(f"{result.selected_on}: {in_both(result.valset)}{selected}")
    if result.testset is not None:
        lines.append(f"{unseen(result)}: {in_both(result.testset)}")
    lines.append(f"verdict: {result.verdict}")
    if result.front is not None:
        lines.append(
            f"front over {', '.join(result.front.objectives)}: candidates {', '.join(map(str, result.front.numbers))}; "
            f"{result.best_number} was chosen by {result.front.chosen_by}"
        )
    if result.best_is_seed:
        lines.append("the seed stays the best text")
    lines += spent_in_words(result.spent)
    return "\n".join(lines)


def _shown_in_words(result: Result) -> str:
    shown = result.failures_shown
    if shown == len(result.failed_texts):
        return "each failure was"
    return f"{shown or 'none'} of the failures {'was' if shown == 1 else 'were'}"


def proposals_in_words(result: Result) -> str:
    made = result.proposals
    words = f"{made['made']} made, {made['accepted']} accepted, {made['rejected']} rejected"
    if made["repeated"]:
        words += f", {made['repeated']} repeated ({percent(made['repeated'] / max(1, made['made']))})"
    return words + (f", {made['unusable']} answers unusable" if made["unusable"] else "")


def counts(numbers: dict[str, int]) -> str:
    """Each name with its number; `none` when there is none."""
    return ", ".join(f"{name} {number}" for name, number in numbers.items()) or "none"


def in_both(compared: Comparison) -> str:
    return f"seed {one_mean(compared.seed)}, best {one_mean(compared.best)}"


def one_mean(measured: SetScore) -> str:
    mean = "no score" if measured.mean is None else number(measured.mean, 4)
    return mean if not measured.failed else f"{mean} ({measured.failed} failed)"
