"""Scorers of what the likelihood solvers found out: the right choice, the letter, the bits a text cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Failure, Sample, Score, ScoreValue, Trace
from assay.metrics.choice_likelihood import NORMALIZATIONS, pick, target_place
from assay.metrics.extraction import final_letter
from assay.prompts.row_sample import RowSample


class ChoiceLikelihoodScorer:
    """`score` under the normalisation the task names, and right or wrong under each that can be told."""

    def __init__(self, name: str, normalize: str, read: RowSample) -> None:
        self.name = name
        self._normalize = normalize
        self._read = read

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        sample = self._read.of(sample)
        items = _items(trace, self.name)
        right = right_places(sample, [str(item["choice"]) for item in items], self.name)
        values: dict[str, ScoreValue] = {"score": float(pick(items, self._normalize) in right)}
        for normalization in NORMALIZATIONS:
            if normalization != "unconditional" or all("unconditional_logprob" in item for item in items):
                values[normalization] = pick(items, normalization) in right
        return Score(name=self.name, values=values, answer=str(items[pick(items, self._normalize)]["choice"]))


class LetteredChoiceScorer:
    """1.0 when the letter read out of the prediction is that of a right choice."""

    def __init__(self, name: str, read: RowSample) -> None:
        self.name = name
        self._read = read

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        sample = self._read.of(sample)
        choices = [str(choice) for choice in sample.extras["choices"]]
        letter = final_letter(trace.prediction, ascii_uppercase[: len(choices)])
        right = right_places(sample, choices, self.name)
        score = float(letter != "" and ascii_uppercase.index(letter) in right)
        return Score(name=self.name, values={"score": score}, answer=letter, extracted=letter != "")


class TextLikelihoodScorer:
    """What a text cost: `nats`, and the `bytes`, `words` and (where the model tells) `tokens` to divide them by."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        item = _items(trace, self.name)[0]
        text = str(item["text"])
        size = len(text.encode("utf-8", "surrogatepass"))
        nats = -float(item["logprob"])
        values: dict[str, ScoreValue] = {
            "nats": nats,
            "bytes": float(size),
            "words": float(max(1, len(text.split()))),
            "bits_per_byte": nats / math.log(2) / size,
        }
        if "tokens" in item:
            values["tokens"] = float(item["tokens"])
        return Score(name=self.name, values=values)


def choice_likelihood(
    key: str, *, normalize: str = "raw", ground_truth_choice: str | None = None, context: BuildContext = NO_CONTEXT
) -> ChoiceLikelihoodScorer:
    """Whether the likeliest of `extras.choices` is the target (a choice's text, its letter, or its number from 0).

    `ground_truth_choice` is a template of the target over the sample's row.
    """
    if normalize not in NORMALIZATIONS:
        raise UsageError(f"normalize must be one of {', '.join(NORMALIZATIONS)}, not `{normalize}`")
    return ChoiceLikelihoodScorer(key, normalize, _row_sample(key, context, target=ground_truth_choice))


def lettered_choice(
    key: str, *, ground_truth_choice: str | None = None, choices: str | None = None, context: BuildContext = NO_CONTEXT
) -> LetteredChoiceScorer:
    """Whether the letter that the model wrote is that of the target; how the letter is read out is logged."""
    return LetteredChoiceScorer(key, _row_sample(key, context, target=ground_truth_choice, choices=choices))


def _row_sample(key: str, context: BuildContext, **templates: str | None) -> RowSample:
    return RowSample(templates, where=f"scorers.{key}", stage="scorer", part=key, context=context)


def text_likelihood(key: str, *, context: BuildContext = NO_CONTEXT) -> TextLikelihoodScorer:
    """The bits that a text cost the model; `bits_per_byte` and `perplexity` divide their sums over the task."""
    return TextLikelihoodScorer(key)


def right_places(sample: Sample, choices: Sequence[str], part: str) -> set[int]:
    places = {target_place(target, choices) for target in sample.targets}
    if None in places or not places:
        message = f"the targets {list(sample.targets)} are not among the choices, by text, letter or number"
        raise FailureError(Failure(stage="scorer", part=part, kind="bad_request", message=message))
    return {place for place in places if place is not None}


def _items(trace: Trace, part: str) -> list[dict[str, Any]]:
    if not trace.items:
        message = "the trace holds no likelihoods; the task's solver must be a likelihood solver"
        raise FailureError(Failure(stage="scorer", part=part, kind="bad_request", message=message))
    return trace.items
