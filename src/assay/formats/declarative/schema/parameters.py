"""The parameters of a task: what `<< config.… >>` may be filled with."""

from __future__ import annotations

from assay.formats.declarative.config_spec import value_problem
from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.parameter_types import PARAMETER_TYPES
from assay.formats.declarative.records import Parameter, record
from assay.formats.declarative.shape import Fields, ObjectOf, PartTypes, Report, Tagged
from assay.formats.declarative.yaml_reader import FieldPath
from assay.part_options import PartInfo

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
    kind = PARAMETER_TYPES[name]
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


CONFIG_PARAMETER = Tagged("parameter type", PartTypes(PARAMETER_TYPES, _parameter))
