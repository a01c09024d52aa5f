"""A task source: what turns a path or a name such as `lm-eval:piqa` into task definitions.

A source is a part of the catalog (kind `source`, entry points `assay.sources`), and its name is its claim: `quiz`
claims every `quiz:…`, `.quiz` every file with that ending. An object with `Options` and `read` is a source; what else
one can do is one of the small protocols below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from assay.core.types import TaskDefinition
from assay.formats.shots import Shots

if TYPE_CHECKING:
    from assay.costs.budget import SpendingLimits
    from assay.formats.declarative.places import Places
    from assay.formats.declarative.prompt_texts import PromptText


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a source that has none of its own."""


class LoadedTask(NamedTuple):
    """A task, and the locations of its fields if its file is YAML."""

    definition: TaskDefinition
    places: Places | None = None
    takes_dataset: bool = False
    """Whether the dataset that the caller named is its own."""
    takes_judge: bool = False
    """Whether it has a judge key that nothing describes, so that the usual judge is behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContext:
    """What every source is given; its own settings are its `Options`."""

    trust: bool = False
    """Whether the user allows all that the task names: code, programs, addresses."""
    only_reads: bool = False
    """Tasks are only displayed: no server is called, and models need not exist."""
    only_looks: bool = False
    """Nothing is built either: a definition that lists what would run is enough."""
    allow_outside: bool = False
    allow_bad: bool = False
    in_folder: bool = False
    """Whether the user named the folder of the file and not the file itself."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Values for the task's parameters."""
    usual_config: Mapping[str, Any] = field(default_factory=dict)
    """Values from the project, for those parameters that the task has and the user gives none for."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The model behind a key, named on the command line."""
    judge: str | None = None
    """The model behind judge keys that nothing else describes: the user's, or else the project's."""
    judge_from: str = "from --judge"
    """Who chose it."""
    evaluated: Sequence[str] = ()
    dataset: str | None = None
    replaces_datasets: bool = False
    """Whether it also replaces those of the tasks of a folder."""
    prompt: PromptText | None = None
    """The prompt of the cell of a matrix."""
    models_needed: bool = True
    may_call_models: bool = True
    limits: SpendingLimits | None = None
    shots: Shots = field(default_factory=Shots)
    data: Mapping[str, str] = field(default_factory=dict)
    """A file for each split in place of the hub's; under the empty name, a folder with a folder for each task."""
    system: str | None = None
    """The system message, for a source that puts it into its requests itself."""


class TaskSource(Protocol):
    """Reads what it claims."""

    @property
    def Options(self) -> type[Struct]:  # noqa: N802 - a class
        """The record of its own settings: each field is a flag."""
        ...

    def read(self, text: str, options: Any, context: SourceContext) -> Sequence[TaskDefinition | LoadedTask]:
        """The tasks behind a path or a name; `UsageError` with everything that is wrong."""
        ...


@runtime_checkable
class ClaimsByContent(Protocol):
    """A source that shares an ending with another, and looks at the file."""

    def claims(self, path: Path) -> bool: ...


@runtime_checkable
class ListsNames(Protocol):
    """A source of tasks that are installed under names."""

    def names(self, search: str, options: Any) -> Mapping[str, str]:
        """Name -> summary of those whose names contain the text; `UsageError` where there is none."""
        ...


@runtime_checkable
class UsesShots(Protocol):
    """A source whose tasks have few-shot examples to choose from."""

    uses_shots: bool


@runtime_checkable
class UsesData(Protocol):
    """A source whose tasks may read given files in place of their data."""

    uses_data: bool


@runtime_checkable
class UsesConfig(Protocol):
    """A source whose tasks have parameters."""

    uses_config: bool
