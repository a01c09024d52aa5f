"""What was read from a file, checked against its table: plain data with defaults, or everything that is wrong."""

from __future__ import annotations

from typing import Any

from assay.tasks.declarative.schema.datasets import DATASET
from assay.tasks.declarative.schema.models import MODEL, PROVIDED
from assay.tasks.declarative.schema.runs import EVALUATION, RUN_FILE
from assay.tasks.declarative.schema.tasks import TASK
from assay.tasks.declarative.shape import Anything, Field, ListOf, Report, Shape, Shaped, check, json_schema
from assay.tasks.declarative.yaml_reader import Document, FieldPath

_NOT_RUN = ("model_adapters", "dataset_generators", "policies")
EDITOR_SCHEMAS: dict[str, Shape] = {"task": TASK, "dataset": DATASET, "model": MODEL, "run": RUN_FILE}


def kind_of(value: Any) -> str:  # noqa: PLR0911 - a list of telltale fields
    """What a YAML file holds: `task`, `run`, `dataset`, `model` or `evaluation`."""
    if not isinstance(value, dict):
        return "task"
    if value.keys() & {"datasets", "dataset_generators", "models", "model_adapters", "evaluation"}:
        return "run"
    if "tasks" in value and not value.keys() & {"key", "display_name", "definition"}:
        return "run"
    if "task_specifications" in value:
        return "evaluation"
    if "definition" in value:
        return "task"
    if value.keys() & {"source", "file_path", "generator_specification"}:
        return "dataset"
    if "config" in value:
        return "model"
    return "task"


def checked_task(document: Document, value: Any, where: FieldPath = (), *, placeholders: bool = True) -> dict[str, Any]:
    """A task as it was read -> plain data with defaults; `UsageError` naming everything that is wrong."""
    value = _inferred_entity(_moved_entity(value, document, where), document, where)
    return _checked(document, value, TASK, where, placeholders=placeholders)


def _inferred_entity(value: Any, document: Document, where: FieldPath) -> Any:
    """Later files leave the entity type out: a task with a dataset and without a solver evaluates that dataset."""
    definition = value.get("definition") if isinstance(value, dict) else None
    if not isinstance(definition, dict) or ("type" in definition and definition["type"] == "system_task"):
        return value
    if "evaluated_entity_type" in definition or "solver" in definition or "dataset" not in definition:
        return value
    document.warn((*where, "definition"), "there is no `solver`, so this is read as a task about its dataset")
    return {**value, "definition": {**definition, "evaluated_entity_type": "dataset"}}


def _moved_entity(value: Any, document: Document, where: FieldPath) -> Any:
    """The old place of `evaluated_entity_type` is read into the definition."""
    if not isinstance(value, dict) or value.get("evaluated_entity_type") is None:
        return value
    old, definition = value["evaluated_entity_type"], value.get("definition")
    if not isinstance(definition, dict) or definition.get("type") == "system_task":
        return value
    inner = definition.get("evaluated_entity_type", old)
    if inner != old:
        raise document.error((*where, "evaluated_entity_type"), f"`{old}` here but `{inner}` in the definition")
    document.warn((*where, "evaluated_entity_type"), "belongs in `definition`; read from there in new files")
    return {**value, "evaluated_entity_type": None, "definition": {**definition, "evaluated_entity_type": old}}


def checked_dataset(document: Document, value: Any, where: FieldPath = ()) -> dict[str, Any]:
    return _checked(document, value, DATASET, where, placeholders=False)


def checked_model(document: Document, value: Any, where: FieldPath = ()) -> dict[str, Any]:
    if isinstance(value, dict) and "$provider" in value:
        return _checked(document, value, PROVIDED, where, placeholders=False)
    return _checked(document, value, MODEL, where, placeholders=True)


def checked_evaluation(
    document: Document, value: Any, where: FieldPath = (), *, placeholders: bool = True
) -> dict[str, Any]:
    return _checked(document, value, EVALUATION, where, placeholders=placeholders)


def checked_run(document: Document) -> dict[str, Any]:
    """A run file's own fields; its tasks, datasets and models are checked one by one as they are used."""
    value = document.value
    if not isinstance(value, dict):
        raise document.error((), "expected a run file (a mapping)")
    for name in _NOT_RUN:
        if value.get(name):
            document.warn((name,), f"`{name}` is not used here")
    outer = {name: item for name, item in value.items() if name not in _NOT_RUN}
    shape = Shaped(
        RUN_FILE.name,
        RUN_FILE.doc,
        {**RUN_FILE.fields, **{name: Field(ListOf(Anything()), []) for name in ("datasets", "tasks")}},
    )
    return _checked(document, outer, shape, (), placeholders=True)


def _checked(document: Document, value: Any, shape: Shape, where: FieldPath, *, placeholders: bool) -> dict[str, Any]:
    report = Report(document, placeholders=placeholders)
    result = check(value, shape, where, report)
    report.raise_errors()
    assert isinstance(result, dict)  # noqa: S101 - a shape that is a mapping has reported anything else
    return result


def editor_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for `# yaml-language-server: $schema=…`."""
    return json_schema(EDITOR_SCHEMAS[kind], f"assay {kind} file")
