"""lm_eval's tasks behind a name, set up as its own command sets them up, each loaded once."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from assay.bridges.lm_eval.worker.documents import local_documents
from assay.bridges.lm_eval.worker.names import manager
from assay.bridges.process.problem import BridgeError, not_loaded

FEWSHOT_SEED = 1234
"""lm_eval's own default seed for choosing few-shot examples."""
_TASKS: dict[str, Any] = {}
_HOW = ("name", "file", "include_path", "data", "num_fewshot", "fewshot_as_turns", "chat_template", "system", "seed")


def task_of(order: dict[str, Any]) -> Any:
    """The task `order["task"]` of those behind `order["name"]`, loaded if needed."""
    if kept_task(order) is None:
        load(order)
    task = kept_task(order)
    if task is None:
        raise BridgeError(f"lm_eval has no task `{order['task']}` in `{order['name']}`")
    return task


def kept_task(order: dict[str, Any]) -> Any | None:
    """The task if it is loaded already."""
    return _TASKS.get(_key(order, order["task"]))


def load(order: dict[str, Any]) -> dict[str, Any]:
    """The `tasks` and `groups` behind a name, read again."""
    import random

    import numpy as np

    known = manager(order)
    _compile_templates_once()
    random.seed(0)  # tasks that shuffle do it as under lm_eval's own command
    np.random.seed(FEWSHOT_SEED)
    with local_documents(order.get("data") or {}, order["name"], Path(order["folder"])):
        try:
            loaded = known.load([order["name"]])
        except BridgeError:
            raise
        except (Exception, SystemExit) as error:  # some exit when a program that they need is missing
            raise BridgeError(not_loaded(f"lm-eval:{order['name']}", error)) from error
    for name, task in loaded["tasks"].items():
        _set_up(task, order)
        _TASKS[_key(order, name)] = task
    return dict(loaded)


@cache
def _compile_templates_once() -> None:
    """Cache compiled templates: lm_eval compiles its template again for every document."""
    from lm_eval import utils

    utils.env.from_string = lru_cache(maxsize=1024)(utils.env.from_string)


def _set_up(task: Any, order: dict[str, Any]) -> None:
    shots, own = order.get("num_fewshot"), task.get_config("num_fewshot")
    if shots is not None and own != 0:  # a task's own 0 is kept, as in lm_eval
        task.set_config(key="num_fewshot", value=shots)
    elif own is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=order.get("seed", FEWSHOT_SEED))


def _key(order: dict[str, Any], task: str) -> str:
    return json.dumps([task, *(order.get(name) for name in _HOW)], sort_keys=True)
