"""The settings of a run with what planning adds: one frozen record, which `run.json` stores."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Struct

from assay.core.types import Request, TaskDefinition
from assay.run_settings import RunSettings
from assay.setting import AppliesTo, Purpose, Setting, settings_of


class TaskOverrides(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is different for one task of a run, as the folders of its project or its suites have it."""

    repeat: int | None = None
    limit: int | None = None
    generation: dict[str, Any] = {}
    """How its answers are sampled, by the names of settings of a run."""


class PartBudget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a suite inside the run may spend: its tasks begin nothing more then, the others go on."""

    suite: str
    tasks: tuple[str, ...]
    cost: float | None = None
    tokens: int | None = None
    minutes: float | None = None


class RunConfig(RunSettings, frozen=True, kw_only=True):
    """One run of one model. `identity()` says which of its settings a result depends on."""

    model: Annotated[str, Setting(Purpose.CHOICE)] = "toy"
    label: Annotated[str | None, Setting(Purpose.SHOWN)] = None
    """What tables call the model, such as `new` of `--model new=openai:NAME`; no part of the run's identity."""
    prompt: Annotated[str | None, Setting(Purpose.RESULT)] = None
    """Which of a run file's prompts this run uses."""

    cell: Annotated[dict[str, str], Setting(Purpose.RESULT)] = {}  # noqa: RUF012 - a record copies it
    """Which cell of a suite's matrix this run is: its place on every axis but `prompt` that has several."""

    of_tasks: Annotated[dict[str, TaskOverrides], Setting(Purpose.RESULT)] = {}  # noqa: RUF012 - a record copies it
    """What is different for single tasks, by name."""

    parts: Annotated[tuple[PartBudget, ...], Setting(Purpose.SPENDING, AppliesTo.LIMIT)] = ()
    """The budgets of suites inside the run, all sessions together as for the run's own."""

    usual: Annotated[tuple[str, ...], Setting(Purpose.SHOWN, AppliesTo.LIMIT)] = ()
    """The settings that are from the project's defaults: where one has no effect, that is said and no error."""

    def settings(self) -> Request:
        """The generation settings, as a request."""
        fields = settings_of(RunConfig).values()
        names = [field.name for field in fields if field.setting.applies_to is AppliesTo.ANSWERS]
        return Request(**{name: getattr(self, name) for name in names})

    def settings_of_tasks(self) -> dict[str, Request]:
        """The generation settings of the tasks that have some of their own."""
        settings = self.settings()
        given = {name: own.generation for name, own in self.of_tasks.items() if own.generation}
        return {name: msgspec.structs.replace(settings, **generation) for name, generation in given.items()}

    def repeats(self) -> dict[str, int]:
        """How often the samples of a task are attempted, where that is its own."""
        return {name: own.repeat for name, own in self.of_tasks.items() if own.repeat is not None}

    def repeat_of(self, task: str) -> int:
        """How often each sample of a task is attempted."""
        own = self.of_tasks.get(task)
        return self.repeat if own is None or own.repeat is None else own.repeat

    def limit_of(self, task: str) -> int | None:
        """How many samples of a task are attempted, at most."""
        own = self.of_tasks.get(task)
        return self.limit if own is None or own.limit is None else own.limit

    def samples_of(self, definition: TaskDefinition) -> int:
        """How many samples of a task the run includes."""
        size = definition.dataset.size if self.only is None else len(self.only.get(definition.name, ()))
        limit = self.limit_of(definition.name)
        return size if limit is None else min(limit, size)

    def attempts_of(self, definition: TaskDefinition) -> int:
        return self.samples_of(definition) * self.repeat_of(definition.name)

    def left_out_of(self, definition: TaskDefinition) -> int:
        """The attempts at samples of a task that the run leaves out."""
        return max(0, definition.dataset.size - self.samples_of(definition)) * self.repeat_of(definition.name)

    def identity(self) -> dict[str, Any]:
        """The settings that identify a result: those with the purpose RESULT, and no others."""
        identifying = [field for field in settings_of(RunConfig).values() if field.setting.purpose is Purpose.RESULT]
        names = [field.name for field in identifying if field.setting.applies_to is not AppliesTo.ANSWERS]
        others = {name: msgspec.to_builtins(value) for name in names if (value := getattr(self, name))}
        return {"generation": msgspec.to_builtins(self.settings()), "limit": None, **others}
