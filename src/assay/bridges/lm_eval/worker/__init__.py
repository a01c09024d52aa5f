"""The process that lm_eval runs in: names, documents, requests, scores and aggregates of its own `Task` objects.

Imported by the snippet that `library.py` starts, never by assay itself. Plain data in, plain data out. `names.py` lists
what is installed, `reaches.py` what a name would run, `loading.py` sets tasks up, `documents.py` reads local files,
`building.py` makes the samples, `results.py` scores and aggregates.
"""

from __future__ import annotations

from typing import Any

from assay.bridges.lm_eval.worker.building import build
from assay.bridges.lm_eval.worker.loading import task_of
from assay.bridges.lm_eval.worker.names import list_names
from assay.bridges.lm_eval.worker.reaches import describe
from assay.bridges.lm_eval.worker.results import aggregate, keep_scores, score
from assay.bridges.process.problem import BridgeError


def load_only(order: dict[str, Any]) -> dict[str, Any]:
    """Load the task, as a restarted process needs to."""
    task_of(order)
    return {}


_ORDERS = {
    "names": list_names,
    "describe": describe,
    "build": build,
    "load": load_only,
    "score": score,
    "keep_scores": keep_scores,
    "aggregate": aggregate,
}


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or its `problem` in a sentence."""
    try:
        return _ORDERS[order["do"]](order)
    except BridgeError as error:
        return {"problem": str(error)}
