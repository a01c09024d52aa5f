"""Whatever a document or a metric holds, converted to JSON types to leave the process."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """NaN and infinities are None; what JSON has no type for is its text."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)
