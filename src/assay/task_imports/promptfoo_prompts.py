"""The prompts of a promptfoo configuration: texts and files, rendered as that program renders them, chats as chats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.bounded_yaml import Yaml12Loader, load_yaml
from assay.core.errors import UsageError
from assay.prompts.jinja_filters import as_javascript
from assay.prompts.template import ForgivingTemplate
from assay.task_imports.imported import Imported, inside, read_text

_SEPARATOR = "---"
_TEXT_FILES = (".txt", ".md", ".j2", ".json", ".jsonl", ".yaml", ".yml")
_OTHER_FILES = (".csv", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".sh", ".rb")
_STORES = ("exec:", "langfuse://", "portkey://", "helicone://")


def prompt_texts(path: Path, prompts: Any, found: Imported) -> list[str]:
    """Every prompt of the configuration, those of files included; a file may hold several."""
    if isinstance(prompts, dict):
        prompts = list(prompts)  # text -> label
    texts = []
    for prompt in prompts if isinstance(prompts, list) else [prompts]:
        text = str(prompt.get("raw") or prompt.get("id")) if isinstance(prompt, dict) else as_javascript(prompt)
        if isinstance(prompt, dict):
            for name in prompt.keys() - {"raw", "id", "label", "display"}:
                found.lose("prompt", f"prompt {text[:60]}: {name}: has no counterpart here")
        texts += _of_one(path, text, found)
    return texts


def _of_one(path: Path, text: str, found: Imported) -> list[str]:
    if text.startswith(_STORES):
        found.lose("prompt", f"prompt {text}: not a text")
        return []
    if "\n" in text:
        return [text]
    name = text.removeprefix("file://")
    file = path.parent / name
    named = text.startswith("file://") or name.endswith((*_TEXT_FILES, *_OTHER_FILES))
    if not named and not ("/" in name and _is_file(file)):
        return [text]
    if file.suffix not in _TEXT_FILES or not _is_file(file):
        found.lose("prompt", f"prompt {text}: only text, JSON and YAML files that are there can be carried over")
        return []
    return _in_file(inside(path, file))


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # a long text is no name
        return False


def _in_file(file: Path) -> list[str]:
    content = read_text(file)
    if file.suffix == ".txt":
        parts = re.split(rf"(?m)^[^\S\n]*{_SEPARATOR}\s*?$", content.replace("\r\n", "\n"))
        return [part.strip() for part in parts if part.strip()]
    if file.suffix == ".jsonl":
        return [line for line in re.split(r"\r?\n", content) if line]
    if file.suffix in (".yaml", ".yml"):
        return [json.dumps(load_yaml(content, str(file), Yaml12Loader), ensure_ascii=False, default=str)]
    return [content]


class RenderedPrompt(Struct, frozen=True):
    """What a model is asked: a text, and the messages where the text is a chat."""

    prompt: str
    messages: list[dict[str, str]] | None = None


def asked(prompt: str, variables: dict[str, Any], path: Path, found: Imported) -> RenderedPrompt:
    """The prompt with its variables; a prompt that is JSON is rendered text by text, so that it stays JSON."""
    variables = {
        name: value.removesuffix("\n") if isinstance(value, str) else value for name, value in variables.items()
    }
    variables = {
        name: rendered(value, variables, path) if isinstance(value, str) and "{{" in value else value
        for name, value in variables.items()
    }
    try:
        value = json.loads(prompt)
    except (ValueError, RecursionError):
        text = rendered(prompt, variables, path)
        return _chat(text, _yaml_chat(text, path), found)
    value = _rendered_within(value, variables, path)
    return _chat(json.dumps(value, ensure_ascii=False, indent=2), value, found)


def _yaml_chat(text: str, path: Path) -> Any:
    if text.strip().startswith("- role:"):
        return load_yaml(text, f"{path}: a chat prompt", Yaml12Loader)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _chat(text: str, value: Any, found: Imported) -> RenderedPrompt:
    """A list of messages is sent as such; any other value as the text it is."""
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) and "role" in each for each in value):
        return RenderedPrompt(text)
    messages = []
    for each in value:
        if each.keys() - {"role", "content"} or not isinstance(each.get("content"), str):
            found.lose("prompt", "messages with more than a role and a text")
        messages.append({"role": str(each["role"]), "content": as_javascript(each.get("content"))})
    return RenderedPrompt("\n\n".join(each["content"] for each in messages), messages)


def _rendered_within(value: Any, variables: dict[str, Any], path: Path) -> Any:
    if isinstance(value, str):
        return rendered(value, variables, path)
    if isinstance(value, list):
        return [_rendered_within(each, variables, path) for each in value]
    if isinstance(value, dict):
        return {name: _rendered_within(each, variables, path) for name, each in value.items()}
    return value


def rendered(template: str, variables: dict[str, Any], path: Path) -> str:
    try:
        # Jinja drops one line break at the end of a template, that program keeps it
        return ForgivingTemplate(template + "\n", where=f"{path}: a template").render(variables)
    except RecursionError as error:
        raise UsageError(f"{path}: a template is nested too deep") from error
