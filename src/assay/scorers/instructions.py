"""Scores whether a text followed its sample's instructions, strictly and loosely, per prompt and per instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from assay.core.describe import ScorerInfo, count, describes, mean_of, share
from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Scorer
from assay.core.types import Failure, Sample, Score, Trace
from assay.metrics.instructions import CHECKS, follows, loose_variants
from assay.part_options import Doc, InFiles, Problem, TemplateOption, part
from assay.scorers.over_row import LookedAt, over_row
from assay.text.wording import hint


class Instructions:
    """`score` is 1.0 when the unmodified text follows every instruction; the counts add up over a task."""

    only_computes = True
    """Pure computation: any process may run it."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        instructions = sample.extras.get("instructions")
        if not isinstance(instructions, list) or not instructions:
            raise self._bad("extras.instructions must be a list of instructions, each with its `id`")
        unknown = next(
            (instruction.get("id") for instruction in instructions if instruction.get("id") not in CHECKS), None
        )
        if unknown is not None:
            raise self._bad(f"`{unknown}` is not an instruction that can be checked")
        try:
            text, *variants = loose_variants(trace.prediction)
            strict = [follows(text, instruction) for instruction in instructions]
            loose = [
                followed or any(follows(variant, each) for variant in variants)
                for each, followed in zip(instructions, strict, strict=True)
            ]
        except (TypeError, ValueError) as error:
            raise self._bad(f"an instruction's options are wrong: {error}") from error
        missed = [str(each["id"]) for each, followed in zip(instructions, strict, strict=True) if not followed]
        return Score(
            name=self.name,
            values={
                "score": float(all(strict)),
                "prompt_loose": all(loose),
                "followed": float(sum(strict)),
                "missed": float(len(strict) - sum(strict)),
                "followed_loosely": float(sum(loose)),
                "missed_loosely": float(len(loose) - sum(loose)),
            },
            reason=f"not followed: {', '.join(missed)}" if missed else None,
        )

    def _bad(self, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))


def _known_instructions(options: Mapping[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    listed = options["instructions"]
    for at, instruction in enumerate(listed if isinstance(listed, list) else ()):
        if "id" not in instruction:
            problems.append((("instructions", at), "an instruction needs the field `id`"))
        elif (name := instruction["id"]) not in CHECKS:
            known = hint(str(name), sorted(CHECKS), "Known here")
            message = f"`{name}` is not an instruction that can be checked. {known}"
            problems.append((("instructions", at, "id"), message))
    return problems


@describes(
    ScorerInfo(
        values=(
            share("score"),
            share("prompt_loose"),
            count("followed", lower_is_better=False),
            count("missed", lower_is_better=True),
            count("followed_loosely", lower_is_better=False),
            count("missed_loosely", lower_is_better=True),
        ),
        aggregates=(
            mean_of("score", key="strict", name="prompt_strict"),
            mean_of("prompt_loose", key="loose", name="prompt_loose"),
        ),
    )
)
@part(
    "Whether instructions that a program can check are followed.",
    example="""\
type: instructions
instructions: [{id: "punctuation:no_comma"}]
""",
    check=_known_instructions,
    editor=(
        {"properties": {"instructions": {"items": {"required": ["id"], "properties": {"id": {"enum": list(CHECKS)}}}}}},
    ),
)
def instructions(
    key: str,
    *,
    instructions: Annotated[
        Annotated[str, TemplateOption("")] | Annotated[Sequence[Mapping[str, Any]], msgspec.Meta(min_length=1)] | None,
        Doc("The instructions, each with its `id` and options; or a template of such a list."),
        InFiles(),
    ] = None,
    value: LookedAt = None,
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """Whether every one of the instructions is followed: 25 kinds that a program can check.

    They are the sample's `extras.instructions`, or what the template `instructions` makes of a row: a list of objects
    with an `id` and its options; or the same list for every sample.
    """
    source = instructions
    if source is not None and not isinstance(source, str):
        source = "{% raw %}" + msgspec.json.encode(source).decode() + "{% endraw %}"
    templates = {"instructions": source}
    return over_row(
        Instructions(key), templates, context=context, value=value, lists=("instructions",), has_solver=has_solver
    )
