"""Creates a task by its own function, once; `--data` replaces the hub's documents."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.bridges.inspect.worker.parts import refuse_unsupported
from assay.bridges.process.problem import BridgeError, not_loaded
from assay.bridges.process.tables import files_for, on_disk

_TASKS: dict[str, Any] = {}
_HOW = ("name", "file", "arguments", "data")


def task_of(order: dict[str, Any]) -> Any:
    """The task, created if needed."""
    return kept_task(order) or load(order)


def kept_task(order: dict[str, Any]) -> Any | None:
    return _TASKS.get(_key(order))


def load(order: dict[str, Any]) -> Any:
    """The task, created again; `BridgeError` where it has parts that are not supported."""
    from inspect_ai._eval.loader import load_tasks

    os.environ.setdefault("INSPECT_DISPLAY", "none")
    shown = shown_name(order)
    spec = f"{order['file']}@{order['name']}" if order.get("file") else order["name"]
    with _local_documents(order, shown), _one_try():
        try:
            (task,) = load_tasks([spec], _arguments(order))
        except BridgeError:
            raise
        except (Exception, SystemExit) as error:
            raise BridgeError(not_loaded(shown, error)) from error
    refuse_unsupported(task, shown)
    _TASKS[_key(order)] = task
    return task


def shown_name(order: dict[str, Any]) -> str:
    return f"inspect:{order['file']}@{order['name']}" if order.get("file") else f"inspect:{order['name']}"


def _arguments(order: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the task's function, parsed as by Inspect's own `-T`."""
    from inspect_ai._util.config import parse_cli_args

    given = order.get("arguments") or {}
    parsed: dict[str, Any] = parse_cli_args([f"{name}={value}" for name, value in given.items()])
    return parsed


@contextlib.contextmanager
def _local_documents(order: dict[str, Any], shown: str) -> Iterator[None]:
    """Inside this context, `datasets` reads the files instead of the hub, and Inspect does not cache them."""
    data = order.get("data") or {}
    if not data:
        yield
        return
    import inspect_ai.dataset._sources.hf as hub

    import datasets

    folder = Path(order["folder"])
    task = order["name"].rpartition("/")[2]

    def load_dataset(path: Any = None, name: Any = None, *_: Any, split: Any = None, **__: Any) -> Any:
        files = files_for(task, data)
        if split is None:
            return datasets.DatasetDict({each: on_disk(each, file, folder) for each, file in files.items()})
        if split not in files:
            raise BridgeError(f"`{shown}` reads the split `{split}` of {path}: --data {split}=FILE")
        return on_disk(split, files[split], folder)

    real = datasets.load_dataset, hub.inspect_cache_dir
    with tempfile.TemporaryDirectory() as unused:
        datasets.load_dataset, hub.inspect_cache_dir = load_dataset, lambda _: Path(unused)
        try:
            yield
        finally:
            datasets.load_dataset, hub.inspect_cache_dir = real


@contextlib.contextmanager
def _one_try() -> Iterator[None]:
    """A hub that cannot be reached is reported at once; Inspect retries for minutes."""
    import inspect_ai.dataset._sources.hf as hub

    tries = hub._hf_max_tries
    hub._hf_max_tries = lambda: 1
    try:
        yield
    finally:
        hub._hf_max_tries = tries


def _key(order: dict[str, Any]) -> str:
    return json.dumps([order.get(name) for name in _HOW], sort_keys=True)
