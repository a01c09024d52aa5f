"""lm_eval's tasks behind a name, set up as its own command sets them up, each loaded once."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from assay.tasks.lm_eval.worker.documents import local_documents
from assay.tasks.lm_eval.worker.names import manager
from assay.tasks.lm_eval.worker.problem import BridgeError

FEWSHOT_SEED = 1234
"""What lm_eval seeds its choice of worked examples with, unless told otherwise."""
UNREACHABLE = {"ConnectionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectError", "MaxRetryError"}
_TASKS: dict[str, Any] = {}
_HOW = ("name", "file", "include_path", "data", "num_fewshot", "fewshot_as_turns", "chat_template", "system", "seed")


def task_of(order: dict[str, Any]) -> Any:
    """One task of those behind the name."""
    key = _key(order, order["task"])
    if key not in _TASKS:
        load(order)
        if key not in _TASKS:
            raise BridgeError(f"lm_eval has no task `{order['task']}` in `{order['name']}`")
    return _TASKS[key]


def load(order: dict[str, Any]) -> dict[str, Any]:
    """The `tasks` and `groups` behind a name, read anew."""
    import random

    import numpy as np

    known = manager(order)
    random.seed(0)  # tasks that shuffle do it as under lm_eval's own command
    np.random.seed(FEWSHOT_SEED)
    with local_documents(order.get("data") or {}, order["name"], Path(order["folder"])):
        try:
            loaded = known.load([order["name"]])
        except BridgeError:
            raise
        except Exception as error:
            raise BridgeError(not_loaded(order["name"], error)) from error
    for name, task in loaded["tasks"].items():
        _set_up(task, order)
        _TASKS[_key(order, name)] = task
    return dict(loaded)


def _set_up(task: Any, order: dict[str, Any]) -> None:
    shots, own = order.get("num_fewshot"), task.get_config("num_fewshot")
    if shots is not None and own != 0:  # a task that says 0 means it, there and here
        task.set_config(key="num_fewshot", value=shots)
    elif own is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=order.get("seed", FEWSHOT_SEED))


def _key(order: dict[str, Any], task: str) -> str:
    return json.dumps([task, *(order.get(name) for name in _HOW)], sort_keys=True)


def not_loaded(name: str, error: Exception) -> str:
    """Why a task cannot be had, and what to do about it."""
    message = " ".join(str(error).split())[:400]
    unreachable = (
        "ConnectionError",
        "OfflineModeIsEnabled",
        "LocalEntryNotFoundError",
        "ConnectError",
        "MaxRetryError",
    )
    kinds = {each.__name__ for each in _chain(error)}
    if kinds & set(unreachable) or "Couldn't reach" in message or "offline" in message.lower():
        return (
            f"`lm-eval:{name}`: its documents are on the hub, which cannot be reached, and nothing of them is cached "
            f"here. Give them as files: --data SPLIT=FILE. ({type(error).__name__}: {message})"
        )
    if isinstance(error, ModuleNotFoundError):
        package = str(error.name).partition(".")[0]
        if importlib.util.find_spec(package) is not None:
            return f"`lm-eval:{name}` needs `{error.name}`, which the installed version of {package} does not have"
        return f"`lm-eval:{name}` needs the package `{package}`: pip install {package}"
    return f"`lm-eval:{name}` cannot be loaded: {type(error).__name__}: {message}"


def _chain(error: BaseException | None) -> list[type]:
    kinds: list[type] = []
    while error is not None:
        kinds += type(error).__mro__
        error = error.__cause__ or error.__context__
    return kinds
