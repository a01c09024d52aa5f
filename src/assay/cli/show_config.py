"""`assay show config [TASK]`: the settings that a run would have, and the place that each is from."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from assay.cli.output import print_json, show
from assay.core.errors import UsageError
from assay.formats.project.discovery import current_project
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.core.types import TaskDefinition
    from assay.formats.project.reader import Project

_BUILT_IN = "built in"


class ConfigRow(NamedTuple):
    """A setting, its value, and where it is said."""

    setting: str
    value: object
    place: str


def show_config(options: argparse.Namespace) -> int:
    from assay.pages.document import TextTable

    project = current_project()
    if project is None:
        raise UsageError("show config: there is no assay.yaml here; flags and built-in defaults are all there is")
    rows = list(_rows(project, options.task, options.model))
    if options.json:
        print_json({row.setting: {"value": row.value, "from": row.place} for row in rows})
        return DONE
    cells = [[row.setting, str(row.value), row.place] for row in rows]
    show(TextTable(header=["setting", "value", "from"], rows=cells, numeric_from=9), options)
    return DONE


def _rows(project: Project, task: str | None, model: str | None) -> Iterator[ConfigRow]:
    from assay.runs.plan import usual_cache
    from assay.tasks.project_facts import read_of
    from assay.tasks.project_sources import project_sources

    definition = None
    if task is not None:
        from assay.formats.project.selection import named_tasks

        sources = project_sources()
        assert sources is not None  # noqa: S101 - there is a project
        files = named_tasks(sources.tasks, task)
        if len(files) != 1:
            raise UsageError(f"show config {task}: names {len(files)} tasks; name one")
        definitions, broken = read_of(files)
        if broken:
            raise next(iter(broken.values()))
        definition = definitions[files[0].name]
    yield from _of_models(project, model)
    is_cached, said_by = usual_cache()
    if said_by:
        yield ConfigRow("cache", is_cached, said_by)
    yield from _of_settings(project, definition, model)
    if definition is not None:
        yield from _of_task(project, definition)


def _of_models(project: Project, model: str | None) -> Iterator[ConfigRow]:
    from assay.formats.project.aliases import spec_of

    said = project.entry.model
    names = [model] if model is not None else [said] if isinstance(said, str) else said or ["toy"]
    place = "--model" if model is not None else project.place(("model",)) if said is not None else _BUILT_IN
    for name in names:
        if name not in project.entry.models:
            yield ConfigRow("model", name, place)
            continue
        spec = spec_of(project, name)
        yield ConfigRow("model", spec.model, f"{place} → {project.place(('models', name))}")
        for option, value in spec.options.items():
            if option == "api_key_env":
                yield ConfigRow(f"${value}", *_variable(str(value)))
            else:
                yield ConfigRow(option, value, project.place(("models", name)))
    if project.entry.judge is not None:
        yield ConfigRow("judge", project.entry.judge, project.place(("judge",)))


def _variable(name: str) -> tuple[str, str]:
    from assay.reading.env_file import variables

    if name in os.environ:
        return "set", "the environment"
    return ("set", ".env") if name in variables() else ("not set", "neither in the environment nor in .env")


def _of_settings(project: Project, definition: TaskDefinition | None, model: str | None) -> Iterator[ConfigRow]:
    """How answers are sampled: as the task has it, else its folders, the model, or the defaults."""
    said = {**_of_defaults(project), **_of_alias(project, model)}
    if definition is not None:
        said |= _of_folders(project, definition.name) | _of_requests(definition)
    for name, (value, place) in said.items():
        yield ConfigRow(name, value, place)


def _of_defaults(project: Project) -> dict[str, tuple[object, str]]:
    settings = project.entry.defaults.settings
    return {
        name: (value, f"{project.place(('defaults', 'settings', name))} defaults") for name, value in settings.items()
    }


def _of_alias(project: Project, model: str | None) -> dict[str, tuple[object, str]]:
    from assay.formats.project.aliases import spec_of

    name = model or project.entry.model
    if not isinstance(name, str) or name not in project.entry.models:
        return {}
    place = f"{project.place(('models', name))} {name}"
    return {setting: (value, place) for setting, value in spec_of(project, name).generation.items()}


def _of_folders(project: Project, task: str) -> dict[str, tuple[object, str]]:
    from assay.formats.project.applied import for_task, of_folders

    places = for_task(project, task).places
    return {name: (value, places["settings", name]) for name, value in of_folders(project, task).settings.items()}


def _of_requests(definition: TaskDefinition) -> dict[str, tuple[object, str]]:
    """What the task's own first request has."""
    from assay.core.types import Request
    from assay.run_config import RunConfig
    from assay.runs.preview import preview

    for _, requests in preview(definition, 1):
        if not isinstance(requests, list):
            break
        for request in requests[:1]:
            assert isinstance(request, Request)  # noqa: S101 - of no other type
            named = RunConfig().settings().__struct_fields__
            own = {name: getattr(request, name) for name in ("temperature", "top_p", "max_tokens", "stop", "seed")}
            return {
                name: (value, definition.source) for name, value in own.items() if value is not None and name in named
            }
    return {}


def _of_task(project: Project, definition: TaskDefinition) -> Iterator[ConfigRow]:
    from assay.formats.project.applied import for_task

    said = for_task(project, definition.name, definition.shown.tags)
    values = said.values
    plain = {"repeat": 1, "limit": None, "timeout": None, "judge": None, "weight": 1.0, "owner": None}
    for name, otherwise in plain.items():
        value = getattr(values, name)
        if name == "repeat" and definition.plan.trials:
            yield ConfigRow(name, definition.plan.trials, definition.source)
        elif value is not None:
            yield ConfigRow(name, value, said.places[(name,)])
        elif otherwise is not None:
            yield ConfigRow(name, otherwise, _BUILT_IN)
    if definition.shown.tags:
        yield ConfigRow("tags", ", ".join(definition.shown.tags), f"{definition.source}, folders")
    for name, value in (definition.provenance.config or {}).items():
        yield ConfigRow(f"config.{name}", value, said.places.get(("config", name), definition.source))
