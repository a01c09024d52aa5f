"""The process that Inspect runs in: names, requests and scores of its own tasks.

Imported by the snippet that starts it, never by assay itself. Plain data in, plain data out. `names.py` finds the tasks
of packages and files without running them, `loading.py` creates one, `parts.py` lists what is not supported,
`replay.py` runs its solvers over given answers, `building.py` makes the samples, `results.py` scores.
"""

from __future__ import annotations

from typing import Any

from assay.bridges.inspect.worker.building import build
from assay.bridges.inspect.worker.loading import task_of
from assay.bridges.inspect.worker.names import describe, list_names
from assay.bridges.inspect.worker.results import score
from assay.bridges.process.problem import BridgeError


def load_only(order: dict[str, Any]) -> dict[str, Any]:
    """Load the task, as a restarted process needs to."""
    task_of(order)
    return {}


_ORDERS = {"names": list_names, "describe": describe, "build": build, "load": load_only, "score": score}


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or its `problem` in a sentence."""
    try:
        return _ORDERS[order["do"]](order)
    except BridgeError as error:
        return {"problem": str(error)}
