"""Whose code runs: snippets and models of a task file run without asking only when the file is of this project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.tasks.declarative.yaml_reader import project_root


def require_trust(definitions: Iterable[TaskDefinition], *, trust: bool) -> None:
    """Refuse to run code of a file outside the current project, unless told to trust it."""
    for definition in definitions:
        if not trust and not trusted(definition):
            raise UsageError(
                f"{definition.source}: task `{definition.name}` brings code of its own "
                f"({', '.join(sorted(set(code_in(definition))))}) and lies outside the current project "
                f"({project_root(Path.cwd())}). Read it, then run again with --trust."
            )


def trusted(definition: TaskDefinition) -> bool:
    """Whether the task brings no code, or lies in the project the command runs in."""
    if not code_in(definition):
        return True
    here = project_root(Path.cwd()).resolve()
    files = [Path(definition.source), *(Path(file) for file in definition.metadata.get("files", ()))]
    return all(file.is_file() and file.resolve().is_relative_to(here) for file in files)


def code_in(definition: TaskDefinition) -> list[str]:
    """What of the task is code: snippets, models named as `module:object` or as a command, evaluator commands."""
    commands = [
        f"{part.key}.command" for part in definition.scorers if part.use == "evaluator" and "command" in part.options
    ]
    if definition.format != "declarative":
        return commands
    found = commands + [
        name
        for part in (definition.solver, *definition.scorers, *definition.aggregates)
        for name in part.options
        if name.endswith("_snippet") or (name == "command" and part.use == "evaluator")
    ]
    for part in (definition.solver, *definition.scorers):
        found.extend(_model_code(part.options))
    if _is_code(definition.metadata.get("model")):
        found.append("model")
    return found


def _model_code(options: object) -> list[str]:
    if isinstance(options, dict):
        if _is_code(options.get("model")):
            return ["model"]
        return [name for value in options.values() for name in _model_code(value)]
    if isinstance(options, list):
        return [name for value in options for name in _model_code(value)]
    return []


def _is_code(model: object) -> bool:
    if not isinstance(model, dict):
        return False
    name = str(model.get("model", ""))
    return ":" in name and not name.startswith("openai:")
