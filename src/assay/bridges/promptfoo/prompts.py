"""The prompts of a configuration: texts, chats, files of them, and functions that compute them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assay.bridges.promptfoo.config import FILE, PROGRAM_FILES, Config, PlacedValue, program_of
from assay.bridges.promptfoo.programs import program_file
from assay.core.errors import UsageError
from assay.prompts.jinja_filters import as_javascript
from assay.reading.bounded_yaml import Yaml12Loader, load_yaml

_SEPARATOR = re.compile(r"(?m)^[^\S\n]*---\s*?$")
_TEXT_FILES = (".txt", ".md", ".j2", ".json", ".jsonl", ".yaml", ".yml", ".csv")
_STORES = ("exec:", "langfuse://", "portkey://", "helicone://")
_FIELDS = {"raw", "id", "label", "display", "content", "prefix", "suffix", "config"}
LONGEST_NAME = 60


class Prompt(NamedTuple):
    """One prompt, still a template."""

    text: str
    label: str
    """Its name on the leaderboard."""
    given: str | None = None
    """Its label or id in the configuration, by which tests and providers select prompts."""
    generation: dict[str, Any] | None = None
    """Generation settings from the prompt's own `config`."""
    program: dict[str, Any] | None = None
    """The function that computes it."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(item for item in (self.given, self.label) if item)


def read_prompts(config: Config) -> list[Prompt]:
    """Every prompt of the configuration; without any, the variable `prompt` is sent unchanged."""
    section = config.top.get("prompts")
    if section.content is None:
        return [Prompt("{{prompt}}", "prompt")]
    if isinstance(section.content, dict):  # text or file -> label
        prompts = [
            each
            for key in section.names()
            for each in _of_text(config, section.get(key), key, str(section.content[key]))
        ]
    else:
        prompts = [each for value in section.items() for each in _of_entry(config, value)]
    return _with_own_names(prompts)


def _of_entry(config: Config, value: PlacedValue) -> list[Prompt]:
    if isinstance(value.content, str):
        return list(_of_text(config, value, value.content, None))
    if not isinstance(value.content, dict):
        return [Prompt(as_javascript(value.content), "")]
    config.known(value, _FIELDS, "a prompt")
    given = value.content
    label = given.get("label") or given.get("display") or given.get("id")
    raw = given.get("raw") or given.get("content") or given.get("id")
    if raw is None:
        config.refuse(value, "a prompt needs `raw` or `id`")
        return []
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    named = None if label is None or label == raw else str(label)
    settings = _settings(config, value.get("config"))
    around = (str(given.get("prefix") or ""), str(given.get("suffix") or ""))
    return [
        item._replace(generation=settings, text=around[0] + item.text + around[1])
        for item in _of_text(config, value, text, named)
    ]


def _settings(config: Config, value: PlacedValue) -> dict[str, Any]:
    """The `config` of a prompt, which applies to the provider for this prompt alone."""
    from assay.bridges.promptfoo.providers import generation_settings

    if value.content is None:
        return {}
    generation, rest = generation_settings(value.content if isinstance(value.content, dict) else {})
    for name in rest.keys() - {"response_format", "tools"}:
        config.refuse(value.get(name), f"`{name}` of a prompt's `config` is not supported")
    return {**generation, **{name: rest[name] for name in ("response_format", "tools") if name in rest}}


def _of_text(config: Config, value: PlacedValue, text: str, label: str | None) -> Iterator[Prompt]:
    if text.startswith(_STORES):
        config.refuse(value, f"`{text.partition(':')[0]}:` prompts are not supported: they come from another service")
        return
    name = text.removeprefix(FILE)
    is_named = text.startswith(FILE) or (
        "\n" not in text and (name.endswith((*_TEXT_FILES, *PROGRAM_FILES)) or _is_file(config.home / name))
    )
    if not is_named:
        yield Prompt(text, label or "", label)
        return
    if program_of(name):
        yield from _of_program(config, value, text, label)
        return
    for path in config.named(value, text):
        if path.suffix not in _TEXT_FILES:
            config.refuse(value, f"`{text}`: prompts are read from {', '.join(_TEXT_FILES)} files")
            continue
        for own, prompt in _in_file(config, value, path):
            yield Prompt(prompt, own or label or path.stem, own or label or str(path.relative_to(config.home)))


def _of_program(config: Config, value: PlacedValue, text: str, label: str | None) -> Iterator[Prompt]:
    """A prompt that a function computes from the variables."""
    try:
        program = program_file(config, value, text, None)
    except UsageError as error:
        config.refuse(value, str(error))
        return
    name = label or text.removeprefix(FILE)
    yield Prompt("", name, name, None, program)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a long text is not a name
        return False


def _in_file(config: Config, value: PlacedValue, path: Path) -> list[tuple[str | None, str]]:
    """The prompts of a file, with their own labels where they have any."""
    content = config.text(value, path)
    if content is None:
        return []
    if path.suffix == ".txt":
        parts = _SEPARATOR.split(content.replace("\r\n", "\n"))
        return [(None, part.strip()) for part in parts if part.strip()]
    if path.suffix == ".jsonl":
        return [(None, line) for line in re.split(r"\r?\n", content) if line]
    if path.suffix == ".csv":
        return _in_table(content)
    if path.suffix in (".yaml", ".yml", ".json"):
        return [(None, _as_json(config, value, path, content))]
    return [(None, content)]


def _in_table(content: str) -> list[tuple[str | None, str]]:
    lines = [line for line in content.splitlines() if line.strip()]
    if "," not in content:
        return [(None, line) for line in lines[lines[:1] == ["prompt"] :]]
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    return [(row.get("label") or None, row["prompt"].strip()) for row in rows if row.get("prompt")]


def _as_json(config: Config, value: PlacedValue, path: Path, content: str) -> str:
    """The content of a file as JSON, with the files that it names inserted; its text where it cannot be parsed."""
    try:
        whole = load_yaml(content, str(path), Yaml12Loader) if path.suffix != ".json" else json.loads(content)
    except (UsageError, ValueError, RecursionError):
        return content
    inside = _with_files(config, value, whole)
    return json.dumps(inside, ensure_ascii=False, default=str, separators=(",", ":"))


def _with_files(config: Config, value: PlacedValue, inner: Any) -> Any:
    if isinstance(inner, list):
        return [_with_files(config, value, node) for node in inner]
    if isinstance(inner, dict):
        return {name: _with_files(config, value, each) for name, each in inner.items()}
    if not isinstance(inner, str) or not inner.startswith(FILE) or "{{" in inner:
        return inner
    texts = [config.text(value, path) for path in config.named(value, inner)]
    return texts[0] if texts else inner


def _with_own_names(prompts: list[Prompt]) -> list[Prompt]:
    """Each with a short name of its own: its label, or its number."""
    named: list[Prompt] = []
    seen: set[str] = set()
    for number, prompt in enumerate(prompts, 1):
        name = prompt.label.strip().replace("\n", " ")[:LONGEST_NAME] or f"prompt-{number}"
        if name in seen:
            name = f"{name}-{number}"
        seen.add(name)
        named.append(prompt._replace(label=name))
    return named
