"""The parameters of a task: what `<< config.… >>` may be filled with."""

from __future__ import annotations

from assay.formats.declarative.config_spec import value_problem
from assay.formats.declarative.from_annotations import USER_KEY, an
from assay.formats.declarative.records import Parameter, record
from assay.formats.declarative.schema.fields import DESCRIPTION, NAME, Kind, kind, mapping, text, word
from assay.formats.declarative.schema.together import default_of
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Fields,
    ListOf,
    Number,
    ObjectOf,
    Report,
    Tagged,
    Text,
)
from assay.formats.declarative.yaml_reader import FieldPath

_DTYPES = Text(words=("string", "integer", "float", "boolean"))
_EXAMPLE = mapping(
    "an example", "A value to try.", value=Field(Text(), doc="The value."), display_name=text("Display name.", None)
)


def _parameter(name: str, kind: Kind) -> ObjectOf:
    common = {
        "type": word(name),
        "key": Field(USER_KEY, doc="The name in `<< config.… >>`.", placeholder=False),
        "display_name": NAME,
        "description": DESCRIPTION,
        "default_value": Field(Anything(), None, "Used when no value is given."),
        "nullable": Field(Boolean(), False, "Whether null is a value.", placeholder=False),
    }
    together = (default_of(_KINDS[name]),) if name in _KINDS else ()
    return mapping(an(f"{name} parameter"), kind.doc, _parameter_rule, *together, **common, **kind.fields)


_KINDS = {
    "float": "number",
    "int": "integer",
    "boolean": "boolean",
    "list": "array",
    "dict": "object",
    **dict.fromkeys(("string", "model", "dataset", "dataset_column", "task_result"), "string"),
}
"""What JSON calls the values of parameters."""


def _parameter_rule(result: Fields, where: FieldPath, report: Report) -> None:
    """Limits that leave something, and a default within them."""
    parameter = record(result, Parameter)
    if parameter.min is not None and parameter.max is not None and parameter.min > parameter.max:
        report.wrong((*where, "max"), f"must be at least `min` ({parameter.min:g}), got {parameter.max:g}")
    elif parameter.default_value is not None and (problem := value_problem(parameter, parameter.default_value)):
        report.wrong((*where, "default_value"), problem)


_LIMITS = {"min": Field(Number(), None, "Smallest value allowed."), "max": Field(Number(), None, "Largest value.")}
_PARAMETERS = {
    "float": kind("A number.", **_LIMITS),
    "int": kind("A whole number.", **_LIMITS),
    "boolean": kind("true or false."),
    "string": kind(
        "A text.",
        string_kind=Field(Text(words=("freeform", "python", "jinja")), "freeform", "How an editor treats it."),
        examples=Field(ListOf(_EXAMPLE), None, "Values to try."),
    ),
    "model": kind(
        "The key of a model.",
        usage=Field(
            Text(words=("model_under_test", "judge_model", "synthesizer_model", "productivity_assistant")),
            None,
            "What the model is for.",
        ),
    ),
    "dataset": kind("The key of a dataset."),
    "dataset_column": kind("The name of a column."),
    "list": kind("A list of one kind of value.", dtype=Field(_DTYPES, doc="What its items are.")),
    "categorical": kind(
        "One of the allowed values, or several of them.",
        allowed_values=Field(ListOf(Text(), least=1), doc="The values that may be chosen."),
        multiple=Field(Boolean(), False, "Whether several may be chosen."),
        values_mapping=Field(Anything(), None, "Ignored."),
    ),
    "dict": kind("A mapping from names to one kind of value.", value_dtype=Field(_DTYPES, doc="What its values are.")),
    "task_result": kind("The key of a task's result."),
}
CONFIG_PARAMETER = Tagged("parameter type", {name: _parameter(name, each) for name, each in _PARAMETERS.items()})
