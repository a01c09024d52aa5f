"""How often a function is called: for tests that something is not done twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(function: Callable[..., Any], work: Callable[[], object]) -> int:
    """How often a function is called while something is done."""
    count = 0

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is function.__code__

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
