"""The matrix of a suite as cells: what each sets of its tasks and of the run, and what tables call it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.formats.declarative.nearby_files import NearbyFiles
from assay.formats.declarative.prompt_texts import PromptText, prompt_texts
from assay.formats.declarative.reading_options import ReadingOptions
from assay.formats.declarative.yaml_reader import Plain
from assay.formats.project.records import MAX_CELLS
from assay.formats.project.selection import project_tasks, suite_tasks
from assay.run_config import RunConfig
from assay.setting import AppliesTo, settings_of
from assay.text.printable import one_line
from assay.text.wording import hint
from assay.trust.project import root_of

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.formats.project.reader import Project

_NAMES = ("model", "prompt", "judge", "dataset")
_OF_A_FILE = ("prompt", "dataset", "config")
_LONGEST_LABEL = 40


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: a value on each axis."""

    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    """The axes that have several values, with what tables call this one."""
    prompt: Any = None
    """The `PromptText` of the axis `prompt`."""

    @property
    def model(self) -> list[str] | None:
        return [self.values["model"]] if "model" in self.values else None

    @property
    def settings(self) -> dict[str, Any]:
        return {
            axis.partition(".")[2]: tuple(value) if isinstance(value, list) else value
            for axis, value in self.values.items()
            if axis.startswith("settings.")
        }

    @property
    def reading(self) -> dict[str, Any]:
        """How its task files are read."""
        how: dict[str, Any] = {}
        if "judge" in self.values:
            how |= {"judge": self.values["judge"], "judge_from": "from the matrix"}
        if "dataset" in self.values:
            how |= {"dataset": self.values["dataset"], "replaces_datasets": True}
        return how if self.prompt is None else {**how, "prompt": self.prompt}

    def configured(self, config: RunConfig) -> RunConfig:
        """The settings of its runs."""
        own = {axis.partition(".")[2]: value for axis, value in self.values.items() if axis.startswith("config.")}
        return msgspec.structs.replace(
            config,
            **self.settings,
            task_config={**config.task_config, **own},
            prompt=self.labels.get("prompt"),
            cell={axis: label for axis, label in self.labels.items() if axis != "prompt"},
        )


