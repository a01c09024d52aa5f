"""Short answers and programs read out of what models write around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.answers import extract_function_body, extract_program, extract_stated_answer, squad_exact_match

STATED = [
    ("So the answer is False.", "False"),
    ("We sort them. So the answer is apple pear.", "apple pear"),
    ("Let's see.\nSo the answer is (B).", "(B)"),
    ("The answer is **(B)**.", "(B)"),
    ("The correct answer to this question is (C).", "(C)"),
    ("Final answer: 7", "7"),
    ("Answer: `no`", "no"),
    ("The answer is A? No: so the answer is B.", "B"),
    ("I answer because I must.\nYes", "I answer because I must"),
    ("(A)", "(A)"),
    ("\n True\n", "True"),
    ("So the answer is 3.\n\nQ: What is 2 + 2?\nA: So the answer is 4.", "3"),
    ("True\n\nQ: not True is\nA: False", "True"),
    ("The answer, answer, answer is seven\nor so", "seven"),
    ("First 1.\nThe answer is 2.\nThe answer is ", ""),
    ("First 1.\nThe answer is 2.\nThe answer is\n\n", "2"),
    ("The answer is\n\n  blue \n", "blue"),
    ("", ""),
]
BODIES = [
    ("    return x + 1\n", "    return x + 1\n"),
    ("    return x\n\ndef g():\n    pass", "    return x\n"),
    ("    return x\n\nif __name__ == '__main__':\n    f(1)", "    return x\n"),
    ("    return x\n# the end", "    return x"),
    (
        "    # inside\n    if x:\n        return 1\n    return 2\nprint(f(1))",
        "    # inside\n    if x:\n        return 1\n    return 2",
    ),
    ("def f(x):\n    return x\n\ndef g(x):\n    return f(x)", "def f(x):\n    return x\n\ndef g(x):\n    return f(x)"),
    ("Sure:\n```python\ndef f(x):\n    return x\n```\nThere.", "def f(x):\n    return x"),
]


@pytest.mark.parametrize(("text", "answer"), STATED)
def test_the_stated_answer(text: str, answer: str) -> None:
    assert extract_stated_answer(text) == answer


@pytest.mark.parametrize(("text", "body"), BODIES)
def test_the_body_of_a_function_ends_at_the_margin(text: str, body: str) -> None:
    assert extract_function_body(text) == body


def test_a_program_stands_between_its_marks() -> None:
    assert extract_program("[BEGIN]\nx = 1\n[DONE]\nx = 2") == "x = 1"


@given(st.text())
def test_any_text_has_an_answer_on_one_line(text: str) -> None:
    assert "\n" not in extract_stated_answer(text)


@pytest.mark.parametrize("said", ["The Beatles!", "beatles", " the  BEATLES. "])
def test_short_answers_are_compared_without_articles_and_punctuation(said: str) -> None:
    assert squad_exact_match(said, ["Beatles"], {}) == 1.0
