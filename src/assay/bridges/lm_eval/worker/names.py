"""The names that an installed lm_eval has: the package's own and those of the user's folders."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from assay.bridges.process.problem import BridgeError

_MANAGERS: dict[str, Any] = {}


def list_names(order: dict[str, Any]) -> dict[str, Any]:
    """Every name that contains the search text, and whether it is a task, a group or a tag."""
    index = manager(order)._index
    search = order.get("search", "").casefold()
    names = sorted(name for name in index if search in name.casefold())
    return {"version": version(), "names": {name: str(index[name].kind.name).lower() for name in names}}


def manager(order: dict[str, Any]) -> Any:
    """lm_eval's own manager of tasks, for these folders and files."""
    key = _key(order)
    if key not in _MANAGERS:
        _MANAGERS[key] = _new_manager(order)
    return _MANAGERS[key]


def _import_datasets_without_torch() -> None:
    """`datasets` imports torch wherever it is installed, for columns of tensors that no task has: a second for nothing.

    Only this import leaves it out; metrics that need torch find it.
    """
    before = os.environ.get("USE_TORCH")
    os.environ["USE_TORCH"] = "0"
    try:
        importlib.import_module("datasets")
    finally:
        del os.environ["USE_TORCH"]
        if before is not None:
            os.environ["USE_TORCH"] = before


def forget_manager(order: dict[str, Any]) -> None:
    """Drop the cached manager if it covers the user's own files, which may have changed."""
    if order.get("include_path") or order.get("file"):
        _MANAGERS.pop(_key(order), None)


def package_folder() -> Path:
    import lm_eval

    return Path(lm_eval.__file__).resolve().parent


def version() -> str:
    return importlib.metadata.version("lm_eval")


def _key(order: dict[str, Any]) -> str:
    return json.dumps([order.get("include_path"), order.get("file")])


def _new_manager(order: dict[str, Any]) -> Any:
    try:
        _import_datasets_without_torch()
        from lm_eval.tasks import TaskManager
    except ImportError as error:
        raise BridgeError(
            f"tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]' ({error})"
        ) from error
    made = TaskManager(include_path=order.get("include_path"), include_defaults=False)
    made._index = {**_package_index(order["folder"]), **made._index}
    if order.get("file"):
        made._index = {**made._index, **_entry_of(order["file"])}
    return made


def _entry_of(file: str) -> dict[str, Any]:
    from lm_eval.tasks._index import TaskIndex

    try:
        entry = TaskIndex.entry_from_path(Path(file))
    except Exception as error:
        raise BridgeError(f"{file}: no task of lm_eval: {error}") from error
    if entry is None:
        raise BridgeError(f"{file}: no task of lm_eval")
    return {entry.name: entry}


@cache
def _package_index(folder: str) -> dict[str, Any]:
    """The package's own names. Reading its fourteen thousand files takes seconds, so the index is kept in a file."""
    from lm_eval.tasks._index import Entry, Kind, TaskIndex

    package = package_folder()
    stamp = [version(), str(package), package.stat().st_mtime_ns, sys.version_info[:2]]
    path = Path(folder) / "index.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text())
        if kept["stamp"] == json.loads(json.dumps(stamp)):
            return {
                name: Entry(name=name, kind=Kind[kind], yaml_path=Path(file) if file else None, tags=set(tags))
                for name, (kind, file, tags) in kept["names"].items()
            }
    index: dict[str, Any] = TaskIndex.build([package / "tasks"])
    names = {
        name: [each.kind.name, str(each.yaml_path) if each.yaml_path else None, sorted(each.tags)]
        for name, each in index.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"index-{os.getpid()}.partial")
    partial.write_text(json.dumps({"stamp": stamp, "names": names}))
    partial.replace(path)
    return index
