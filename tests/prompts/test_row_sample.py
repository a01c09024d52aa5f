"""A row becomes prompt, targets and choices; a list may be JSON or as Python prints it, and nothing is executed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scripted import Context

from assay.core.errors import FailureError
from assay.core.types import Sample
from assay.prompts.row_sample import RowSample, parse_list

ROW = {"q": "Which?", "a": "B", "options": ["red", "it's"]}


def made(**templates: str | None) -> Sample:
    reader = RowSample(templates, where="solver", stage="prompt", part="p", context=Context())
    return reader.of(Sample(id="1", row=ROW, prompt="before", targets=("x",), extras={"kept": 1}))


def test_only_what_has_a_template_is_changed() -> None:
    found = made(prompt="{{ sample.q }}", target="{{ sample.a }}", system=None)
    assert (found.prompt, found.targets, found.extras) == ("Which?", ("B",), {"kept": 1})
    assert made().prompt == "before"


@pytest.mark.parametrize("template", ["{{ sample.options }}", "{{ sample.options | tojson }}"])
def test_choices_are_a_list_however_it_is_printed(template: str) -> None:
    assert made(choices=template).extras["choices"] == ["red", "it's"]


def test_what_is_not_a_list_of_choices_is_a_failure_of_the_sample() -> None:
    with pytest.raises(FailureError, match=r"field `solver\.choices`, sample `1`: expected a list of choices"):
        made(choices="red, blue")


@pytest.mark.parametrize(
    ("text", "found"), [("[1, 2.5, null]", [1, 2.5, None]), ("('a', 'b')", ["a", "b"]), (" ['it\\'s'] ", ["it's"])]
)
def test_lists_are_read_as_json_or_python_literals(text: str, found: list[Any]) -> None:
    assert parse_list(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "{}", '"text"', "[open('x')]", "[1", "[" * 10_000, "__import__('os')", "[1] * 10**9", "\x00[]"],
    ids=range(9),
)
def test_anything_else_is_not_a_list_and_runs_nothing(text: str) -> None:
    with pytest.raises(ValueError, match="not a list"):
        parse_list(text)
