"""The span of a request to a model, as promptfoo's providers record it, by OpenTelemetry's conventions for AI."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from time import time
from typing import Any

from assay.core.types import Completion
from assay.spans import Span, with_spans

_FINE = 1


def traced(completion: Completion, model: str, tracing: Mapping[str, Any]) -> Completion:
    """The answer with its trace, even an empty one: a provider without a span of its own has the name None."""
    adapter, _, rest = model.partition(":")
    name = tracing.get("span") if tracing.get("model") == model else f"chat {rest or adapter}"
    spans = [] if name is None else [_span(completion, name, adapter)]
    return with_spans(completion, spans, secrets.token_hex(16))


def _span(completion: Completion, name: str, system: str) -> Span:
    operation, _, model = name.partition(" ")
    end = time() * 1000
    attributes = {
        "gen_ai.system": system,
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": completion.tokens_in,
        "gen_ai.usage.output_tokens": completion.tokens_out,
        "gen_ai.response.finish_reasons": None if completion.finish_reason is None else [completion.finish_reason],
        "promptfoo.cache_hit": completion.cached or None,
    }
    return {
        "spanId": secrets.token_hex(8),
        "name": name,
        "startTime": end - completion.seconds * 1000,
        "endTime": end,
        "attributes": {key: value for key, value in attributes.items() if value is not None},
        "statusCode": _FINE,
    }
