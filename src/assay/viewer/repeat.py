"""Repeating one sample: the command that runs it alone, and its request for curl. Neither contains a key."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.run_file import RunFile
from assay.core.types import Request
from assay.models.adapters.gemini import gemini_body, gemini_url
from assay.models.adapters.reasoning import thinking_budget

LEFT_OUT = ("--only", "--limit", "--run-dir", "--output", "--shard", "--junit")
"""Flags of the whole run that mean nothing, or another thing, for one sample of it."""
ANTHROPIC_VERSION = "2023-06-01"


def run_only(run: RunFile, sample: str) -> str | None:
    """The run's own command for this sample alone; None where no command line made the run."""
    command = list(run.command)
    if command[:2] != ["assay", "run"]:
        return None
    kept = _without(command, LEFT_OUT)
    if sum(word == "--model" or word.startswith("--model=") for word in kept) > 1:  # a run each: this is one of them
        kept = [*_without(kept, ("--model",)), "--model", run.config.model]
    return shlex.join([*kept, *((f"--only={sample}",) if sample.startswith("-") else ("--only", sample))])


def _without(command: Sequence[str], flags: Sequence[str]) -> list[str]:
    kept, skip = [], False
    for word in command:
        if skip:
            skip = False
        elif word in flags:
            skip = True
        elif not word.startswith(tuple(f"{flag}=" for flag in flags)):
            kept.append(word)
    return kept


def as_curl(run: RunFile, request: Mapping[str, Any]) -> str | None:
    """The request as a command for a shell; None for models that are not HTTP services, or use their own protocol."""
    model = run.model
    address, name, adapter = model.get("base_url"), model.get("model"), str(model.get("adapter", ""))
    if not isinstance(address, str) or not isinstance(name, str) or not address.startswith(("http://", "https://")):
        return None
    key = _key_variable(run, adapter)
    if adapter == "anthropic":
        headers = [f"x-api-key: ${key}", f"anthropic-version: {ANTHROPIC_VERSION}"]
        path, body = "/v1/messages", _anthropic_body(request, name, model)
        address = address.removesuffix("/v1")
    elif adapter == "gemini":
        sent = _as_request(request)
        if sent is None:
            return None
        return _curl(gemini_url(address, name), [f"x-goog-api-key: ${key}"], gemini_body(sent, _extra(model), name))
    elif "mode" in model:
        headers = [f"Authorization: Bearer ${key}"]
        path = "/chat/completions" if model["mode"] == "chat" else "/completions"
        body = _openai_body(request, name, model)
    else:
        return None
    return _curl(address.rstrip("/") + path, headers, body)


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


def _openai_body(request: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": name}
    if model["mode"] == "chat":
        body["messages"] = _messages(request)
    else:
        body["prompt"] = request.get("prompt") or "\n\n".join(str(each.get("content")) for each in _messages(request))
    if "max_tokens" in request:
        body[str(model.get("max_tokens_field") or "max_tokens")] = request["max_tokens"]
    body |= {
        key: request[key] for key in ("temperature", "top_p", "stop", "seed", "reasoning_effort") if key in request
    }
    return {**body, **_extra(model)}


def _anthropic_body(request: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> dict[str, Any]:
    messages = _messages(request)
    system = "\n\n".join(str(each.get("content")) for each in messages if each.get("role") == "system")
    body: dict[str, Any] = {"model": name, "max_tokens": request.get("max_tokens") or model.get("max_tokens") or 4096}
    body |= {"system": system} if system else {}
    body["messages"] = [each for each in messages if each.get("role") != "system"]
    body |= {key: request[key] for key in ("temperature", "top_p") if key in request}
    if budget := thinking_budget(str(request.get("reasoning_effort", "none"))):
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        body["max_tokens"] += budget
    if "stop" in request:
        body["stop_sequences"] = request["stop"]
    return {**body, **_extra(model)}


def _messages(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = request.get("messages")
    if isinstance(given, list) and given:
        return [each for each in given if isinstance(each, dict)]
    return [{"role": "user", "content": str(request.get("prompt") or "")}]


def _extra(model: Mapping[str, Any]) -> dict[str, Any]:
    extra = model.get("extra")
    return dict(extra) if isinstance(extra, dict) else {}


def _curl(address: str, headers: Sequence[str], body: Mapping[str, Any]) -> str:
    """Variables are in double quotes, for the shell to fill in; all else is quoted so that it stays what it is."""
    lines = [f"curl {shlex.quote(address)}", "-H 'content-type: application/json'"]
    lines += [f'-H "{header}"' for header in headers]
    lines.append(f"-d {shlex.quote(msgspec.json.encode(body).decode())}")
    return " \\\n  ".join(lines)
