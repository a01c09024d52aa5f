"""`extra`, the parameters that a model or a request adds to what is sent: they add, and overwrite nothing.

What assay sets itself has a place of its own: there it is recorded, and is part of cache keys and fingerprints. In
`extra` it would overwrite what the run says it sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.models.adapters.http_model import UnsupportedRequestError

_MODEL = "name the model with --model"
_PROMPT = "the task writes the prompt"
_SYSTEM = "use --system"
_LIMIT = "use --max-tokens"
_STOP = "use --stop"
_COUNTS = ("n", "candidateCount", "candidate_count")
_COUNT = "one answer is read for each request: use --repeat"
PLACES = {
    "model": _MODEL,
    **dict.fromkeys(("messages", "prompt", "input", "contents"), _PROMPT),
    **dict.fromkeys(("system", "instructions", "systemInstruction", "system_instruction"), _SYSTEM),
    "temperature": "use --temperature",
    **dict.fromkeys(("top_p", "topP"), "use --top-p"),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"), _LIMIT),
    **dict.fromkeys(("stop", "stop_sequences", "stopSequences"), _STOP),
    "seed": "use --seed",
    "reasoning_effort": "use --reasoning-effort",
    **dict.fromkeys(_COUNTS, _COUNT),
    "stream": "answers are read whole",
    "num_retries": "use --retries",
    "timeout": "use timeout_seconds",
}
"""What assay sets itself, under the names of every API, and where it is said instead."""

_ALWAYS: dict[str, Any] = {
    **dict.fromkeys(_COUNTS, 1),
    "stream": False,
    "model": None,
}
"""What may be said in a request that does not set it: as it is anyway, and no other model."""


def checked_extra(extra: Any) -> dict[str, Any]:
    """The `extra` of a model; `UsageError` for what is not a mapping, or has a field that assay sets itself."""
    if not isinstance(extra, Mapping | None):
        raise UsageError(f"extra must be a mapping of parameter names to values, got {extra!r}")
    fields = dict(extra or {})
    for name, value in fields.items():
        if name in PLACES and (name not in _ALWAYS or value != _ALWAYS[name]):
            raise UsageError(f"extra: `{name}` is set by assay and would be overwritten; {PLACES[name]}")
    return fields


def with_extra(body: dict[str, Any], extra: Mapping[str, Any], more: Mapping[str, Any] | None) -> dict[str, Any]:
    """The body with the fields of the model and of the request; `UnsupportedRequestError` if one overwrites its own."""
    added = {**extra, **more} if more else extra
    for name, value in added.items():
        if value != body.get(name, _ALWAYS.get(name, value)):
            place = f"; {PLACES[name]}" if name in PLACES else ", which the request sets too"
            raise UnsupportedRequestError(f"extra: `{name}` would overwrite what assay sends{place}")
    return {**body, **added}
