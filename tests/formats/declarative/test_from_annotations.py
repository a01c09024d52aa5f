"""Fields of YAML files out of signatures: type, limits, default, doc and rules, for every kind of annotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from msgspec import UNSET, Meta

from assay.core.errors import UsageError
from assay.formats.declarative.code_shapes import PatternText, PythonText, TemplatedValue, TemplateText
from assay.formats.declarative.from_annotations import REFERENCED_KEY, object_of, shape_of
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    ListOf,
    MapOf,
    Number,
    ObjectOf,
    OrMapping,
    Report,
    Scalar,
    Shape,
    Text,
    TextOr,
    check,
)
from assay.formats.declarative.yaml_reader import read_yaml
from assay.part_options import (
    ANSWER,
    Doc,
    InFiles,
    ModelKey,
    OldName,
    Pattern,
    Problem,
    PythonOption,
    TemplateOption,
    Words,
    part,
)


@part("What is done.", name="a step")
class Step(TypedDict):
    """A step."""

    regex: Annotated[str, Doc("The pattern.")]
    select: NotRequired[Annotated[int, Doc("Which match."), InFiles(0)]]


@pytest.mark.parametrize(
    ("annotation", "markers", "shape"),
    [
        (str, (), Text()),
        (str, (Meta(min_length=1),), Text(min_length=1)),
        (str, (Words(("a", "b")),), Text(words=("a", "b"))),
        (Literal["a", "b"], (), Text(words=("a", "b"))),
        (str, (TemplateOption("", ANSWER),), TemplateText(ANSWER)),
        (Any, (TemplateOption("", ANSWER),), TemplatedValue(ANSWER)),
        (str, (PythonOption("", "run", ("row",), 0),), PythonText("run", ("row",), 0)),
        (str, (ModelKey(""),), REFERENCED_KEY),
        (str, (Pattern(),), PatternText()),
        (int, (Meta(ge=1, le=9),), Number(whole=True, least=1, most=9)),
        (float, (Meta(gt=0),), Number(above=0)),
        (bool, (), Boolean()),
        (str | bool | float, (), Scalar()),
        (Sequence[Annotated[str, Pattern()]], (Meta(min_length=1),), ListOf(PatternText(), 1)),
        (Mapping[str, float], (), MapOf(Number())),
        (Literal["any"] | list[str], (), TextOr(Text(words=("any",)), ListOf(Text()))),
        (Any, (), Anything()),
    ],
)
def test_a_type_is_a_shape(annotation: Any, markers: tuple[Any, ...], shape: Shape) -> None:
    assert shape_of(annotation, markers) == shape


def test_a_typed_dict_is_a_mapping_of_its_fields() -> None:
    fields = {"regex": Field(Text(), UNSET, "The pattern."), "select": Field(Number(whole=True), 0, "Which match.")}
    assert shape_of(Literal["strip"] | Step) == OrMapping(
        Text(words=("strip",)), ObjectOf("a step", "What is done.", fields)
    )


def odd(options: Mapping[str, Any]) -> list[Problem]:
    return [(("number",), f"must be odd, got {options['number']}")] if options["number"] % 2 == 0 else []


@part("Counts.", one_of=(("left", "right"),), check=odd)
def counted(
    key: str,
    *,
    number: Annotated[int, Doc("How many.")] = 1,
    left: Annotated[str | None, Doc("One side.")] = None,
    right: Annotated[str | None, Doc("The other."), InFiles(None)] = "default of Python",
    named: Annotated[str, Doc("A name."), OldName("called", lambda old: old.upper())],
    context: object = None,
    **more: Annotated[Any, Doc("All else.")],
) -> None:
    """A part."""


def faults_of(options: str, folder: Path) -> tuple[list[str], Any, list[str]]:
    path = folder / "part.yaml"
    path.write_text(options)
    shape = object_of(counted, "a counter")
    document = read_yaml(path)
    report = Report(document)
    read = check(document.value, shape, (), report)
    try:
        report.raise_errors()
    except UsageError as error:
        return [line.removeprefix(f"{path}:") for line in str(error).splitlines()], read, document.warnings
    return [], read, document.warnings


def test_a_factory_says_which_fields_a_file_may_have(tmp_path: Path) -> None:
    faults, read, warnings = faults_of("{left: x, named: n}", tmp_path)
    assert (faults, warnings) == ([], [])
    assert read == {"number": 1, "left": "x", "right": None, "named": "n", "more": {}}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            "{left: x, named: n, context: 1}",
            "1:21: context: unknown field of a counter. Known here: called, left, more, named, number, right",
        ),
        ("{left: x, named: n, number: 2}", "1:21: number: must be odd, got 2"),
        ("{left: x, right: y, named: n}", "1:1: a counter needs one of `left` and `right`; got left and right"),
        ("{left: x}", "1:1: a counter needs the field `named`"),
        ("{left: x, named: n, called: n}", "1:21: called: `named` is given too; keep only that"),
    ],
)
def test_what_is_wrong_has_its_place(options: str, sentence: str, tmp_path: Path) -> None:
    assert faults_of(options, tmp_path)[0] == [sentence]


def test_an_old_name_is_read_as_the_new_one_with_a_warning(tmp_path: Path) -> None:
    faults, read, [warning] = faults_of("{left: x, called: n}", tmp_path)
    assert (faults, read["named"]) == ([], "N")
    assert "is deprecated; write `named: 'N'`" in warning
