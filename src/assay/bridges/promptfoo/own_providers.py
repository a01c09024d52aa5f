"""Custom providers: an HTTP service that the configuration describes, and programs in Python or JavaScript."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from assay.bridges.promptfoo.config import FILE, Config, PlacedValue

_PROMPT = re.compile(r"\{\{\s*prompt\s*(?:\|\s*(?:dump|safe)\s*)?\}\}")
_INPUT = "{{ (input.messages[-1].content if input.messages | length == 1 else input.messages | tojson) | json_escape }}"
_PATH = re.compile(r"(?:\(?json(?:\s*,\s*text)?\)?\s*=>\s*)?(json(?:\??\.\w+|\[\d+\]|\[['\"]\w+['\"]\])*)\s*;?\s*")
_OF_HTTP = {"url", "method", "headers", "body", "transformResponse", "responseParser", "maxRetries", "timeoutMs"}
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
        "its `body` is a text, which promptfoo sends as a form without the header `Content-Type: application/json`": (
            isinstance(settings.get("body"), str) and "content-type" not in headers
        ),
        f"its header `{''.join(other_headers[:1])}` has no counterpart here": bool(other_headers),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def program_model(config: Config, value: PlacedValue, name: str, settings: Mapping[str, Any]) -> ProviderProgram:
    """The author's program, which runs only where it is trusted.

    `python:FILE` has a function `call_api(prompt, options, context)`, a file in JavaScript a class with `callApi`.
    """
    written = name.removeprefix("python:").removeprefix(FILE)
    shape = re.fullmatch(r"(.*\.py)(?::(\w+))?|(.*\.[cm]?[jt]s)", written)
    if shape is None:
        return None, "only Python and JavaScript are supported as files of providers"
    paths = config.named(value, shape[1] or shape[3])
    if not paths:
        return None, "there is no such file"
    model, file = f"custom_inference:{paths[0].stem}", str(paths[0])
    given = {"config": {key: each for key, each in settings.items() if key != "pythonExecutable"}}
    own = {"language": "javascript"} if shape[3] else {"language": "python", "name": shape[2] or "call_api"}
    provider = {**own, "file": file, "options": json.loads(json.dumps(given, default=str))}
    return {"model": model, "options": {"run_inference_snippet": f"# {paths[0].name}", "provider": provider}}, ""
