"""Scorers of one name are told apart, with the means that each reports."""

from __future__ import annotations

import pytest

from assay.bridges.inspect.worker.building import scorers_of

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed (extra `inspect-ai`)")


def test_two_scorers_of_one_name_have_two_names() -> None:
    from inspect_ai.scorer import f1, match, model_graded_qa

    task = inspect_ai.Task(dataset=None, scorer=[match(), match(location="any"), f1(), model_graded_qa()])
    assert [(each["name"], each["means"], each["graded"]) for each in scorers_of(task)] == [
        ("match", ["accuracy"], False),
        ("match1", ["accuracy"], False),
        ("f1", ["mean"], False),
        ("model_graded_qa", ["accuracy"], True),
    ]
