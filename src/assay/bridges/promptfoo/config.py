"""A promptfoo configuration: its sections with their places, the files it names, what is wrong with it.

Errors are collected, so that all of them are reported at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.formats.declarative.yaml_reader import Document, FieldPath, PlacedError, Position, read_yaml
from assay.reading.bounded_yaml import Yaml12Loader, load_yaml
from assay.reading.strict_json import MAX_LINE_BYTES
from assay.trust.project import out_of_bounds, root_of

FILE = "file://"
PROGRAM_FILES = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb", ".go", ".sh")
MAX_TEXT_BYTES = 16 << 20
MAX_FILES = 2000
NAME = "promptfooconfig"
_TELLTALE = {"providers", "targets", "tests", "defaultTest", "scenarios", "redteam"}


def is_promptfoo(path: Path) -> bool:
    """Whether a YAML or JSON file is a configuration of promptfoo: by its name, or by its sections."""
    if path.name.startswith(NAME):
        return True
    try:
        value = load_yaml(read_regular(path, MAX_TEXT_BYTES).decode("utf-8-sig"), str(path), Yaml12Loader)
    except (UsageError, OSError, UnicodeDecodeError):
        return False
    return isinstance(value, dict) and "prompts" in value and bool(value.keys() & _TELLTALE)


class PlacedValue:
    """A value of a document that knows its place."""

    __slots__ = ("content", "document", "where")

    def __init__(self, content: Any, document: Document, where: FieldPath = ()) -> None:
        self.content = content
        self.document = document
        self.where = where

    def __getitem__(self, key: str | int) -> PlacedValue:
        return PlacedValue(self.content[key], self.document, (*self.where, key))

    def get(self, key: str) -> PlacedValue:
        """A field of a mapping; the value None where it is missing."""
        inner = self.content.get(key) if isinstance(self.content, dict) else None
        return PlacedValue(inner, self.document, (*self.where, key))

    def items(self) -> list[PlacedValue]:
        """The items of a list; a single value counts as a list of one, None as an empty list."""
        if self.content is None:
            return []
        if not isinstance(self.content, list):
            return [self]
        return [self[at] for at in range(len(self.content))]

    def names(self) -> list[str]:
        return [str(key) for key in self.content] if isinstance(self.content, dict) else []


@dataclass(slots=True)
class Config:
    """One reading of one configuration."""

    path: Path
    top: PlacedValue
    allow_outside: bool = False
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """Every file that was read in addition to the configuration."""
    environment: dict[str, str] = field(default_factory=dict)
    """Its section `env`."""
    runs_programs: bool = False
    """Whether programs that compute tests and variables may run."""
    python: list[str] = field(default_factory=list)
    node: list[str] = field(default_factory=list)
    """The programs that run, or would run."""

    @property
    def home(self) -> Path:
        return self.path.parent

    def refuse(self, value: PlacedValue, message: str) -> None:
        sentence = value.document.sentence(value.where, message)
        if sentence not in self.problems:
            self.problems.append(sentence)

    def warn(self, value: PlacedValue, message: str) -> None:
        sentence = value.document.sentence(value.where, message)
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def raise_problems(self) -> None:
        if self.problems:
            raise PlacedError("\n".join(self.problems))

    def known(self, value: PlacedValue, names: set[str], what: str) -> bool:
        """Whether the value is a mapping; its unsupported fields are refused."""
        if not isinstance(value.content, dict):
            self.refuse(value, f"{what} must be a mapping, got {json.dumps(value.content, default=str)[:80]}")
            return False
        for key in value.names():
            if key not in names:
                self.refuse(value.get(key), f"`{key}` of {what} is not supported")
        return True

    # -- files ------------------------------------------------------------------------------------------------------

    def named(self, value: PlacedValue, named: str, home: Path | None = None) -> list[Path]:
        """The files that `file://…` or a bare path names, patterns included; refused where there is none to read."""
        name, home = named.removeprefix(FILE), home or self.home
        if any(sign in name for sign in "*?[") and not (home / name).exists():
            paths = [Path(item) for item in sorted(glob(str(home / name), recursive=True)) if Path(item).is_file()]
        else:
            paths = [home / name]
        if len(self.files) + len(paths) > MAX_FILES:
            raise PlacedError(value.document.sentence(value.where, f"more than {MAX_FILES:,} files are named"))
        if not paths:
            self.refuse(value, f"`{named}`: there is no such file")
        return [path for path in paths if self._may_read(value, named, path)]

    def _may_read(self, value: PlacedValue, named: str, path: Path) -> bool:
        root = root_of(self.path).resolve()
        try:
            path.resolve()
            there = path.is_file()
        except (OSError, ValueError, RuntimeError):
            there = False
        if not there:
            self.refuse(value, f"`{named}`: there is no such file")
        elif not self.allow_outside and (reason := out_of_bounds(path, root)):
            self.refuse(value, f"`{named}` {reason}; allow it with --allow-outside")
        else:
            if path not in self.files:
                self.files.append(path)
            return True
        return False

    def text(self, value: PlacedValue, path: Path) -> str | None:
        try:
            return read_regular(path, MAX_TEXT_BYTES).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.refuse(value, f"{path}: cannot be read: {error}")
            return None

    def content(self, value: PlacedValue, path: Path) -> PlacedValue | None:
        """The content of a YAML or JSON file, with the places of its values."""
        try:
            document = read_yaml(path, root=root_of(self.path), allow_outside=True, of_another_program=True)
        except UsageError as error:
            self.refuse(value, str(error))
            return None
        return PlacedValue(document.value, document)

    def lines(self, value: PlacedValue, path: Path) -> Iterator[PlacedValue]:
        """The objects of a JSON Lines file, each at its line."""
        text = self.text(value, path) or ""
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            document = Document(value=None, path=path, marks={(): Position(str(path), number, 1)})
            try:
                yield PlacedValue(json.loads(line[:MAX_LINE_BYTES]), document)
            except (ValueError, RecursionError) as error:
                self.refuse(PlacedValue(None, document), f"not JSON: {error}")

    def loaded(self, value: PlacedValue) -> PlacedValue | None:
        """The value itself, or the content of the YAML or JSON file that it names."""
        named = value.content
        if not isinstance(named, str) or not named.startswith(FILE):
            return value
        if program := program_of(named):
            self.refuse(value, f"`{named}`: a section computed by {program} is not supported")
            return None
        for path in self.named(value, named):
            if path.suffix in (".yaml", ".yml", ".json"):
                return self.content(value, path)
            self.refuse(value, f"`{named}`: only YAML and JSON files are read here")
        return None


def program_of(named: str) -> str | None:
    """The language of a named file, for messages; None for a file of data."""
    path = re.sub(r":[A-Za-z_][\w.]*$", "", named.removeprefix(FILE))
    suffix = Path(path).suffix
    if suffix not in PROGRAM_FILES:
        return None
    return "Python" if suffix == ".py" else "JavaScript" if suffix[-2:] in ("js", "ts") else f"a `{suffix}` program"


IGNORED = {
    "$schema", "commandLineOptions", "metadata", "outputPath", "sharing", "tags", "writeLatestResults", "description",
    "outputs",
}  # fmt: skip
"""Sections that do not affect answers and scores."""
SECTIONS = {
    "prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "env", "evaluateOptions",
    "assertionTemplates", "redteam", "options", "tracing",
}  # fmt: skip
_REFUSED = {
    "extensions": "extension hooks are not supported",
    "nunjucksFilters": "custom filters are JavaScript, which templates do not run here",
    "derivedMetrics": "derived metrics are not supported",
}


def read_config(path: Path, *, allow_outside: bool = False, runs_programs: bool = False) -> Config:
    """The file, with the names of its sections checked; errors are in `problems`."""
    document = read_yaml(path, allow_outside=allow_outside, of_another_program=True)
    config = Config(
        path=path, top=PlacedValue(document.value, document), allow_outside=allow_outside, runs_programs=runs_programs
    )
    top = config.top
    if not isinstance(top.content, dict):
        raise document.error((), "a promptfoo configuration is a mapping with `prompts`, `providers` and `tests`")
    for key in top.names():
        if key in _REFUSED:
            config.refuse(top.get(key), _REFUSED[key])
        elif key not in IGNORED and key not in SECTIONS and not key.startswith("x-"):
            config.refuse(top.get(key), f"the section `{key}` of a promptfoo configuration is not supported")
    if "redteam" in top.content and not (top.content.get("tests") or top.content.get("scenarios")):
        config.refuse(top.get("redteam"), "attacks are generated by promptfoo itself; run its tests once generated")
    environment = top.get("env").content
    if isinstance(environment, dict):
        config.environment = {str(name): str(value) for name, value in environment.items()}
    top.content = _with_templates(top.content)
    return config


def _with_templates(value: dict[str, Any]) -> dict[str, Any]:
    """The configuration with every `$ref: '#/…'` replaced by what it names inside the file."""

    def replaced(inner: Any, depth: int = 0) -> Any:
        if isinstance(inner, list):
            return [replaced(node, depth) for node in inner]
        if not isinstance(inner, dict):
            return inner
        named = inner.get("$ref")
        if isinstance(named, str) and named.startswith("#/") and depth < _MOST_REFERENCES:
            target: Any = value
            for step in named[2:].split("/"):
                target = target.get(step) if isinstance(target, dict) else None
            if isinstance(target, dict):
                rest = {key: each for key, each in inner.items() if key != "$ref"}
                return replaced({**target, **rest}, depth + 1)
        return {key: replaced(each, depth) for key, each in inner.items()}

    whole: dict[str, Any] = replaced(value)
    return whole


_MOST_REFERENCES = 20
Refuse = Callable[[PlacedValue, str], None]
