"""More than one thing to be good at: sub-scores of the evaluator, length, cost, and the texts that no other beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.core.errors import UsageError
from assay.evaluators.payload import why_not_a_number
from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.journal import Texts
from assay.optimize.search_settings import SCORE
from assay.results.search_rows import ParetoFront
from assay.stats.pareto import pareto_front as undominated

LOWER_IS_BETTER = ("length", "seconds", "tokens", "cost")
"""Objectives that every search has: characters of the texts, seconds of an evaluation, tokens that models used for it,
and what those cost, where prices are known."""


def sub_scores(outcome: ScoreOrFailure) -> dict[str, float]:
    """What the evaluator names under `scores`, as far as it is numbers."""
    scores = outcome.side_info.get("scores")
    if scores is None or not isinstance(scores, Mapping):
        return {}
    return {str(name): float(value) for name, value in scores.items() if why_not_a_number(value) is None}


def refuse_unknown(names: Sequence[str], texts: Texts, outcomes: Sequence[ScoreOrFailure]) -> None:
    """An objective that no evaluation gives would decide nothing, without a word."""
    known = dict.fromkeys(name for outcome in outcomes for name in _known(outcome, texts))
    for name in names:
        if known and name not in known:
            raise UsageError(f"no evaluation of the seed has the objective `{name}`; there are: {', '.join(known)}")


def upward(outcome: ScoreOrFailure, texts: Texts, objectives: Sequence[str], failure: float) -> dict[str, float]:
    """Every objective of one evaluation as a number of which more is better; what is not known is a failure."""
    known = _known(outcome, texts)
    return {
        name: failure if name not in known else -known[name] if name in LOWER_IS_BETTER else known[name]
        for name in objectives
    }


def pareto_front(
    kept: Mapping[int, tuple[Texts, Sequence[ScoreOrFailure]]], objectives: Sequence[str], chosen_by: str
) -> ParetoFront | None:
    """The front over the kept texts; None when there is one objective only."""
    reported = dict.fromkeys(
        name for _, outcomes in kept.values() for outcome in outcomes for name in sub_scores(outcome)
    )
    names = list(objectives) or [SCORE, *reported]
    if len(names) < 2:
        return None
    means = {number: _means(texts, outcomes, names) for number, (texts, outcomes) in kept.items()}
    first_with: dict[tuple[float, ...], int] = {}
    for number, each in means.items():
        if len(each) == len(names):
            first_with.setdefault(_upwards(each), number)
    return ParetoFront(
        objectives=names,
        lower_is_better=[name for name in names if name in LOWER_IS_BETTER],
        means={str(number): each for number, each in means.items()},
        numbers=[list(first_with.values())[place] for place in undominated(list(first_with))],
        chosen_by=chosen_by,
    )


def mean_objective(texts: Texts, outcomes: Sequence[ScoreOrFailure], name: str) -> float | None:
    """The mean of one objective, turned so that more is better."""
    if name == SCORE:
        scores = [outcome.score for outcome in outcomes if outcome.score is not None]
        return sum(scores) / len(scores) if scores else None
    value = _means(texts, outcomes, [name]).get(name)
    return value if value is None or name not in LOWER_IS_BETTER else -value


def _means(texts: Texts, outcomes: Sequence[ScoreOrFailure], names: Sequence[str]) -> dict[str, float]:
    known = [_known(outcome, texts) for outcome in outcomes if outcome.failure is None]
    values = {name: [item[name] for item in known if name in item] for name in names}
    return {name: sum(each) / len(each) for name, each in values.items() if each}


def _known(outcome: ScoreOrFailure, texts: Texts) -> dict[str, float]:
    if outcome.score is None:
        return {}
    tokens = sum([usage.tokens_in + usage.tokens_out for usage in outcome.usage])
    length = sum(map(len, texts.values()))
    cost = {} if outcome.cost is None else {"cost": outcome.cost}
    always = {SCORE: outcome.score, "length": length, "seconds": outcome.seconds, "tokens": tokens}
    return {**always, **cost, **sub_scores(outcome)}


def _upwards(values: Mapping[str, float]) -> tuple[float, ...]:
    return tuple(-value if name in LOWER_IS_BETTER else value for name, value in values.items())
