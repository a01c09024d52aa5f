"""A verdict that cannot be read is a failure; a rubric of one's own is what the grader sees."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from tests.bridges.promptfoo.grader_server import embedding, grader_server

from assay.core.errors import FailureError
from assay.core.seams import BuildContext, close_part
from assay.models.model_names import make_model
from assay.scorers.assertions.graded_assertions import Graded, Graders


def graded(kind: str, **node: Any) -> Graded:
    with grader_server() as port:

        async def grade() -> Graded:
            model = make_model(f"openai:m@127.0.0.1:{port}")
            context = BuildContext(model_for=lambda *_, **__: model)
            graders = Graders("a", {"g": {"model_key": "g"}}, context)
            try:
                return await graders.grade(kind, {"grader": "g", **node}, "answer", "asked", {"v": "GRADE-FAIL"})
            finally:
                await close_part(model)

        return asyncio.run(grade())


@pytest.mark.parametrize("kind", ["llm-rubric", "model-graded-closedqa", "factuality"])
def test_a_verdict_that_cannot_be_read_is_a_failure(kind: str) -> None:
    with pytest.raises(FailureError) as broken:
        graded(kind, value="GRADE-NOTHING")
    assert broken.value.failure.kind == "bad_output"
    assert "no idea" in broken.value.failure.message


def test_a_rubric_of_ones_own_is_rendered_with_the_tests_variables() -> None:
    assert graded("llm-rubric", value="x", rubric="{{ output }} {{ rubric }} {{ v }}") == Graded(False, 0.2, "bad")
    chat = [{"role": "user", "content": "{{ v }}"}]
    assert graded("llm-rubric", value="x", rubric=chat) == Graded(False, 0.2, "bad")


def test_the_nearer_an_answer_the_higher_its_euclidean_score_and_never_above_one() -> None:
    same = graded("similar:euclidean", value="answer", threshold=0)
    assert (same.passed, same.score) == (True, 1.0)
    far = math.dist(embedding("answer"), embedding("another text"))
    other = graded("similar:euclidean", value="another text", threshold=far)
    assert (other.passed, other.score) == (True, pytest.approx(1 / (1 + far)))
    assert 0 < other.score < 1
    assert not graded("similar:euclidean", value="another text", threshold=far - 0.01).passed


def test_of_several_texts_the_nearest_counts() -> None:
    found = graded("similar:euclidean", value=["another text", "answer"], threshold=0.5)
    assert (found.passed, found.score, found.reason) == (True, 1.0, "distance 0.000")
