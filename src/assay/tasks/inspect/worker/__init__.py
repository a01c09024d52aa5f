"""The process that Inspect runs in: names, requests and scores of its own tasks.

Imported by the snippet that starts it, never by assay itself. Plain data in, plain data out. `names.py` finds the tasks
of packages and files without running them, `loading.py` creates one, `parts.py` says what of it is not supported,
`replay.py` runs its solvers over answers that are given, `building.py` makes samples and `results.py` scores of that.
"""

from __future__ import annotations

from typing import Any

from assay.tasks.inspect.worker.building import build
from assay.tasks.inspect.worker.loading import task_of
from assay.tasks.inspect.worker.names import describe, list_names
from assay.tasks.inspect.worker.results import score
from assay.tasks.library.problem import BridgeError


def load_only(order: dict[str, Any]) -> dict[str, Any]:
    """Have the task ready: a process that had to be restarted has forgotten it."""
    task_of(order)
    return {}


_ORDERS = {"names": list_names, "describe": describe, "build": build, "load": load_only, "score": score}


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, or the `problem` in a sentence."""
    try:
        return _ORDERS[order["do"]](order)
    except BridgeError as error:
        return {"problem": str(error)}
