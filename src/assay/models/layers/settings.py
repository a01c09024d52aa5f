"""A model with its own generation settings, which are the defaults of its requests."""

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
