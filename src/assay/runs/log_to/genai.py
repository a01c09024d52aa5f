"""Requests, responses and scores as attributes of OpenTelemetry's semantic conventions for generative AI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.types import Completion, Record, Request

_PROVIDERS = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
"""Where the conventions have another word than the adapter."""


def request_attributes(model: Mapping[str, Any], settings: Request) -> dict[str, Any]:
    """Whom a run asks, and how."""
    adapter = str(model.get("adapter", str(model["name"]).partition(":")[0]))
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(adapter, adapter),
        "gen_ai.request.model": str(model["name"]).partition(":")[2] or model["name"],
        "gen_ai.request.temperature": settings.temperature,
        "gen_ai.request.top_p": settings.top_p,
        "gen_ai.request.max_tokens": settings.max_tokens,
        "gen_ai.request.seed": settings.seed,
        "gen_ai.request.stop_sequences": settings.stop,
    }
    return _known(attributes)


def response_attributes(completion: Completion) -> dict[str, Any]:
    """What an answer cost, and why it ended; never its text."""
    attributes = {
        "gen_ai.usage.input_tokens": completion.tokens_in,
        "gen_ai.usage.output_tokens": completion.tokens_out,
        "gen_ai.usage.cache_read.input_tokens": completion.tokens_cached,
        "gen_ai.response.finish_reasons": (completion.finish_reason,) if completion.finish_reason else None,
        "assay.cached": completion.cached,
        "assay.retries": completion.retries,
    }
    return _known(attributes)


def evaluations(record: Record) -> Iterator[dict[str, Any]]:
    """A `gen_ai.evaluation.result` for each value of each score."""
    for score in record.scores:
        for name, value in score.values.items():
            attributes: dict[str, Any] = {"gen_ai.evaluation.name": f"{score.name}.{name}"}
            if isinstance(value, int | float):
                yield attributes | {"gen_ai.evaluation.score.value": float(value)}
            elif value is not None:
                yield attributes | {"gen_ai.evaluation.score.label": value}


def own(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the conventions have no word for, under names of ours."""
    known = _known(facts)
    return {f"assay.{name}": value if isinstance(value, int | float) else str(value) for name, value in known.items()}


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
