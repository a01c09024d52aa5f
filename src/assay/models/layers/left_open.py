"""A model that is used once more after this use: closing the wrapper closes nothing."""

from __future__ import annotations

from assay.core.model_stack import Wrapper
from assay.overriding import override


class LeftOpen(Wrapper):
    """Somebody else closes the model."""

    @override
    async def aclose(self) -> None:
        pass
