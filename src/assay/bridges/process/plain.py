"""Converts the values of documents and metrics to JSON types, to send them to another process."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """The value in JSON types: NaN and infinities become None, other types their text."""
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
