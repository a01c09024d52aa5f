"""Reading answers out of texts: hand-made styles of answering, each with what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.extraction import (
    extract_choice,
    extract_choice_of_ten,
    extract_final_number,
    extract_function_body,
    extract_program,
    extract_stated_answer,
    plain_number,
)

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
NUMBERS = [
    ("42", "42"),
    ("The answer is 42.", "42"),
    ("The answer is: 42", "42"),
    ("#### 42", "42"),
    ("First 6 × 7.\n#### 1,042", "1042"),
    (r"\boxed{42}", "42"),
    (r"So the total is $\boxed{42}$ apples, 3 of them green.", "42"),
    (r"\boxed{\text{42 apples}}", "42"),
    ("**42**", "42"),
    ("He needs **42 dollars** for 3 days", "42"),
    ("Answer: $42", "42"),
    ("Final answer: 42 apples in 6 bags", "42"),
    ("The final answer is 6 * 7 = 42 apples.", "42"),
    ("6 * 7 = 42", "42"),
    ("She makes 9 * 2 = $18 every day.", "18"),
    ("It costs $1,200.50 in all", "1200.5"),
    ("The answer is -3", "-3"),
    ("The answer is −3.", "-3"),
    ("That leaves 5 - 8 = -3 apples", "-3"),
    ("10-3", "3"),
    ("It is 0.50", "0.5"),
    ("It is .5", "0.5"),
    ("The answer is 007", "7"),
    ("Half of them, 50%, left.", "50"),
    ("3 apples, then 4, so 7.", "7"),
    ("The answer is 20.0.", "20"),
    ("Thus, Janet makes $18 dollars.\n\nThe answer is 18", "18"),
    ("The answer is 5? No, the answer is 6.", "6"),
    ("Answer:\n\n42", "42"),
    ("1. We add.\n2. We get 42.", "42"),
    ("€ 42", "42"),
    ("3 + 4 = 7\n#### 7\n\nQuestion: What is 2 + 2?\nAnswer: 2 + 2 = 4\n#### 4", "7"),
    ("The answer is 7.\n\nQ: And 2 + 2?\nA: The answer is 4.", "7"),
    ("The answer is not here, and the answer is not there, 8 is.", "8"),
    ("The answer = 3, so the answer is twice that = 6, the answer is clear", "6"),
    ("The answer IS 6. Or 7?", "6"),
    ("The answer is 1,2,3,4 or x5", "1234"),
    ("The answer: 12 of x34, and 5 more.\nThat is all", "12"),
    ("forty-two", ""),
    ("", ""),
    ("#### none, but 12 before", "12"),
]

LETTERS = [
    ("B", "B"),
    ("b", "B"),
    ("(b)", "B"),
    ("B.", "B"),
    ("B)", "B"),
    ("(B)", "B"),
    ("(B) because Paris is in France", "B"),
    ("**B**", "B"),
    ("**B. Paris**", "B"),
    ("B: Paris", "B"),
    ("The answer is B.", "B"),
    ("The answer is (B).", "B"),
    ("The answer is **B**", "B"),
    ("the correct answer is b", "B"),
    ("Answer: B", "B"),
    ("Answer: (B) Paris", "B"),
    ("Answer:B", "B"),
    ("Answer - B", "B"),
    ("The correct option is B", "B"),
    ("I choose option B.", "B"),
    ("I would go with B", "B"),
    (r"\boxed{B}", "B"),
    (r"$\boxed{\text{B}}$", "B"),
    (r"The answer is $\boxed{(B)}$.", "B"),
    ("I think A is wrong, the answer is B", "B"),
    ("A good question: B", "B"),
    ("A is wrong; so it must be B.", "A"),  # begins with a letter that chooses: read literally
    ("It cannot be A or C. So B", "B"),
    ("It's B, not C.", "B"),
    ("A", "A"),
    ("A is correct", "A"),
    ("A dog is an animal", ""),
    ("The answer is a dog", ""),
    ("Paris", ""),
    ("Because it is so", ""),
    ("E-mail is the best", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "number"), NUMBERS)
def test_the_final_number(text: str, number: str) -> None:
    assert extract_final_number(text) == number


@pytest.mark.parametrize(("text", "letter"), LETTERS)
def test_the_chosen_letter(text: str, letter: str) -> None:
    assert extract_choice(text) == letter


@given(st.text())
def test_any_text_gives_one_letter_or_none(text: str) -> None:
    assert extract_choice(text) in ("", *"ABCDE")


@given(st.text())
def test_any_text_gives_a_plain_number_or_none(text: str) -> None:
    found = extract_final_number(text)
    assert found == "" or plain_number(found) == found


@given(st.integers(-(10**9), 10**9))
def test_a_number_has_one_spelling(number: int) -> None:
    assert extract_final_number(f"So we get {number:,}.") == str(number)
    assert plain_number(f"{number:,}.00") == str(number)


@pytest.mark.parametrize(("text", "answer"), STATED)
def test_the_stated_answer(text: str, answer: str) -> None:
    assert extract_stated_answer(text) == answer


@pytest.mark.parametrize(("text", "body"), BODIES)
def test_the_body_of_a_function_ends_where_a_line_is_unindented(text: str, body: str) -> None:
    assert extract_function_body(text) == body


def test_a_program_stands_between_its_marks() -> None:
    assert extract_program("[BEGIN]\nx = 1\n[DONE]\nx = 2") == "x = 1"


@given(st.text())
def test_any_text_has_an_answer_on_one_line(text: str) -> None:
    assert "\n" not in extract_stated_answer(text)


@pytest.mark.parametrize(
    ("text", "letter"),
    [("The answer is (H).", "H"), ("\\boxed{J}", "J"), ("So it is G", "G"), ("**F. seven**", "F"), ("K", ""), ("", "")],
)
def test_a_letter_among_ten_is_read_as_among_five(text: str, letter: str) -> None:
    assert extract_choice_of_ten(text) == letter
