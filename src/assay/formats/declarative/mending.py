"""A faulty file read again without its faults, so that the errors they hide are found in the same pass.

What is removed is as small as possible: an extra field, a text that is not a template, a metric, a scorer,
a rule. What only fails because something was removed is a consequence: it is removed as well, and not reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from assay.core.errors import UsageError
from assay.formats.declarative.config_spec import NoValueError
from assay.formats.declarative.shape import PLACEHOLDER_INSIDE, mappings
from assay.formats.declarative.yaml_reader import Document, FieldPath, FileFault, PlacedError, Plain, dotted, inside

MOST_ROUNDS = 50
_BLANK = "-"
_SOLVER = ("definition", "solver")
_STAND_IN: Plain = {
    "type": "single_turn_solver",
    "input_builder": {"type": "chat_completion", "input_messages": [{"role": "user", "content": _BLANK}]},
}
_HOLD_TASKS = (("tasks",), ("task_specifications",))
_LABELS = ("key", "display_name", "description")
"""Fields of a whole file that nothing else depends on."""

Read = TypeVar("Read")


@dataclass(slots=True)
class _Repairs:
    """What is changed in one file so that the rest of it can be read."""

    cut: set[FieldPath] = field(default_factory=set)
    blank: set[FieldPath] = field(default_factory=set)
    """Texts that are not templates: a blank one takes their place."""
    filled: set[FieldPath] = field(default_factory=set)
    """Missing labels of whole files."""
    passed: set[FieldPath] = field(default_factory=set)
    """Errors in fields that can still be read."""
    renamed: dict[FieldPath, str] = field(default_factory=dict)
    """Fields with a misspelt name."""

    def cover(self, where: FieldPath) -> bool:
        repaired = self.cut | self.blank | self.passed
        return any(where[:end] in repaired for end in range(1, len(where) + 1))

    def apply(self, value: Plain, where: FieldPath, kept: dict[FieldPath, list[int]]) -> Plain:
        """The value as it is read; `kept` takes the items that are left of lists."""
        if where in self.blank and isinstance(value, str):
            return _BLANK
        if isinstance(value, dict):
            left: dict[str, Plain] = {
                self.renamed.get((*where, name), name): self.apply(item, (*where, name), kept)
                for name, item in value.items()
                if (*where, name) not in self.cut
            }
            if (*where, "solver") in self.cut and where[-1:] == ("definition",):
                left["solver"] = _STAND_IN
            return left | {str(at[-1]): _BLANK for at in self.filled if at[:-1] == where}
        if isinstance(value, list):
            here = [at for at in range(len(value)) if (*where, at) not in self.cut]
            if len(here) < len(value):
                kept[where] = here
            return [self.apply(value[at], (*where, at), kept) for at in here]
        return value


@dataclass(slots=True)
class Mending:
    """What is left out of the documents of a task, and every fault of them."""

    sentences: list[str] = field(default_factory=list)
    unset: set[str] = field(default_factory=set)
    """Parameters that have no value since their defaults were cut."""
    _repairs: defaultdict[Path, _Repairs] = field(default_factory=lambda: defaultdict(_Repairs))
    _causes: set[tuple[Path, FieldPath]] = field(default_factory=set)
    """What was removed although something may need it."""

    def add(self, error: UsageError) -> None:
        """Faults that did not stop the reading."""
        self.sentences += [line for line in str(error).split("\n") if line not in self.sentences]

    def learns(self, error: UsageError) -> bool:
        """Remove the faults of an error; return whether there is anything left to read."""
        if not isinstance(error, PlacedError) or not error.faults:
            if not any("config_spec" in where or "dataset" in where for _, where in self._causes):
                self.add(error)
                return False
            valueless = set(error.parameters) if isinstance(error, NoValueError) else set()
            known = len(self.unset)
            self.unset |= valueless
            return len(self.unset) > known
        consequences = {fault.sentence for fault in error.faults if self._is_consequence(fault)}
        self.sentences += [
            line for line in str(error).split("\n") if line not in consequences and line not in self.sentences
        ]
        meant = {(fault.path, (*fault.where[:-1], fault.meant)) for fault in error.faults if fault.meant is not None}
        others = [fault for fault in error.faults if (fault.path, (*fault.where, fault.lacks)) not in meant]
        taken_out = [self._take_out(fault) for fault in others]
        return all(taken_out)

    def applied(self, document: Document) -> Document:
        """The document without what was cut; its places stay those of the file."""
        if self.unset:
            self.leave_out(document, self.unset)
        if document.path not in self._repairs:
            return document
        repairs = self._repairs[document.path]
        kept: dict[FieldPath, list[int]] = {}
        value = repairs.apply(document.value, (), kept)
        still = [fault for fault in document.faults if not repairs.cover(fault.where)]
        renamed = {(*at[:-1], meant): str(at[-1]) for at, meant in repairs.renamed.items()}
        return replace(document, value=value, kept=kept, faults=still, renamed=renamed)

    def leave_out(self, document: Document, names: Collection[str]) -> None:
        """Cut these parameters of a task, and blank every text that needs one of them."""
        declared = document.value.get("config_spec") if isinstance(document.value, dict) else None
        entries = {("config_spec", at) for at, each in enumerate(mappings(declared)) if each.get("key") in names}
        self._repairs[document.path].cut.update(entries)
        self._repairs[document.path].blank.update(_texts_with(document.value, names, ()))
        self._causes |= {(document.path, where) for where in entries}

    def parts(self) -> set[str]:
        """The scorers, rules and solvers that something was removed from."""
        parts = set()
        for where in {where for repairs in self._repairs.values() for where in repairs.cut | repairs.blank}:
            for end, step in enumerate(where, 1):
                is_solver = step == "solver" and where[end : end + 1] != ("input_builder",)
                if is_solver or (end > 1 and where[end - 2] in ("scorers", "actions")):
                    parts.add(dotted(where[:end]))
        return parts

    def keeps_numbers(self) -> bool:
        """Whether every task is still there, and has every number that its scorers and metrics give it."""
        return not any(
            any("scorers" in where or where[-2:-1] in _HOLD_TASKS for where in repairs.cut)
            or any("metrics" in where for where in repairs.blank)
            for repairs in self._repairs.values()
        )

    def _is_consequence(self, fault: FileFault) -> bool:
        if fault.where in self._repairs[fault.path].blank:
            return True
        return any(path == fault.path and _follows(fault, where) for path, where in self._causes)

    def _take_out(self, fault: FileFault) -> bool:
        where, repairs = fault.where, self._repairs[fault.path]
        if fault.lacks in _LABELS and (not where or where[:-1] in (("tasks",), ("datasets",), ("models",))):
            return _added(repairs.filled, (*where, str(fault.lacks)))
        if not where or where[-1] == "definition":  # nothing is left of a task without it
            return len(where) > 2 and where[0] == "tasks" and self._cut(fault.path, where[:2])
        if fault.meant is not None:
            repairs.renamed[where] = fault.meant
            return True
        if fault.passable or fault.unknown:
            return _added(repairs.passed if fault.passable else repairs.cut, where)
        return (fault.content and _added(repairs.blank, where)) or self._cut(fault.path, where)

    def _cut(self, path: Path, where: FieldPath) -> bool:
        self._causes.add((path, where))
        return _added(self._repairs[path].cut, where) or (len(where) > 1 and self._cut(path, where[:-1]))


def _texts_with(value: Plain, names: Collection[str], where: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, str) and any(match[1] in names for match in PLACEHOLDER_INSIDE.finditer(value)):
        yield where
    for at, item in inside(value, where):
        yield from _texts_with(item, names, at)


def _follows(fault: FileFault, cut: FieldPath) -> bool:
    """Whether something is only wrong because something else was removed."""
    holder = cut[-2] if len(cut) > 1 else None
    if cut == fault.where:  # a default stands there now
        return True
    if cut[:-1] == fault.where:
        return isinstance(cut[-1], int) or f"`{cut[-1]}`" in fault.sentence
    if holder == "config_spec":
        return "<<" in fault.sentence
    named = holder in ("scorers", "datasets", "tasks", "models", "model_adapters")
    if named or (cut[-1] == "key" and "scorers" in cut):
        return "there is no " in fault.sentence
    return cut[-2:] == _SOLVER and "scorers" in fault.where


def _added(paths: set[FieldPath], where: FieldPath) -> bool:
    """Whether it was not there already."""
    before = len(paths)
    paths.add(where)
    return len(paths) > before


def read_with_all_faults(read: Callable[[], Read], mending: Mending) -> Read | None:
    """What can be read once the faults are out of the way, None where nothing can; `mending` gets all of them."""
    for _ in range(MOST_ROUNDS):
        try:
            return read()
        except UsageError as error:
            if not mending.learns(error):
                break
    return None