class Matrix:
    """The matrix of a suite."""

    def __init__(self, project: Project, suite: str) -> None:
        self._project, self._suite = project, suite
        self._said = project.suite(suite)
        self.axes: dict[str, list[Plain]] = dict(self._said.matrix or {})

    def cells(self, given: Collection[str], config: RunConfig, models: object) -> list[MatrixCell]:
        """Those that are not left out; `UsageError` where the user gives what an axis has, or a task lacks it."""
        for axis, values in self.axes.items():
            self._check_values(axis, values)
            self._refuse_given(axis, given, config, models)
        if "model" in self.axes and self._said.model is not None:
            raise self._error("model", f"@{self._suite} has a `model` as well: leave one of them out")
        self._check_tasks()
        places = [
            place for place in product(*(range(len(values)) for values in self.axes.values())) if self._is_kept(place)
        ]
        self._check_count(len(places))
        return [self._cell(dict(zip(self.axes, place, strict=True))) for place in places]

    def refuse_idle_axes(self, cells: Sequence[MatrixCell], read: Sequence[Sequence[TaskDefinition]]) -> None:
        """`UsageError` for an axis along which no task changes: its cells would be one run, made several times."""
        tasks = [[task_fingerprint(definition) for definition in definitions] for definitions in read]
        for axis, values in self.axes.items():
            if len(values) < 2 or axis == "model" or axis.startswith("settings."):
                continue
            changes = [
                tasks[at] != tasks[earlier]
                for at, one in enumerate(cells)
                for earlier, other in enumerate(cells[:at])
                if [name for name in self.axes if not _equal(one.values[name], other.values[name])] == [axis]
            ]
            if changes and not any(changes):
                raise self._error(axis, f"no task of @{self._suite} changes with `{axis}`: its cells would be equal")

    def _cell(self, place: Mapping[str, int]) -> MatrixCell:
        return MatrixCell(
            values={axis: self.axes[axis][at] for axis, at in place.items()},
            labels={axis: self._labels[axis][at] for axis, at in place.items() if len(self.axes[axis]) > 1},
            prompt=self._prompts[place["prompt"]] if "prompt" in place else None,
        )

    @cached_property
    def _prompts(self) -> list[PromptText]:
        root = self._project.root
        nearby = NearbyFiles(home=root, root=root_of(root).resolve(), environ=None, reading=ReadingOptions())
        named = [str(name) for name in self.axes["prompt"]]
        return prompt_texts(self._project.document, ("suites", self._suite, "matrix", "prompt"), named, nearby)

    @cached_property
    def _labels(self) -> dict[str, list[str]]:
        labels: dict[str, list[str]] = {}
        for axis, values in self.axes.items():
            kind, _, key = axis.partition(".")
            texts = [one_line(str(value), _LONGEST_LABEL) for value in values]
            if kind == "prompt":
                texts = [prompt.name for prompt in self._prompts]
            elif kind != "model":
                texts = [f"{key or kind}={text}" for text in texts]
            labels[axis] = [
                text if texts.count(text) == 1 else f"{text} ({at})" for at, text in enumerate(texts, start=1)
            ]
        return labels

    def _is_kept(self, place: Sequence[int]) -> bool:
        values = {axis: self.axes[axis][at] for axis, at in zip(self.axes, place, strict=True)}
        return not any(_matches(values, entry) for entry in self._said.leave_out)

    def _check_count(self, count: int) -> None:
        shape = " × ".join(str(len(values)) for values in self.axes.values())
        for at, entry in enumerate(self._said.leave_out):
            for axis, value in entry.items():
                if not any(_equal(value, known) for known in self.axes[axis]):
                    where = ("suites", self._suite, "leave_out", at, axis)
                    raise self._project.error(where, f"`{value}` is no value of `{axis}` in the matrix")
        if not count:
            raise self._project.error(("suites", self._suite, "leave_out"), "no cell is left of the matrix")
        if count > (self._said.max_cells or MAX_CELLS):
            raise self._error(
                None, f"@{self._suite} has {count} cells ({shape}); write `max_cells: {count}` if you mean it"
            )

    def _check_values(self, axis: str, values: Sequence[Plain]) -> None:
        kind, _, key = axis.partition(".")
        for at, value in enumerate(values):
            where = ("suites", self._suite, "matrix", axis, at)
            if any(_equal(value, earlier) for earlier in values[:at]):
                raise self._project.error(where, f"`{value}` is given twice")
            if kind in _NAMES and not isinstance(value, str):
                raise self._project.error(where, f"expected a name, got {value!r}")
            if kind == "settings":
                self._check_setting(key, value, where)

    def _check_setting(self, key: str, value: Plain, where: tuple[str | int, ...]) -> None:
        known = [
            name for name, field in settings_of(RunConfig).items() if field.setting.applies_to is AppliesTo.ANSWERS
        ]
        if key not in known:
            raise self._project.error(where[:-1], f"unknown setting `{key}`. {hint(key, known)}")
        from assay.runs.plan import make_config

        try:
            setting: Any = {key: value}
            make_config(**setting)
        except UsageError as error:
            raise self._project.error(where, str(error)) from error

    def _refuse_given(self, axis: str, given: Collection[str], config: RunConfig, models: object) -> None:
        kind, _, key = axis.partition(".")
        twice = (
            (kind == "model" and models)
            or (kind in ("judge", "dataset") and kind in given)
            or (kind == "config" and any(name.rpartition(":")[2] == key for name in config.task_config))
            or (kind == "settings" and key in given)
        )
        if twice:
            raise self._error(axis, f"`{axis}` is an axis of @{self._suite}, and is given too: leave one out")

    def _check_tasks(self) -> None:
        """Prompts, datasets and parameters are those of YAML tasks, and a parameter of each of them."""
        for axis in self.axes:
            kind, _, key = axis.partition(".")
            if kind not in _OF_A_FILE:
                continue
            tasks = project_tasks(self._project)
            for file in suite_tasks(tasks, self._suite):
                if file.broken is not None:
                    continue  # its reader says what is wrong with it
                if file.kind != "yaml" or file.name not in tasks.by_name:
                    raise self._error(axis, f"`{file.name}` is no YAML task, so it has no `{axis}` to vary")
                if kind == "config" and key not in file.parameters:
                    has = ", ".join(sorted(file.parameters)) or "none"
                    raise self._error(axis, f"`{axis}` is no parameter of {file.name}; it has: {has}")

    def _error(self, axis: str | None, message: str) -> UsageError:
        where = ("suites", self._suite, "matrix")
        return self._project.error(where if axis is None else (*where, axis), message)


def _matches(values: Mapping[str, Plain], entry: Mapping[str, Plain]) -> bool:
    return all(_equal(values[axis], value) for axis, value in entry.items())


def _equal(one: Plain, other: Plain) -> bool:
    """`1` and `true` are two values."""
    return type(one) is type(other) and one == other
