"""Labels by a model: free unless listed."""

from __future__ import annotations

from tests.scorers.judges import judge, labeler, refused
from tests.scripted import Scripted


def test_labels_are_free_unless_listed() -> None:
    assert judge(labeler(Scripted(["Anything goes"]))).values == {"label": "Anything goes"}
    assert judge(labeler(Scripted(['{"label": "b"}']), valid_labels=["A", "B"])).values == {"label": "B"}
    assert refused(labeler(Scripted(["C"] * 3), valid_labels=["A", "B"])).kind == "bad_output"
    assert refused(labeler(Scripted([" "] * 3))).kind == "bad_output"
