"""Reading answers out of texts: hand-made styles of answering, each with what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.extraction import extract_choice, extract_final_number, plain_number

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
