"""Choices with letters, and an order that depends on nothing but the question."""

from __future__ import annotations

from assay.recipes.choices import lettered, shuffled


def test_choices_stand_below_each_other_with_their_letters() -> None:
    assert lettered(["red", "blue"]) == "A. red\nB. blue"
    assert lettered(["red", "blue"], "({letter}) {choice}") == "(A) red\n(B) blue"


def test_the_order_is_the_same_every_time_and_another_for_other_questions() -> None:
    orders = {tuple(shuffled("right", ["x", "y", "z"], f"question {n}")[0]) for n in range(200)}
    assert len(orders) == 24
    letters = [shuffled("right", ["x", "y", "z"], f"question {n}")[1] for n in range(400)]
    assert all(60 < letters.count(letter) < 140 for letter in "ABCD")
    choices, letter = shuffled("right", ["x", "y", "z"], "question 7")
    assert (choices, letter) == shuffled("right", ["x", "y", "z"], "question 7")
    assert choices["ABCD".index(letter)] == "right"
