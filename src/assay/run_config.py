"""The settings of a run with what planning adds: one frozen record, which `run.json` stores."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from assay.core.types import Request, TaskDefinition
from assay.run_settings import RunSettings
from assay.setting import AppliesTo, Purpose, Setting, settings_of


class RunConfig(RunSettings, frozen=True, kw_only=True):
    """One run of one model. `identity()` says which of its settings a result depends on."""

    model: Annotated[str, Setting(Purpose.CHOICE)] = "toy"
    label: Annotated[str | None, Setting(Purpose.SHOWN)] = None
    """What tables call the model, such as `new` of `--model new=openai:NAME`; no part of the run's identity."""
    prompt: Annotated[str | None, Setting(Purpose.RESULT)] = None
    """Which of a run file's prompts this run uses."""

    def settings(self) -> Request:
        """The generation settings, as a request."""
        fields = settings_of(RunConfig).values()
        names = [field.name for field in fields if field.setting.applies_to is AppliesTo.ANSWERS]
        return Request(**{name: getattr(self, name) for name in names})

    def samples_of(self, definition: TaskDefinition) -> int:
        """How many samples of a task the run includes."""
        size = definition.dataset.size if self.only is None else len(self.only.get(definition.name, ()))
        return size if self.limit is None else min(self.limit, size)

    def attempts_of(self, definition: TaskDefinition) -> int:
        return self.samples_of(definition) * self.repeat

    def left_out_of(self, definition: TaskDefinition) -> int:
        """The attempts at samples of a task that the run leaves out."""
        return max(0, definition.dataset.size - self.samples_of(definition)) * self.repeat

    def identity(self) -> dict[str, Any]:
        """The settings that identify a result: those with the purpose RESULT, and no others."""
        identifying = [field for field in settings_of(RunConfig).values() if field.setting.purpose is Purpose.RESULT]
        names = [field.name for field in identifying if field.setting.applies_to is not AppliesTo.ANSWERS]
        others = {name: value for name in names if (value := getattr(self, name))}
        return {"generation": msgspec.to_builtins(self.settings()), "limit": None, **others}
