"""Tasks that ask how likely given texts are: their metric words, and the variant for models that can only write."""

from __future__ import annotations

import msgspec

from assay.catalog import solver_needs
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition

CHOICE_WORDS = {
    "choice_likelihood": "raw",
    "choice_likelihood_per_character": "per_character",
    "choice_likelihood_per_byte": "per_byte",
    "choice_likelihood_unconditional": "unconditional",
}
"""A metric word of task folders -> how likelihoods are normalised before the likeliest choice is picked."""

_CAN = (
    "`embedded`, `transformers:MODEL`, or `openai:MODEL@URL` with --model-arg mode=completions on a server that "
    "returns the log-probabilities of prompts (vLLM, `assay model serve`)"
)

TEXT_WORDS = ("perplexity", "bits_per_byte")
PROBABILITY_WORD = "choice_probability"
"""How much of the probability of all choices is that of the right ones."""


def is_likelihood(metric: str) -> bool:
    return metric in CHOICE_WORDS or metric in TEXT_WORDS or metric == PROBABILITY_WORD


def define_likelihood_task(name: str, metric: str, dataset: DatasetSpec, *, source: str = "") -> TaskDefinition:
    """The task of a file whose metric is one of these words."""
    if metric in TEXT_WORDS:
        first, second = ("perplexity", "bits_per_byte") if metric == "perplexity" else ("bits_per_byte", "perplexity")
        solver = PartSpec(key="text_likelihood", use="text_likelihood")
        scorer = PartSpec(key=metric, use="text_likelihood")
        aggregates = [PartSpec(key=first, use=first), PartSpec(key=second, use=second)]
    elif metric == PROBABILITY_WORD:
        solver = PartSpec(key="choice_likelihood", use="choice_likelihood")
        scorer = PartSpec(key=metric, use=metric)
        aggregates = [PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]})]
    else:
        normalize = CHOICE_WORDS[metric]
        solver = PartSpec(key="choice_likelihood", use="choice_likelihood", options={"normalize": normalize})
        scorer = PartSpec(key=metric, use="choice_likelihood", options={"normalize": normalize})
        others = [item for item in ("raw", "per_character", "per_byte") if item != normalize]
        aggregates = [
            PartSpec(key="score", use="mean", options={"field": "score"}),
            *(PartSpec(key=other, use="mean", options={"field": other, "name": other}) for other in others),
        ]
    return TaskDefinition(
        name=name,
        format="task_folder",
        dataset=dataset,
        solver=solver,
        scorers=(scorer,),
        aggregates=tuple(aggregates),
        metric=metric,
        source=source,
    )


def generative_variant(definition: TaskDefinition) -> TaskDefinition:
    """The same choices, shown with letters and answered by writing one; other tasks are returned as they are."""
    variant = solver_needs(definition.solver).plain_variant
    if variant is None:
        return definition
    if definition.provenance.over_rows:
        return _generative_declarative(definition, variant)
    return msgspec.structs.replace(
        definition,
        solver=PartSpec(key=variant, use=variant),
        scorers=(PartSpec(key=variant, use=variant),),
        aggregates=(PartSpec(key="score", use="mean", options={"field": "score"}),),
        metric=variant,
    )


def _generative_declarative(definition: TaskDefinition, variant: str) -> TaskDefinition:
    """The templates stay; the scorers that looked at likelihoods become one that reads the letter."""
    solver = definition.solver
    templates = {name: solver.options.get(name) for name in ("prompt", "choices", "system_prompt")}
    first = next(scorer for scorer in definition.scorers if scorer.use == solver.use)
    target = {"ground_truth_choice": first.options["ground_truth_choice"], "choices": templates["choices"]}
    others = tuple(scorer for scorer in definition.scorers if scorer.use != solver.use)
    kept = {scorer.key for scorer in others}
    aggregates = tuple(part for part in definition.aggregates if part.options.get("scorer") in kept)
    mean = PartSpec(key=f"{variant}.mean", use="mean", options={"scorer": variant, "field": "score", "name": variant})
    return msgspec.structs.replace(
        definition,
        solver=PartSpec(key=solver.key, use=variant, options=templates),
        scorers=(PartSpec(key=variant, use=variant, options=target), *others),
        aggregates=(mean, *aggregates),
        metric=variant,
    )


def offer(definition: TaskDefinition) -> str:
    """What to do instead with a model that cannot score a given text."""
    if solver_needs(definition.solver).plain_variant is not None:
        return (
            "Add --generative to have it generate the letter of its choice instead (a different measure), "
            f"or use a model that scores texts: {_CAN}."
        )
    return f"It has no generative variant; use a model that scores texts: {_CAN}."
