"""Repeating one sample: the command that runs it alone, and its request for curl. Neither contains a key."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.types import Request
from assay.models.adapters.anthropic import API_VERSION, DEFAULT_MAX_TOKENS, anthropic_body, anthropic_url
from assay.models.adapters.gemini import gemini_body, gemini_url
from assay.models.adapters.openai import openai_body, openai_url
from assay.run_file import RunFile
from assay.runs.command import command_without

LEFT_OUT = ("--only", "--limit", "--run-dir", "--output", "--shard", "--junit")
"""Flags of the whole run that mean nothing, or another thing, for one sample of it."""


def run_only(run: RunFile, sample: str) -> str | None:
    """The run's own command for this sample alone; None where no command line made the run."""
    kept = command_without(run, LEFT_OUT)
    if kept is None:
        return None
    return shlex.join([*kept, *((f"--only={sample}",) if sample.startswith("-") else ("--only", sample))])


def as_curl(run: RunFile, request: Mapping[str, Any]) -> str | None:
    """The request as a command for a shell, with the body that the adapter sends.

    None for models that are not HTTP services, that use their own protocol, or that cannot take the request.
    """
    address, sent = run.model.get("base_url"), _as_request(request)
    if sent is None or not isinstance(address, str) or not address.startswith(("http://", "https://")):
        return None
    try:
        parts = _sent(run, address, sent)
    except (LookupError, TypeError, ValueError):  # a journal may hold anything
        return None
    return None if parts is None else _curl(*parts)


def _sent(run: RunFile, address: str, request: Request) -> tuple[str, list[str], dict[str, Any]] | None:
    """Address, headers and body, as the model's adapter makes them."""
    model, extra, name = run.model, _extra(run.model), str(run.model["model"])
    adapter = str(model.get("adapter", ""))
    key = _key_variable(run, adapter)
    if adapter == "anthropic":
        body = anthropic_body(request, extra, name, int(model.get("max_tokens") or DEFAULT_MAX_TOKENS))
        return anthropic_url(address), _anthropic_headers(model, key), body
    if adapter == "gemini":
        return gemini_url(address, name), [f"x-goog-api-key: ${key}"], gemini_body(request, extra, name)
    if "mode" not in model:
        return None
    mode, limit = str(model["mode"]), str(model.get("max_tokens_field") or "max_tokens")
    return openai_url(address, mode), [f"Authorization: Bearer ${key}"], openai_body(request, extra, name, mode, limit)


def _anthropic_headers(model: Mapping[str, Any], key: str) -> list[str]:
    headers = [f"x-api-key: ${key}", f"anthropic-version: {API_VERSION}"]
    beta = model.get("beta")
    return headers + ([f"anthropic-beta: {beta}"] if isinstance(beta, str) and re.fullmatch(r"[\w.,-]+", beta) else [])


def _as_request(request: Mapping[str, Any]) -> Request | None:
    """As the adapter gets it; None for a record of another tool that has another shape."""
    try:
        return msgspec.convert({name: request[name] for name in Request.__struct_fields__ if name in request}, Request)
    except msgspec.ValidationError:
        return None


def _key_variable(run: RunFile, adapter: str) -> str:
    """The name of the variable that holds the key, fit to stand in a shell."""
    named = run.config.model_options.get("api_key_env")
    if isinstance(named, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", named):
        return named
    return re.sub(r"[^A-Z0-9]", "_", (adapter or "openai").upper()) + "_API_KEY"


def _extra(model: Mapping[str, Any]) -> dict[str, Any]:
    extra = model.get("extra")
    return dict(extra) if isinstance(extra, dict) else {}


def _curl(address: str, headers: Sequence[str], body: Mapping[str, Any]) -> str:
    """Variables are in double quotes, for the shell to fill in; all else is quoted so that it stays what it is."""
    lines = [f"curl {shlex.quote(address)}", "-H 'content-type: application/json'"]
    lines += [f'-H "{header}"' for header in headers]
    lines.append(f"-d {shlex.quote(msgspec.json.encode(body).decode())}")
    return " \\\n  ".join(lines)
