"""What the project says of one task: its `defaults` and `folders`, each value with the place that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assay.formats.declarative.yaml_reader import FieldPath
from assay.formats.project.name_patterns import matches
from assay.formats.project.reader import Project
from assay.formats.project.records import TaskDefaults
from assay.formats.project.task_files import TaskFile, nearest_names
from assay.text.wording import hint, nearest

_MAPPINGS = ("config", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForTask:
    """What `defaults` and `folders` set for a task: later ones win, tags add up, mappings are joined by key."""

    values: TaskDefaults
    places: dict[FieldPath, str] = field(default_factory=dict)
    """Where each value was written, by its field and, of mappings, its key."""


def for_task(project: Project, name: str, own_tags: Iterable[str] = ()) -> ForTask:
    """What the project sets for the task with this name, whose file has these tags."""
    values: dict[str, Any] = {}
    places: dict[FieldPath, str] = {}
    tags = list(own_tags)
    for where, said, called in _layers(project, name):
        given = msgspec.structs.asdict(said)
        for word in given.pop("tags"):
            if not word.startswith("!"):
                tags.append(word)
            elif word[1:] in tags:
                tags = [tag for tag in tags if tag != word[1:]]
            else:
                raise project.error((*where, "tags"), f"`{name}` has no tag `{word[1:]}` to take away")
        for name_of, value in given.items():
            at = (*where, name_of)
            if at not in project.document.marks:
                continue  # a default of the record, not a value of the file
            place = f"{project.place(at)} {called}"
            if name_of in _MAPPINGS:
                values[name_of] = {**values.get(name_of, {}), **value}
                places |= {(name_of, key): place for key in value}
            else:
                values[name_of] = value
                places[(name_of,)] = place
    return ForTask(values=TaskDefaults(**values, tags=tuple(dict.fromkeys(tags))), places=places)


def of_folders(project: Project, name: str) -> TaskDefaults:
    """What `folders` alone sets for a task, apart from its tags."""
    values: dict[str, Any] = {}
    for pattern, said in project.entry.folders.items():
        if not matches(pattern, name):
            continue
        for field_name, value in msgspec.structs.asdict(said).items():
            if field_name == "tags" or ("folders", pattern, field_name) not in project.document.marks:
                continue
            is_mapping = field_name in _MAPPINGS
            values[field_name] = {**values.get(field_name, {}), **value} if is_mapping else value
    return TaskDefaults(**values)


def _layers(project: Project, name: str) -> Iterator[tuple[FieldPath, TaskDefaults, str]]:
    yield ("defaults",), project.entry.defaults, "defaults"
    for pattern, said in project.entry.folders.items():
        if matches(pattern, name):
            yield ("folders", pattern), said, pattern


def refuse_unmatched(project: Project, names: Mapping[str, object]) -> None:
    """`UsageError` for folders that no task is in."""
    for pattern in project.entry.folders:
        if not any(matches(pattern, name) for name in names):
            raise project.error(("folders", pattern), no_match(pattern, names))


def refuse_idle_values(project: Project, files: Mapping[str, TaskFile]) -> None:
    """`UsageError` for a value of a parameter that no task in its folder has."""
    for where, said, pattern in (
        (("defaults", "config"), project.entry.defaults, "**"),
        *((("folders", pattern, "config"), said, pattern) for pattern, said in project.entry.folders.items()),
    ):
        inside = [file for name, file in files.items() if matches(pattern, name)]
        if any(file.broken is not None for file in inside):
            continue  # what it has is not known
        known = {key for file in inside for key in file.parameters}
        for key in said.config:
            if key not in known:
                raise project.error(
                    (*where, key), f"no task here has the parameter `{key}`. {hint(key, sorted(known))}"
                )


def no_match(pattern: str, names: Iterable[str]) -> str:
    """A sentence about a pattern that matches no task."""
    near = near_pattern(pattern, names)
    return f"`{pattern}` matches no task" + (f". Did you mean `{near}`?" if near else "")


def near_pattern(pattern: str, names: Iterable[str]) -> str | None:
    """The pattern with the misspelt part as a task or folder has it."""
    names = list(names)
    plain = pattern.rstrip("*").rstrip("/")
    ending = pattern[len(plain) :]
    near = nearest(plain, nearest_names(names))
    if near is None:
        return None
    return f"{near}{ending}" if any(matches(f"{near}{ending}", name) for name in names) else near
