"""A model's own generation settings, the defaults of its requests; and whether those of a run had an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.overriding import override


class WithSettings(Wrapper):
    """Sets `temperature`, `top_p`, `max_tokens`, `stop` and `seed` where the request does not."""

    def __init__(self, model: Model, generation: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._generation = {
            name: tuple(value) if isinstance(value, list) else value for name, value in generation.items()
        }

    @override
    async def generate(self, request: Request) -> Completion:
        missing = {name: value for name, value in self._generation.items() if getattr(request, name) is None}
        return await self.model.generate(msgspec.structs.replace(request, **missing) if missing else request)


class NotesOverridden(Wrapper):
    """Passes every request on, and knows which of a run's settings none of a task's requests had."""

    def __init__(self, model: Model, settings: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._settings = settings
        self._without_effect: dict[str, set[str]] = {}

    @property
    def overridden(self) -> dict[str, list[str]]:
        """By task, the settings that all of its requests had their own values for; without requests it is absent."""
        return {
            task: [name for name in self._settings if name in names] for task, names in self._without_effect.items()
        }

    @override
    async def generate(self, request: Request) -> Completion:
        task = "" if request.draw is None else request.draw.task
        names = self._without_effect.get(task)
        if names is None:
            names = self._without_effect[task] = set(self._settings)
        if names:
            names -= {name for name in names if getattr(request, name) == self._settings[name]}
        return await self.model.generate(request)
