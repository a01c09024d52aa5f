"""The parameters of a task: what `<< config.… >>` may be filled with."""

from __future__ import annotations

from typing import NamedTuple

from assay.formats.declarative.config_spec import value_problem
from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.records import Parameter, record
from assay.formats.declarative.shape import Fields, ObjectOf, PartTypes, Report, Tagged
from assay.formats.declarative.yaml_reader import FieldPath
from assay.part_options import PartInfo


class _Type(NamedTuple):
    """A type of parameter: what it is, what JSON calls its values, an example, and the fields of it alone."""

    doc: str
    values: str | None
    example: str
    own: tuple[str, ...] = ()


_TYPES = {
    "float": _Type(
        "A number.",
        "number",
        "key: threshold, display_name: Threshold, default_value: 0.5, min: 0, max: 1",
        ("min", "max"),
    ),
    "int": _Type(
        "A whole number.",
        "integer",
        "key: best, display_name: Best mark, default_value: 5, min: 2, max: 10",
        ("min", "max"),
    ),
    "boolean": _Type("true or false.", "boolean", "key: strict, display_name: Strict, default_value: false"),
    "string": _Type(
        "A text.",
        "string",
        "key: tone, display_name: Tone, default_value: polite",
        ("string_kind", "examples", "default_file_content"),
    ),
    "model": _Type(
        "The key of a model.",
        "string",
        "key: judge_model, display_name: Judge, default_value: judge, usage: judge_model",
        ("usage",),
    ),
    "dataset": _Type("The key of a dataset.", "string", "key: rows, display_name: Rows, default_value: questions"),
    "dataset_column": _Type("The name of a column.", "string", "key: column, display_name: Column"),
    "list": _Type(
        "A list of one kind of value.",
        "array",
        "key: columns, display_name: Columns, dtype: string, default_value: [name, email]",
        ("dtype",),
    ),
    "categorical": _Type(
        "One of the allowed values, or several of them.",
        None,
        "key: language, display_name: Language, allowed_values: [en, de], default_value: en",
        ("allowed_values", "multiple", "values_mapping"),
    ),
    "dict": _Type(
        "A mapping from names to one kind of value.",
        "object",
        "key: weights, display_name: Weights, value_dtype: float, default_value: {good: 1.0, bad: 0.0}",
        ("value_dtype",),
    ),
    "task_result": _Type("The key of a task's result.", "string", "key: earlier, display_name: Earlier run"),
}
_COMMON = ("type", "key", "display_name", "description", "default_value", "nullable")


def _within_limits(result: Fields, where: FieldPath, report: Report) -> None:
    """Limits that leave something, and a default within them."""
    parameter = record(result, Parameter)
    if parameter.min is not None and parameter.max is not None and parameter.min > parameter.max:
        report.wrong((*where, "max"), f"must be at least `min` ({parameter.min:g}), got {parameter.max:g}")
    elif repeated := [
        value for at, value in enumerate(parameter.allowed_values) if value in parameter.allowed_values[:at]
    ]:
        report.wrong((*where, "allowed_values"), f"`{repeated[0]}` is given twice")
    elif parameter.default_value is not None and (problem := value_problem(parameter, parameter.default_value)):
        report.wrong((*where, "default_value"), problem)


def _parameter(name: str) -> ObjectOf:
    kind = _TYPES[name]
    default = {"properties": {"default_value": {"type": [kind.values, "null"]}}}
    return object_of(
        Parameter,
        an(f"{name} parameter"),
        *((default,) if kind.values is not None else ()),
        word=word(name),
        rule=_within_limits,
        info=PartInfo(kind.doc, kind.example),
        only=(*_COMMON, *kind.own),
    )


CONFIG_PARAMETER = Tagged("parameter type", PartTypes(_TYPES, _parameter))
