"""Finds tasks in the source of packages and files, without running any of it."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any, NamedTuple

from assay.bridges.process.problem import BridgeError

GROUP = "inspect_ai"
"""The group of entry points by which packages declare their tasks."""


class TaskFunction(NamedTuple):
    """A function that returns a task."""

    name: str
    summary: str
    file: Path
    parameters: tuple[str, ...]
    """The names of its parameters, followed by `*` if it takes any others."""


def list_names(order: dict[str, Any]) -> dict[str, Any]:
    """The tasks of installed packages whose names contain the search text, with the first paragraph of their docs."""
    _refuse_without_inspect()
    search = str(order.get("search", "")).casefold()
    names = {
        f"{package}/{task.name}": task.summary
        for package in _packages()
        for task in tasks_of_package(package)
        if search in f"{package}/{task.name}".casefold()
    }
    return {"names": dict(sorted(names.items()))}


def describe(order: dict[str, Any]) -> dict[str, Any]:
    """The files behind a name and the Python that would run."""
    _refuse_without_inspect()
    task, package = _file_task(order) if order.get("file") else _package_task(order)
    for name in () if "*" in task.parameters else order.get("arguments") or ():
        if name.replace("-", "_") not in task.parameters:  # Inspect itself would ignore it
            known = ", ".join(task.parameters) or "none"
            raise BridgeError(f"--config {name}: the task `{task.name}` has no such parameter; it has: {known}")
    inside = task.file.relative_to(package.parent) if package is not None else task.file
    beside = sorted(task.file.parent.glob("*.py")) if package is not None else [task.file]
    return {
        "version": version("inspect_ai"),
        "main": str(task.file),
        "files": [str(path) for path in beside],
        "code": f"{inside}:{task.name}",
    }


def tasks_of_package(package: str) -> list[TaskFunction]:
    """The tasks of the package installed under this name."""
    folder = _folder_of(package)
    return [task for file in sorted(folder.rglob("*.py")) for task in tasks_of_file(file)] if folder else []


def tasks_of_file(file: Path) -> Iterator[TaskFunction]:
    """The functions of a file that are decorated with `@task`."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if "@task" not in text and ".task" not in text:
        return
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in (item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef)):
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called).rpartition(".")[2] == "task":
                yield TaskFunction(_name(node, decorator), _summary(node), file.resolve(), _parameters(node.args))


def _name(node: ast.FunctionDef, decorator: ast.expr) -> str:
    """The decorator's `name`, or the function's own."""
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return node.name


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    named = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return (*named, *(["*"] if arguments.kwarg else []))


def _summary(node: ast.FunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())


def _packages() -> list[str]:
    return sorted({entry_point.name for entry_point in entry_points(group=GROUP)})


def _folder_of(package: str) -> Path | None:
    """The folder of the package, which is not imported."""
    for entry_point in entry_points(group=GROUP):
        if entry_point.name == package:
            spec = importlib.util.find_spec(entry_point.value.partition(":")[0].partition(".")[0])
            if spec is not None and spec.submodule_search_locations:
                return Path(spec.submodule_search_locations[0]).resolve()
    return None


def _package_task(order: dict[str, Any]) -> tuple[TaskFunction, Path | None]:
    package, slash, name = order["name"].partition("/")
    folder = _folder_of(package) if slash else None
    if folder is None:
        known = ", ".join(_packages()) or "none"
        raise BridgeError(
            f"`inspect:{order['name']}`: name a task as PACKAGE/TASK or FILE.py@TASK. "
            f"Installed packages with Inspect tasks: {known}"
        )
    return _chosen(name, tasks_of_package(package), f"the package {package}", f"inspect:{package}/"), folder


def _file_task(order: dict[str, Any]) -> tuple[TaskFunction, Path | None]:
    file = Path(order["file"])
    return _chosen(order["name"], list(tasks_of_file(file)), str(file), f"inspect:{file}@"), None


def _chosen(name: str, tasks: list[TaskFunction], where: str, prefix: str) -> TaskFunction:
    for task in tasks:
        if task.name == name:
            return task
    near = get_close_matches(name, [task.name for task in tasks], n=3)
    meant = f"Did you mean {' or '.join(f'`{prefix}{item}`' for item in near)}?" if near else ""
    raise BridgeError(f"{where} has no Inspect task called `{name}`. {meant}".strip())


def _refuse_without_inspect() -> None:
    if importlib.util.find_spec("inspect_ai") is None:
        raise BridgeError("Inspect tasks need its package: pip install 'assay-eval[inspect-ai]'")
