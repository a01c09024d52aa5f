"""`labeler_via_model`: another model labels the answer or the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from assay.core.describe import DefaultAggregate, ScorerInfo, Value, describes
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Sample, Score, Trace
from assay.part_options import ANSWER, Doc, InFiles, TemplateOption, part
from assay.scorers.judging.judge import (
    NO_VERDICT,
    Judge,
    JudgeKey,
    JudgePrompt,
    Structured,
    constant_reply,
    label_instruction,
    verdict_schema,
)
from assay.scorers.judging.rehearsed import Verdict
from assay.scorers.judging.verdict import read_label

LABELER_SYSTEM_PROMPT = (
    "You are a helpful assistant and will be used to label the output of another model or a dataset sample."
)


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    labels = options.get("valid_labels")
    known = tuple(map(str, labels)) if isinstance(labels, list | tuple) else ()
    return ScorerInfo(
        values=(Value(name="label", kind="label", lower_is_better=None, labels=known),),
        aggregates=(DefaultAggregate(use="frequency", options={"field": "label"}),),
        verdict="label",
        calls="1 call",
    )


@describes(lambda options, _: _described(options))
@part(
    "A model labels the answer or the sample.",
    example="""\
type: labeler_via_model
key: kind
purpose: qa
model_key: labeler
user_prompt: "Answer: {{ solver_output.output }}"
valid_labels: [answer, refusal]
""",
)
class Labeler(Judge):
    """`label`: a model labels the answer or the sample; an empty `valid_labels` allows any label."""

    def __init__(
        self,
        key: str,
        *,
        model_key: JudgeKey,
        system_prompt: Annotated[
            str, TemplateOption("The labeler's instructions.", ANSWER), InFiles(LABELER_SYSTEM_PROMPT)
        ],
        user_prompt: JudgePrompt,
        valid_labels: Annotated[Sequence[str], Doc("Empty allows any label.")] = (),
        use_structured_outputs: Structured = False,
        has_solver: bool = True,
        model: Mapping[str, Any] | None = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self._labels = tuple(valid_labels)
        shape: dict[str, Any] = {"enum": list(valid_labels)} if valid_labels else {"type": "string"}
        super().__init__(
            key,
            model_key=model_key,
            model=model,
            system_prompt=system_prompt,
            user_prompt=user_prompt,
            instruction=label_instruction("label", valid_labels, use_structured_outputs),
            schema=verdict_schema("label", shape) if use_structured_outputs else None,
            has_solver=has_solver,
            context=context,
        )

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        label, verdict, exchange = await self.verdict(
            sample, trace, lambda text: read_label(text, self._labels, ("label", "prediction"))
        )
        return Score(name=self.name, values={"label": label}, metadata=self.metadata(exchange, verdict))

    def verdicts(self) -> list[Verdict]:
        """Every label, or some label where any is valid."""
        labels = self._labels or ("a label",)
        return [*(Verdict(constant_reply(label), {"label": label}) for label in labels), NO_VERDICT]
