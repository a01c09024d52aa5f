"""The fields of a run file stand in its records, each with what it is for."""

from __future__ import annotations

import msgspec
import pytest

from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.run_records import EvaluationEntry, PolicyEntry, PolicyScope, RunEntry


@pytest.mark.parametrize("record", [RunEntry, EvaluationEntry, PolicyEntry, PolicyScope])
def test_every_field_says_what_it_is_for(record: type[msgspec.Struct]) -> None:
    fields = object_of(record).fields
    assert set(fields) == set(record.__struct_fields__)
    assert all(entry.doc for entry in fields.values())


@pytest.mark.parametrize(
    ("scope", "holds"),
    [
        (PolicyScope(), True),
        (PolicyScope(evaluation_keys=["e"], task_specification_keys=["s"]), True),
        (PolicyScope(evaluation_keys=["other"]), False),
        (PolicyScope(task_specification_keys=["other"]), False),
    ],
)
def test_a_scope_names_evaluations_and_tasks(scope: PolicyScope, holds: bool) -> None:
    assert scope.holds("e", "s") is holds
