"""Parameters: types, limits, defaults, and placeholders replaced once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.formats.declarative.config_spec import (
    check_placeholders,
    refuse_unused,
    resolve_config,
    substitute,
    typed_config,
    warnings_about_others,
)
from assay.formats.declarative.records import Parameter
from assay.formats.declarative.shape import Report
from assay.formats.declarative.yaml_reader import Document
from assay.task_records import Provenance


def parameter(kind: str, *, key: str = "p", **extra: Any) -> Parameter:
    return Parameter(type=kind, key=key, **extra)


def resolved(spec: Parameter, **given: Any) -> Any:
    return resolve_config([spec], given, task="t")["p"]


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (parameter("float", min=0, max=1), 0.5),
        (parameter("float", min=0, max=1), 1),
        (parameter("int", min=1), 1),
        (parameter("boolean"), False),
        (parameter("string"), ""),
        (parameter("model"), "m"),
        (parameter("dataset"), "d"),
        (parameter("dataset_column"), "any column"),
        (parameter("list", dtype="integer"), [1, 2]),
        (parameter("list", dtype="float"), [1, 2.5]),
        (parameter("list", dtype="string"), []),
        (parameter("list", dtype="boolean"), [True]),
        (parameter("categorical", allowed_values=("a", "b"), multiple=False), "a"),
        (parameter("categorical", allowed_values=("a", "b"), multiple=True), ["a", "b"]),
        (parameter("dict", value_dtype="float"), {"a": 1}),
        (parameter("int", nullable=True), None),
    ],
)
def test_values_of_the_right_kind_are_kept(spec: Parameter, value: Any) -> None:
    assert resolved(spec, p=value) == value


@pytest.mark.parametrize(
    ("spec", "value", "says"),
    [
        (parameter("float"), "0.5", "must be a number"),
        (parameter("float"), True, "must be a number"),
        (parameter("float"), float("nan"), "must be a number"),
        (parameter("float"), 10**400, "must be a number"),
        (parameter("float", max=1), 1.5, "at most 1"),
        (parameter("int", min=1), 0, "at least 1"),
        (parameter("int"), 1.0, "whole number"),
        (parameter("boolean"), 1, "true or false"),
        (parameter("string"), 3, "must be text"),
        (parameter("string"), None, "must not be null"),
        (parameter("list", dtype="integer"), [1, "2"], "integer values only"),
        (parameter("list", dtype="string"), "[a,b]", r"must be a list, got '\[a,b\]'; on the command line p=a,b"),
        (parameter("categorical", allowed_values=("red", "blue"), multiple=False), "rad", "Did you mean `red`?"),
        (parameter("categorical", allowed_values=("a",), multiple=True), "a", "write a list"),
        (parameter("dict", value_dtype="float"), {"a": "x"}, "float values only"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(spec: Parameter, value: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolved(spec, p=value)


def test_given_beats_default_beats_null_beats_error() -> None:
    assert resolved(parameter("int", default_value=3), p=4) == 4
    assert resolved(parameter("int", default_value=3)) == 3
    assert resolved(parameter("int", nullable=True)) is None
    with pytest.raises(UsageError, match="--config p="):
        resolved(parameter("int"))
    with pytest.raises(UsageError, match="at most 2"):
        resolved(parameter("int", default_value=3, max=2))


def test_an_unknown_parameter_is_a_warning() -> None:
    warnings: list[str] = []
    resolve_config([parameter("int", default_value=1)], {"q": 1}, task="t", warnings=warnings)
    assert "no parameter `q`" in warnings[0]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (parameter("int"), "3", 3),
        (parameter("float"), "0.5", 0.5),
        (parameter("boolean"), "true", True),
        (parameter("boolean"), "False", False),
        (parameter("string"), "3", "3"),
        (parameter("string"), "a=b", "a=b"),
        (parameter("list", dtype="integer"), "1,2", [1, 2]),
        (parameter("list", dtype="string"), "1,b", ["1", "b"]),
        (parameter("list", dtype="integer"), "[1, 2]", [1, 2]),
        (parameter("categorical", multiple=True), "a,b", ["a", "b"]),
        (parameter("int", nullable=True), "null", None),
    ],
)
def test_flags_are_read_by_the_kind_of_their_parameter(kind: Parameter, text: str, value: Any) -> None:
    assert typed_config({"p": text}, [kind]) == {"p": value}


def put(value: Any, **config: Any) -> Any:
    return substitute(value, config, Document(value=None, path=Path("t.yaml"), marks={}))


def test_a_whole_value_keeps_its_type_and_inside_text_it_is_written_out() -> None:
    assert put("<< config.x >>", x=[1, 2]) == [1, 2]
    assert put("<<config.x>>", x=None) is None
    assert put("at most << config.x >> words", x=3) == "at most 3 words"
    assert put("{% if << config.x >> %}", x=True) == "{% if True %}"
    assert put("{{ sample.<< config.x >> | tojson }}", x="col") == "{{ sample.col | tojson }}"
    assert put({"a": ["<< config.x >>"]}, x=1.5) == {"a": [1.5]}


def test_substitution_happens_once() -> None:
    assert put("<< config.x >>", x="<< config.y >>", y="z") == "<< config.y >>"
    assert put("a << config.x >>", x="<< config.y >>", y="z") == "a << config.y >>"


def test_an_unknown_placeholder_names_its_field() -> None:
    with pytest.raises(UsageError, match="Did you mean `field`"):
        put({"a": "<< config.feild >>"}, field=1)


def test_every_placeholder_that_is_none_is_reported() -> None:
    report = Report(Document(value=None, path=Path("t.yaml"), marks={}))
    check_placeholders({"a": "<< config.x >>", "b": ["<< conf.y >> and << config.y | upper >>"]}, ["y"], report)
    check_placeholders("[INST] <<SYS>> 1 << 2 <</SYS>> << config.y >> << EOF >>", ["y"], report)
    check_placeholders({"s_snippet": "a << b.c >> d\nx << config.y >> 1"}, ["y"], report)
    check_placeholders(["<< y >>", "<< z >>"], ["y"], report)
    assert [(fault.where, fault.sentence.split(": ")[2]) for fault in report.faults] == [
        (("a",), "`<< config.x >>` names no parameter. Known here"),
        (("b", 0), "`<< conf.y >>` is not a placeholder"),
        (("b", 0), "`<< config.y | upper >>` is not a placeholder"),
        ((0,), "`<< y >>` is not a placeholder"),
    ]


def declarative(name: str, spec: list[Parameter], given: dict[str, Any]) -> TaskDefinition:
    warnings: list[str] = []
    resolve_config(spec, given, task=name, warnings=warnings)
    part = PartSpec(key="p", use="p")
    return TaskDefinition(
        name=name,
        format="declarative",
        dataset=DatasetSpec(use="inline"),
        solver=part,
        scorers=(),
        aggregates=(),
        metric="m",
        provenance=Provenance(warnings=tuple(warnings), config={}),
    )


def test_a_parameter_that_no_task_has_is_refused_and_one_that_some_have_is_not() -> None:
    given = {"stile": "x", "style": "y"}
    knows = declarative("knows", [parameter("string", key="style")], given)
    lacks = declarative("lacks", [], given)
    refuse_unused(["style"], [knows, lacks])
    with pytest.raises(UsageError, match=r"--config stile: .*Did you mean `style`"):
        refuse_unused(["stile"], [knows, lacks])
    with pytest.raises(UsageError, match="only YAML tasks have parameters"):
        refuse_unused(["style"], [])
    about_others = warnings_about_others(["style", "stile"], [knows, lacks])
    assert ["`style`" in text for text in about_others] == [True], "one that nobody has stays a warning of both"
