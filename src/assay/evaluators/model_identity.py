"""What tells one judge or proposer from another, for the fingerprints of evaluators and searches."""

from __future__ import annotations

from typing import Any

from assay.core.model_stack import Wrapper
from assay.core.seams import Model


def unwrapped_identity(model: Model) -> dict[str, Any]:
    """The name and settings of the model itself, however many wrappers are around it."""
    while isinstance(model, Wrapper):
        model = model.model
    return {"name": model.name, **getattr(model, "settings", {})}
