"""MATH-500 asks for a box, or continues; the answer of a record without one is extracted from its solution."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample, tasks_made

from assay.recipes.fields import math_500


def test_the_problem_asks_for_a_box(tmp_path: Path) -> None:
    sample = last_sample("math-500", tmp_path)
    assert sample.prompt == (
        "Compute $\\frac12+\\frac14$.\nPlease reason step by step, and put your final answer within \\boxed{}."
    )
    assert (sample.targets, sample.metadata["subject"]) == (("\\frac{3}{4}",), "Algebra")


def test_a_model_that_continues_ends_at_the_next_problem(tmp_path: Path) -> None:
    [task] = tasks_made("math-500", tmp_path, variant="complete")
    [sample] = task.dataset
    assert sample.prompt.endswith("\nAnswer:")
    assert sample.extras["generation"]["stop"] == ["Problem:"]


def test_an_answer_is_extracted_from_the_solution_where_a_record_has_none() -> None:
    assert math_500({"problem": "p", "solution": "So $\\boxed{\\text{odd}}$."})["answer"] == "\\text{odd}"
