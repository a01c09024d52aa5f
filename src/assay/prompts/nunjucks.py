"""Nunjucks templates by way of Jinja, which reads nearly all of them alike; what it would read otherwise is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from assay.core.errors import UsageError
from assay.prompts.jinja_filters import as_javascript
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import ForgivingTemplate
from assay.reading.bounded_yaml import Yaml12Loader, load_yaml

_TAGS = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.DOTALL)
_PAIRS = re.compile(r"(\{%-?\s*for\s+\w+\s*,\s*\w+\s+in\s+)([\w.]+)(\s*-?%\})")
_TEXTS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PARTIAL = re.compile(r"(?m)\{%[^%]*$|\{\{[^}]*$|\{#[^#]*$")
_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}")
_ONLY_THERE = {
    r"[!=]==": "`===` is JavaScript; write `==`",
    r"\b_conversation\b": "`_conversation`, the answers to earlier tests, is not kept: tests run concurrently",
}
_ENVIRONMENT = re.compile(r"\benv\.(\w+)|\benv\[['\"](\w+)['\"]\]")


class TemplateError(Exception):
    """Why a template cannot be rendered as promptfoo would."""


def rendered(template: str, variables: Mapping[str, Any]) -> str:
    """The text of a template; an unknown name is an empty text, as there."""
    if "{{" not in template and "{%" not in template and "{#" not in template:
        return template
    if _PARTIAL.search(template) and not _RAW.search(template):
        return template  # a tag without its end is a text
    try:
        compiled = _compiled(template)
        _check_environment(template, variables.get("env"))
        return compiled.render(variables)
    except (RenderError, UsageError) as error:
        raise TemplateError(f"the template cannot be rendered: {error}") from error
    except RecursionError as error:
        raise TemplateError("the template is nested too deep") from error


@lru_cache(maxsize=512)
def _compiled(template: str) -> ForgivingTemplate:
    for tag in _TAGS.finditer(template):
        code = _TEXTS.sub("''", tag[1] or tag[2] or "")
        for pattern, why in _ONLY_THERE.items():
            if re.search(pattern, code):
                raise TemplateError(f"the template cannot be rendered: {why}")
    # a loop over a mapping gives pairs there, and keys here
    source = _PAIRS.sub(r"\1\2 | pairs\3", template)
    # Jinja drops one line break at the end of a template, that program keeps it
    return ForgivingTemplate(source + "\n", where="")


def _check_environment(template: str, known: Any) -> None:
    """Only variables that the configuration itself sets: a prompt is sent to a model, and kept in every journal."""
    for tag in _TAGS.finditer(template):
        for match in _ENVIRONMENT.finditer(tag[1] or tag[2] or ""):
            name = match[1] or match[2]
            if not isinstance(known, Mapping) or name not in known:
                raise TemplateError(f"reads the variable `{name}` of the environment; set it in the section `env`")


def rendered_within(value: Any, variables: Mapping[str, Any]) -> Any:
    """Every text inside a value rendered."""
    if isinstance(value, str):
        return rendered(value, variables)
    if isinstance(value, list):
        return [rendered_within(item, variables) for item in value]
    if isinstance(value, dict):
        return {name: rendered_within(each, variables) for name, each in value.items()}
    return value


class RenderedPrompt(NamedTuple):
    """What is sent to a model: a text, and the messages where the text is a chat."""

    prompt: str
    messages: list[dict[str, Any]] | None = None


_OF_A_MESSAGE = {"role", "content", "name", "tool_calls", "tool_call_id"}


def ask(prompt: str, variables: Mapping[str, Any]) -> RenderedPrompt:
    """The prompt with its variables; a prompt that is JSON is rendered text by text, so that it stays JSON."""
    try:
        value = json.loads(prompt)
    except (ValueError, RecursionError):
        text = rendered(prompt, variables)
        return _chat(text, _chat_in(text))
    if not isinstance(value, list | dict):
        return RenderedPrompt(rendered(prompt, variables))
    value = rendered_within(value, variables)
    return _chat(json.dumps(value, ensure_ascii=False, indent=2), value)


def _chat_in(text: str) -> Any:
    """The chat that a text is, as JSON or YAML; None where it is a text."""
    start = text.lstrip()
    try:
        if start.startswith("- role:"):
            return load_yaml(text, "a chat prompt", Yaml12Loader)
        return json.loads(text) if start.startswith("[") else None
    except (UsageError, ValueError, RecursionError):
        return None


def _chat(text: str, value: Any) -> RenderedPrompt:
    """A list of messages is sent as such; any other value as the text it is."""
    if not isinstance(value, list) or not value:
        return RenderedPrompt(text)
    messages = []
    for item in value:
        if not isinstance(item, dict) or "role" not in item or item.keys() - _OF_A_MESSAGE:
            return RenderedPrompt(text)
        content = item.get("content")
        kept = content if isinstance(content, list) else as_javascript(content)
        messages.append({**item, "role": str(item["role"]), "content": kept})
    return RenderedPrompt(text, messages)
