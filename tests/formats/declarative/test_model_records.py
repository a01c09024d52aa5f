"""What a file says of models is read as written: numbers keep their kind, and every field says what it is for."""

from __future__ import annotations

import msgspec
import pytest

from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.model_records import AdapterEntry, CustomInference, ModelEntry
from assay.formats.declarative.shape import Number


@pytest.mark.parametrize("seconds", [30, 0.5])
def test_a_whole_number_of_seconds_stays_one(seconds: float) -> None:
    made = msgspec.convert({"run_inference_snippet": "x", "timeout": seconds}, CustomInference)
    assert repr(made.timeout) == repr(seconds)
    assert object_of(CustomInference).fields["timeout"].shape == Number(above=0)


@pytest.mark.parametrize("record", [ModelEntry, AdapterEntry])
def test_every_field_says_what_it_is_for(record: type[msgspec.Struct]) -> None:
    fields = object_of(record).fields
    assert set(fields) == set(record.__struct_fields__)
    assert all(entry.doc for entry in fields.values())
