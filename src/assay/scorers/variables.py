"""The names a scorer's templates may read about an answer."""

from __future__ import annotations

from typing import Any

from assay.core.types import Trace
from assay.snippets.payload import solver_output


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
