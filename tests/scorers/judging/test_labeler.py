"""Labels by a model: free unless listed."""

from __future__ import annotations

import pytest
from tests.scorers.judges import judge, labeler, refused
from tests.scripted import Scripted

from assay.catalog import describe
from assay.core.describe import ScorerInfo


def test_labels_are_free_unless_listed() -> None:
    assert judge(labeler(Scripted(["Anything goes"]))).values == {"label": "Anything goes"}
    assert judge(labeler(Scripted(['{"label": "b"}']), valid_labels=["A", "B"])).values == {"label": "B"}
    assert refused(labeler(Scripted(["C"] * 3), valid_labels=["A", "B"])).kind == "bad_output"
    assert refused(labeler(Scripted([" "] * 3))).kind == "bad_output"


@pytest.mark.parametrize(
    ("valid_labels", "known"), [(["good", 3], ("good", "3")), ([], ()), (None, ()), ("<< config.labels >>", ())]
)
def test_the_labels_that_it_may_give_are_part_of_its_description(valid_labels: object, known: tuple[str, ...]) -> None:
    said = describe("scorer", "labeler_via_model", {"valid_labels": valid_labels})
    assert isinstance(said, ScorerInfo)
    assert said.values[0].labels == known
