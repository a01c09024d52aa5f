"""The trace of an answer: the spans of its request and of the program behind the model, kept in `Completion.raw`.

A span is plain data under promptfoo's names: `name`, `startTime` and `endTime` in milliseconds, `attributes`,
`statusCode` (1: fine, 2: an error), `statusMessage`, `spanId`, `parentSpanId`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.types import Completion

Span = dict[str, Any]
_KEY = "trace"


def with_spans(completion: Completion, spans: Sequence[Span], trace_id: str) -> Completion:
    """The answer with these spans added to its trace; the id of a trace that it already has is kept."""
    known = (completion.raw or {}).get(_KEY) or {"traceId": trace_id, "spans": []}
    trace = {**known, "spans": [*known["spans"], *spans]}
    return msgspec.structs.replace(completion, raw={**(completion.raw or {}), _KEY: trace})


def trace_of(completions: Sequence[Completion]) -> dict[str, Any] | None:
    """`traceId` and `spans` of all answers together; None where none of them was traced."""
    traces = [completion.raw[_KEY] for completion in completions if completion.raw and _KEY in completion.raw]
    if not traces:
        return None
    return {"traceId": traces[0]["traceId"], "spans": [span for trace in traces for span in trace["spans"]]}
