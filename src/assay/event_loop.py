"""Coroutines for callers without `await`, also where an event loop is running already: a notebook, an async service."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")


def is_running_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_anywhere(work: Coroutine[Any, Any, _T]) -> _T:
    """Wait for its result, in a separate thread if this one already runs a loop."""
    if not is_running_here():
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
