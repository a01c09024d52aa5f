"""The templates of scorers: their fields, and the names they may read about a sample and its answer."""

from __future__ import annotations

from typing import Any

from assay.core.seams import BuildContext
from assay.core.types import Sample, Trace
from assay.prompts.field_template import FieldTemplate
from assay.prompts.written_text import NEVER, row_variables
from assay.snippets.payload import solver_output


def scorer_field(key: str, name: str, source: str, context: BuildContext) -> FieldTemplate:
    """The template in a field of the scorer with this key."""
    return FieldTemplate(str(source), field=f"scorers.{key}.{name}", stage="scorer", part=key, context=context)


def gold_field(key: str, name: str, source: str, context: BuildContext, empty_gold: str = NEVER) -> FieldTemplate:
    """The same for an expected text, which every sample must have."""
    field = f"scorers.{key}.{name}"
    return FieldTemplate(str(source), field=field, stage="scorer", part=key, context=context, empty_gold=empty_gold)


def scorer_variables(sample: Sample, trace: Trace, *, has_solver: bool) -> dict[str, Any]:
    """The row, and where there is a solver its answer."""
    return {**row_variables(sample), **(answer_variables(trace) if has_solver else {})}


def answer_variables(trace: Trace) -> dict[str, Any]:
    """`solver_output`, `model_output`, `messages`, `input_prompt`, `trace` and `model_outputs`.

    `input_prompt` is the text of the last answer in spite of its name: that is what existing prompts rely on.
    """
    seen = solver_output(trace)
    return {
        "solver_output": seen,
        "model_output": seen.output,
        "messages": seen.messages,
        "input_prompt": trace.prediction,
        "trace": seen.trace,
        "model_outputs": seen.raw_outputs,
    }
