"""Custom providers: an HTTP service described in the configuration, and Python with a `call_api`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from assay.tasks.promptfoo.config import FILE, Config, PlacedValue

_PROMPT = re.compile(r"\{\{\s*prompt\s*(?:\|\s*(?:dump|safe)\s*)?\}\}")
_INPUT = "{{ (input.messages[-1].content if input.messages | length == 1 else input.messages | tojson) | json_escape }}"
_PATH = re.compile(r"(?:\(?json(?:\s*,\s*text)?\)?\s*=>\s*)?(json(?:\??\.\w+|\[\d+\]|\[['\"]\w+['\"]\])*)\s*;?\s*")
_OF_HTTP = {"url", "method", "headers", "body", "transformResponse", "responseParser", "maxRetries", "timeoutMs"}
_PYTHON = """
import importlib.util
import json
import os
import sys

FILE, FUNCTION, CONFIG = {file!r}, {function!r}, json.loads({config!r})
_module = None


def run_inference(body, environment):
    global _module
    if _module is None:
        path = os.path.abspath(FILE)
        sys.path.insert(0, os.path.dirname(path))
        spec = importlib.util.spec_from_file_location("promptfoo_provider", path)
        _module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(_module)
    messages = json.loads(body)["messages"]
    alone = len(messages) == 1 and isinstance(messages[0]["content"], str)
    prompt = messages[0]["content"] if alone else json.dumps(messages)
    context = {{"vars": {{}}}}
    if "traceparent" in environment:
        _, trace, span, _ = environment["traceparent"].split("-")
        context |= {{"traceparent": environment["traceparent"], "evaluationId": trace, "testCaseId": span}}
    found = getattr(_module, FUNCTION)(prompt, {{"config": CONFIG}}, context)
    if found.get("error"):
        raise RuntimeError(str(found["error"]))
    output, used = found.get("output"), found.get("tokenUsage") or {{}}
    text = output if isinstance(output, str) else json.dumps(output)
    usage = {{"prompt_tokens": used.get("prompt"), "completion_tokens": used.get("completion")}}
    choice = {{"message": {{"content": text}}, "finish_reason": found.get("finishReason")}}
    return {{"choices": [choice], "usage": usage, "metadata": found.get("metadata")}}
"""

OWN = ("adapted:", "custom_inference:")
"""The models of custom providers, which may send spans."""
ProviderProgram = tuple[dict[str, Any] | None, str]


def http_model(name: str, settings: Mapping[str, Any]) -> ProviderProgram:
    """A service that takes JSON with the prompt in it, and answers with JSON that contains the text."""
    url = str(settings.get("url") or name)
    if problem := _why_unsupported(url, settings):
        return None, problem
    body = settings["body"]
    written = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    sent = _PROMPT.sub(lambda _: "\0", written)
    path = _PATH.fullmatch(str(settings.get("transformResponse") or settings.get("responseParser") or "json").strip())
    if "{{" in sent or "{%" in sent:
        return None, "its body uses more than `{{prompt}}`"
    if path is None:
        return None, "its `transformResponse` is more than a path such as `json.choices[0].message.content`"
    answer = path[1].replace("?.", ".")
    options = {
        "base_url": url,
        "process_input": sent.replace("\0", _INPUT),
        "process_output": _OUTPUT.replace("ANSWER", answer),
    }
    return {"model": f"adapted:{url.split('://', 1)[1].replace(':', '-')}", "options": options}, ""


_OUTPUT = (
    '{% set json = body | fromjson %}{"choices": [{"message": {"content": {{ (ANSWER if ANSWER is string else ANSWER '
    "| tojson) | tojson }}}}]}"
)


def _why_unsupported(url: str, settings: Mapping[str, Any]) -> str | None:
    """Why a service cannot be called; None where it can."""
    headers = {str(key).lower(): str(value) for key, value in (settings.get("headers") or {}).items()}
    other_headers = [key for key, value in headers.items() if key != "content-type" or "json" not in value.lower()]
    unknown = [key for key in settings if key not in _OF_HTTP]
    reasons = {
        "its address is a template": not re.fullmatch(r"https?://[^\s{}]+", url),
        f"its config has `{''.join(unknown[:1])}`, which has no counterpart here": bool(unknown),
        "only services that take a `body` by POST are supported": settings.get("body") is None
        or str(settings.get("method") or "POST").upper() != "POST",
        f"its header `{''.join(other_headers[:1])}` has no counterpart here": bool(other_headers),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def python_model(config: Config, value: PlacedValue, name: str, settings: Mapping[str, Any]) -> ProviderProgram:
    """The author's `call_api(prompt, options, context)`, which runs only where the file is trusted."""
    shape = re.fullmatch(r"(.*\.py)(?::(\w+))?", name.removeprefix("python:").removeprefix(FILE))
    if shape is None:
        return None, "only Python is supported as a custom provider"
    paths = config.named(value, shape[1])
    if not paths:
        return None, "there is no such file"
    options = {key: each for key, each in settings.items() if key != "pythonExecutable"}
    source = _PYTHON.format(
        file=str(paths[0]), function=shape[2] or "call_api", config=json.dumps(options, default=str)
    )
    return {"model": f"custom_inference:{paths[0].stem}", "options": {"run_inference_snippet": source}}, ""
