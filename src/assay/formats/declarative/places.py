"""The locations of a task's fields in its YAML file, by the names that its parts use for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.catalog import OptionError
from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.formats.declarative.part_keys import scorer_keys
from assay.formats.declarative.shape import mappings
from assay.formats.declarative.yaml_reader import (
    Document,
    FieldPath,
    PlacedError,
    Plain,
    Position,
    dotted,
    inside,
    read_yaml,
)
from assay.prompts.bare_columns import with_sample

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_QUOTED = re.compile(r"`([^`]+)`")


class PromptFile(NamedTuple):
    """A file whose text takes the place of a message of the task."""

    file: str
    text: str
    written: str
    """The field that names the file."""
    instead_of: FieldPath
    """The field of the task."""

    def line_of(self, message: str) -> int:
        """The line of what a fault names, where it can be found."""
        named = [item.group(1) for item in _QUOTED.finditer(message)]
        lines = enumerate(self.text.splitlines(), 1)
        return next((at for at, line in lines if any(item in line for item in named)), 1)


@dataclass(frozen=True, slots=True)
class Places:
    """The document that a task was read from, and the field that holds the task."""

    document: Document
    where: FieldPath
    prompt: PromptFile | None = None

    def of(self, definition: TaskDefinition, field: str, message: str = "") -> tuple[Position, str]:
        """The place of a field, and its name as the file has it.

        Parts name their fields by key: `scorers.judge.user_prompt`, `scorers.judge.metrics.mean.field`,
        `actions.skip.filter`; a solver's fields are those of the file.
        """
        path = (*self.where, *self._path(definition, field))
        if self.prompt is not None and path == (*self.where, *self.prompt.instead_of):
            place = Position(self.prompt.file, self.prompt.line_of(message), 1)
            return place, self.prompt.written
        return self.document.mark(path), dotted(self.document.written(path))

    def fields(self) -> list[tuple[str, Plain, Position]]:
        """Every field of the task that holds no others, with its value and its place."""
        return [
            (dotted(at[len(self.where) :]), value, self.document.mark(at))
            for at, value in _leaves(self._value(()), self.where)
        ]

    def of_policy_rule(self, named: str) -> tuple[Position, str]:
        """The place of the number that a policy's rule names; `named` is `POLICY.RULE`."""
        value = self.document.value
        for at, policy in enumerate(mappings(value.get("policies") if isinstance(value, dict) else None)):
            for number, rule in enumerate(mappings(policy.get("rules"))):
                if f"{policy.get('key')}.{rule.get('key')}" == named:
                    path = ("policies", at, "rules", number, "definition", "metric")
                    return self.document.mark(path), dotted(self.document.written(path))
        return self.document.mark(("policies",)), "policies"

    def _path(self, definition: TaskDefinition, field: str) -> FieldPath:
        kind, _, rest = field.partition(".")
        if kind == "scorers":
            keys = [part.key for part in definition.scorers]
        elif kind == "actions":
            keys = [part.key for part in definition.actions]
        else:
            return _steps(field)
        for at, key in enumerate(keys):
            if rest == key or rest.startswith(f"{key}."):
                part: FieldPath = ("definition", kind, at)
                inside = rest[len(key) + 1 :]
                if inside.startswith("metrics."):
                    return (*part, *self._metric(part, inside.removeprefix("metrics.")))
                return (*part, *_steps(inside))
        return ("definition", kind)

    def _metric(self, scorer: FieldPath, rest: str) -> FieldPath:
        """A metric is named by its key, given or made up; nothing where the scorer's metrics are the usual ones."""
        written = mappings(self._value((*scorer, "metrics")))
        keys = scorer_keys([(str(item["key"]) if item.get("key") else None, str(item.get("type"))) for item in written])
        key, _, field = rest.partition(".")
        return ("metrics", keys.index(key), *_steps(field)) if key in keys else ()

    def _value(self, path: FieldPath) -> Plain:
        value = self.document.value
        for step in (*self.where, *path):
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value


def located(error: OptionError, files: Iterable[Path | str]) -> PlacedError | None:
    """The same with the first place in these YAML files that gives the option to the part; None where none does."""
    for path in files:
        if Path(path).suffix in (".yaml", ".yml"):
            with suppress(UsageError):
                document = read_yaml(path)
                for where in _parts_with(document.value, error.use, error.option, ()):
                    return document.error((*where, error.option), str(error))
    return None


def located_code(definition: TaskDefinition, use: str, option: str, code: str, message: str) -> PlacedError | None:
    """An error of a part's Python, at its field; None where that is in no YAML file, or not told apart."""
    for path in definition.provenance.files:
        if Path(path).suffix in (".yaml", ".yml"):
            with suppress(UsageError):
                document = read_yaml(path)
                parts = [(*where, option) for where in _parts_with(document.value, use, option, ())]
                same = [where for where in parts if _at(document.value, where) == code] or parts
                if len(same) == 1:
                    return document.error(same[0], message)
    return None


def _at(value: Any, where: FieldPath) -> Any:
    for step in where:
        value = value[step]
    return value


def located_text(text: str, message: str, files: Iterable[Path | str], *, key: str) -> PlacedError | None:
    """The message at the first field of these YAML files that holds the text, of the task with this key where several
    do; at its line in a file that is the text. None where none does.
    """
    for path in files:
        if Path(path).suffix not in (".yaml", ".yml"):
            with suppress(OSError, UsageError):
                whole = Path(path).read_text(encoding="utf-8", errors="replace")
                if with_sample(whole).strip() == text.strip():
                    line = PromptFile(str(path), whole, "", ()).line_of(message)
                    return PlacedError(f"{Position(str(path), line, 1)}: {message}")
            continue
        with suppress(UsageError):
            document = read_yaml(path)
            fields = [at for at, value in _leaves(document.value, ()) if value == text]
            if fields:
                own = [at for at in fields if _is_of_task(document.value, at, key)]
                return document.error((own or fields)[0], message)
    return None


def _is_of_task(value: Plain, at: FieldPath, key: str) -> bool:
    """Whether a field is inside the task with this key."""
    for step in at:
        if isinstance(value, dict) and value.get("key") == key:
            return True
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
    return False


def _parts_with(value: Plain, use: str, option: str, where: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, dict) and value.get("type") == use and option in value:
        yield where
    for at, item in inside(value, where):
        yield from _parts_with(item, use, option, at)


def _leaves(value: Plain, where: FieldPath) -> Iterator[tuple[FieldPath, Plain]]:
    if not isinstance(value, dict | list) or not value:
        yield where, value
    for at, item in inside(value, where):
        yield from _leaves(item, at)


def _steps(field: str) -> FieldPath:
    return tuple(name or int(number) for name, number in _STEP.findall(field))
