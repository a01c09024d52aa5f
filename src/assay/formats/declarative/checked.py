"""What was read from a file, checked against its table: a record, or everything that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from assay.formats.declarative.config_spec import check_placeholders
from assay.formats.declarative.editor_schema import Known, Schema, json_schema
from assay.formats.declarative.extending import ABSTRACT
from assay.formats.declarative.model_records import AdapterEntry, ModelEntry, ProvidedModel
from assay.formats.declarative.records import (
    DatasetEntry,
    Definition,
    ScoreAggregator,
    TaskEntry,
    dataset_record,
    definition_record,
    record,
)
from assay.formats.declarative.run_records import (
    EvaluationEntry,
    RepeatabilitySpecification,
    RunEntry,
    TaskSpecification,
)
from assay.formats.declarative.schema.datasets import DATASET
from assay.formats.declarative.schema.models import ADAPTER, ANY_MODEL
from assay.formats.declarative.schema.runs import EVALUATION, RUN_FILE, SPECIFICATIONS
from assay.formats.declarative.schema.tasks import DEFINITION, TASK
from assay.formats.declarative.shape import Anything, Field, ListOf, ObjectOf, Report, Shape, check, mappings
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain
from assay.text.wording import nearest

_NOT_RUN = ("dataset_generators",)
EDITOR_SCHEMAS: dict[str, Shape] = {"task": TASK, "dataset": DATASET, "model": ANY_MODEL, "run": RUN_FILE}
_OTHER_KINDS = {
    "key_info": "an app",
    "data_source": "a dataset generator",
    "synthesizers": "a dataset generator",
    "input_builder": "a solver",
    "message_builders": "a solver",
    "ground_truth": "a scorer",
    "compute_scores_snippet": "a scorer",
    "user_prompt": "a scorer",
    "filter": "an action rule",
    "risk_profile": "an app",
}
"""What else a file of such a project may hold, by a field that gives it away."""
_OF_AN_APP = {"key", "display_name", "description", "long_description", "tags"}
_ENTITY = "evaluated_entity_type"


def other_kind(value: Plain, path: Path) -> str | None:
    """What a file of none of these kinds holds: a part that a task includes with `$ref`, an app, …

    An app that has labels only looks like a task that is half written; its file is called what it is.
    """
    if not isinstance(value, dict) or kind_of(value) != "task":
        return None
    definition = value.get("definition")
    inner = definition if isinstance(definition, dict) else {}
    kind = next((kind for name, kind in _OTHER_KINDS.items() if name in value or name in inner), None)
    called_app = "app" in re.split(r"[^a-z]+", path.stem.lower()) or path.parent.name == "apps"
    return "an app" if kind is None and called_app and {"key"} <= value.keys() <= _OF_AN_APP else kind


def kind_of(value: Plain) -> str:  # noqa: PLR0911 - a list of telltale fields
    """What a YAML file holds: `task`, `abstract task`, `run`, `dataset`, `model`, `model_adapter` or `evaluation`."""
    if not isinstance(value, dict):
        return "task"
    if value.get(ABSTRACT) is True:
        return "abstract task"
    if value.keys() & {"datasets", "dataset_generators", "models", "model_adapters", "prompts", "evaluation"}:
        return "run"
    if "tasks" in value and not value.keys() & {"key", "display_name", "definition"}:
        return "run"
    if "task_specifications" in value:
        return "evaluation"
    if "definition" in value:
        return "task"
    if value.keys() & {"source", "file_path", "generator_specification"}:
        return "dataset"
    if value.keys() & {"process_input", "process_output"}:
        return "model_adapter"
    if "config" in value:
        return "model"
    return "task"


_KINDS = (
    "this is none of the files that are read here: a task has `definition`, a run file `tasks` or `evaluation`, a "
    "dataset `source`, a model `config`, a model adapter `process_input`, an evaluation `task_specifications`"
)


def _is_of_no_kind(value: dict[str, Plain]) -> bool:
    """Whether fields are there that no task has, nor was one that tasks have meant by them."""
    others = [name for name in value if name not in TASK.fields]
    return "definition" not in value and bool(others) and not any(nearest(name, TASK.fields) for name in others)


def checked_task(
    document: Document, value: Plain, where: FieldPath = (), *, of_trials: Iterable[str] = ()
) -> TaskEntry:
    """A task as it was read, its definition still with placeholders; `UsageError` naming everything that is wrong.

    `of_trials` are names of trial aggregators that a run file gives for it.
    """
    if not where and (other := other_kind(value, document.path)):
        raise document.error((), f"this looks like {other}, not a task; a task has `definition`")
    if not where and isinstance(value, dict) and _is_of_no_kind(value):
        Report(document).raise_errors()  # the error may be in what it refers to
        raise document.error((), _KINDS)
    value = _modernized(value, document, where)
    at = (*where, "definition")
    report = Report(document, configured_at=at)
    if isinstance(value, dict):
        report.values_over_trials = {*of_trials, *trial_names(value.get("definition"))}
    result = check(value, TASK, where, report)
    if isinstance(value, dict):
        names = [str(mapping.get("key")) for mapping in mappings(value.get("config_spec"))]
        check_placeholders(value.get("definition"), names, report, at)
    report.raise_errors()
    return record(result, TaskEntry)


def check_definition(document: Document, value: Plain, where: FieldPath) -> None:
    """The definition of a checked task, in which some parameters have no value yet."""
    _checked(document, value, DEFINITION, where, configured_at=where)


def checked_definition(document: Document, value: Plain, where: FieldPath) -> Definition:
    """The definition of a checked task, checked once more now that all values are known."""
    checked = _checked(document, value, DEFINITION, where)
    assert isinstance(checked, dict)  # noqa: S101 - anything else has been reported
    return definition_record(checked)


def _modernized(value: Plain, document: Document, where: FieldPath) -> Plain:
    """A task whose old fields, and those that later files leave out, are read as the fields of the table."""
    definition = value.get("definition") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(definition, dict):
        return value
    at = (*where, "definition")
    if definition.get("type") != "system_task":
        if (old := value.get(_ENTITY)) is not None:
            inner = definition.get(_ENTITY, old)
            if inner != old:
                raise document.error((*where, _ENTITY), f"`{old}` here but `{inner}` in the definition")
            document.warn((*where, _ENTITY), "belongs in `definition`; read from there in new files")
            value, definition = {**value, _ENTITY: None}, {**definition, _ENTITY: old}
        elif _ENTITY not in definition and "solver" not in definition and "dataset" in definition:
            document.warn(at, "there is no `solver`, so this is read as a task about its dataset")
            definition = {**definition, _ENTITY: "dataset"}
    return {**value, "definition": definition}


def trial_names(value: Plain) -> list[str]:
    """What the trial aggregators of a definition, or of a task specification, are called: metrics may read them."""
    trials = value.get("trials") or value.get("trials_config") if isinstance(value, dict) else None
    names = []
    for mapping in mappings(trials.get("score_aggregators")) if isinstance(trials, dict) else ():
        with suppress(msgspec.ValidationError):  # reported where it is checked
            names.append(msgspec.convert(mapping, ScoreAggregator).name)
    return names


def checked_dataset(document: Document, value: Plain, where: FieldPath = ()) -> DatasetEntry:
    checked = _checked(document, value, DATASET, where)
    assert isinstance(checked, dict)  # noqa: S101 - anything else has been reported
    return dataset_record(checked)


def checked_model(document: Document, value: Plain, where: FieldPath = ()) -> ModelEntry | ProvidedModel:
    checked = _checked(document, value, ANY_MODEL, where)
    if isinstance(checked, dict) and "$provider" in checked:
        return record(checked, ProvidedModel)
    return record(checked, ModelEntry)


def checked_adapter(document: Document, value: Plain, where: FieldPath = ()) -> AdapterEntry:
    return record(_checked(document, value, ADAPTER, where), AdapterEntry)


def checked_evaluation(document: Document, value: Plain, where: FieldPath = ()) -> EvaluationEntry:
    """An evaluation, its task specifications still with placeholders."""
    configured_at = (*where, "task_specifications")
    return record(_checked(document, value, EVALUATION, where, configured_at=configured_at), EvaluationEntry)


def checked_specifications(
    document: Document, value: Plain, where: FieldPath
) -> list[TaskSpecification | RepeatabilitySpecification]:
    """The task specifications of a checked evaluation, checked once more now that all values are known."""
    checked = mappings(_checked(document, value, SPECIFICATIONS, where))
    return [
        record(each, RepeatabilitySpecification) if each["type"] == "repeatability" else record(each, TaskSpecification)
        for each in checked
    ]


def checked_run(document: Document) -> RunEntry:
    """A run file's own fields; its tasks, datasets and models are checked one by one as they are used."""
    value = document.value
    if not isinstance(value, dict):
        raise document.error((), "expected a run file (a mapping)")
    for name in _NOT_RUN:
        if value.get(name):
            document.warn((name,), f"`{name}` is not used here")
    parts = {name: Field(ListOf(Anything()), []) for name in ("datasets", "models", "tasks")}
    shape = ObjectOf(RUN_FILE.name, RUN_FILE.doc, {**RUN_FILE.fields, **parts})
    return record(_checked(document, value, shape, (), configured_at=("evaluation", "task_specifications")), RunEntry)


def _checked(
    document: Document, value: Plain, shape: Shape, where: FieldPath, *, configured_at: FieldPath | None = None
) -> Plain:
    report = Report(document, configured_at=configured_at)
    report.values_over_trials = set(trial_names(value))
    result = check(value, shape, where, report)
    report.raise_errors()
    return result


def editor_schema(kind: str, own: Sequence[str] = (), known: Known | None = None) -> Schema:
    """The JSON Schema of a kind of file, for `# yaml-language-server: $schema=…`.

    It lists the options of installed packages' parts and of `own`, names such as `package.module:object`.
    It offers in templates what is `known` of one file.
    """
    return json_schema(EDITOR_SCHEMAS[kind], f"assay {kind} file", tuple(own), known)
