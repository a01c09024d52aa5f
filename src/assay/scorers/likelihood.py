"""Scorers for the likelihood solvers: the right choice, the letter, the bits a text cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Annotated, Any

from assay.core.describe import DefaultAggregate, ScorerInfo, Value, count, describes, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Failure, Sample, Score, ScoreValue, Trace
from assay.metrics.choice_likelihood import NORMALIZATIONS, pick, probability_of, target_place
from assay.metrics.extraction import final_letter
from assay.part_options import Doc, InFiles, TemplateOption, Words, part
from assay.prompts.row_sample import RowSample


def _choices_described(options: Mapping[str, Any]) -> ScorerInfo:
    """The share of right choices, and what it would be under the other normalisations that can always be computed."""
    others = [item for item in ("raw", "per_character", "per_byte") if item != options.get("normalize", "raw")]
    return ScorerInfo(
        values=tuple(share(name) for name in ("score", *NORMALIZATIONS)),
        aggregates=(mean_of("score", name="accuracy"), *(mean_of(other, key=other, name=other) for other in others)),
    )


@describes(lambda options, _: _choices_described(options))
@part(
    "Whether the choice that the model finds likeliest is the right one.",
    example='ground_truth_choice: "{{ sample.answer }}", normalize: per_byte',
)
class ChoiceLikelihoodScorer:
    """Whether the likeliest of `extras.choices` is the target (a choice's text, its letter, or its number from 0).

    `score` is that under `normalize`; the result under every other normalisation that can be computed is reported too.
    `ground_truth_choice` is a template of the target over the sample's row.
    """

    def __init__(
        self,
        key: str,
        *,
        normalize: Annotated[str, Words(tuple(NORMALIZATIONS)), Doc("What is compared between choices.")] = "raw",
        ground_truth_choice: Annotated[
            str | None,
            TemplateOption("Template of the right choice: its text, its letter, or its number from 0."),
            InFiles(),
        ] = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if normalize not in NORMALIZATIONS:
            raise UsageError(f"normalize must be one of {', '.join(NORMALIZATIONS)}, got `{normalize}`")
        self.name = key
        self._normalize = normalize
        self._read = _row_sample(key, context, target=ground_truth_choice)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        sample = self._read.of(sample)
        items = _items(trace, self.name)
        right = right_places(sample, [str(item["choice"]) for item in items], self.name)
        values: dict[str, ScoreValue] = {"score": float(pick(items, self._normalize) in right)}
        for normalization in NORMALIZATIONS:
            if normalization != "unconditional" or all("unconditional_logprob" in item for item in items):
                values[normalization] = pick(items, normalization) in right
        return Score(name=self.name, values=values, answer=str(items[pick(items, self._normalize)]["choice"]))


@describes(ScorerInfo(values=(share("score"),)))
class ChoiceProbabilityScorer:
    """`score` is the share of the choices' probability that falls on the targets, as in TruthfulQA's MC2."""

    def __init__(self, key: str) -> None:
        self.name = key

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        items = _items(trace, self.name)
        right = right_places(sample, [str(item["choice"]) for item in items], self.name)
        return Score(name=self.name, values={"score": probability_of(items, right)}, answer=trace.prediction)


@describes(ScorerInfo(values=(share("score"),)))
class LetteredChoiceScorer:
    """Whether the letter that the model wrote is that of the target; how the letter is extracted is logged."""

    def __init__(
        self,
        key: str,
        *,
        ground_truth_choice: str | None = None,
        choices: str | None = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self.name = key
        self._read = _row_sample(key, context, target=ground_truth_choice, choices=choices)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        sample = self._read.of(sample)
        choices = [str(choice) for choice in sample.extras["choices"]]
        letter = final_letter(trace.prediction, ascii_uppercase[: len(choices)])
        right = right_places(sample, choices, self.name)
        score = float(letter != "" and ascii_uppercase.index(letter) in right)
        return Score(name=self.name, values={"score": score}, answer=letter, extracted=letter != "")


@describes(
    ScorerInfo(
        values=(
            Value(name="nats", lower_is_better=True),
            *(count(name) for name in ("bytes", "words")),
            Value(name="bits_per_byte", lower_is_better=True),
            count("tokens"),
        ),
        aggregates=(
            DefaultAggregate(use="bits_per_byte"),
            DefaultAggregate(use="perplexity", options={"unit": "word"}),
        ),
    )
)
@part("What the text cost the model: nats, bytes, words, tokens.", example="metrics: [{type: bits_per_byte}]")
class TextLikelihoodScorer:
    """The bits that a text cost the model; `bits_per_byte` and `perplexity` divide their sums over the task.

    `nats`, and the `bytes`, `words` and (where the model reports them) `tokens` to divide them by.
    """

    def __init__(self, key: str) -> None:
        self.name = key

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


def _row_sample(key: str, context: BuildContext, **templates: str | None) -> RowSample:
    return RowSample(templates, where=f"scorers.{key}", stage="scorer", part=key, context=context)


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
