"""A template that cannot be rendered names task, field and sample, and fails at its own stage."""

from __future__ import annotations

import pytest
from tests.scripted import Context

from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import Sample
from assay.prompts.field_template import FieldTemplate


def field(source: str, context: BuildContext | None = None) -> FieldTemplate:
    return FieldTemplate(source, field="solver.prompt", stage="prompt", part="p", context=context or Context())


def test_a_missing_column_is_a_failure_with_its_place() -> None:
    with pytest.raises(FailureError, match=r"task `t`, field `solver.prompt`, sample `7`: .*`q`") as caught:
        field("{{ sample.q }}").render({"sample": {}}, Sample(id="7"))
    failure = caught.value.failure
    assert (failure.stage, failure.part, failure.kind, failure.retryable) == ("prompt", "p", "template", False)


def test_a_syntax_error_is_reported_before_any_sample() -> None:
    with pytest.raises(UsageError, match=r"field `solver\.prompt`"):
        field("{{ sample.q")


def test_rows_are_data_and_not_templates() -> None:
    assert field("{{ sample.q }}").render({"sample": {"q": "{{ 7 * 7 }}"}}, Sample(id="1")) == "{{ 7 * 7 }}"
