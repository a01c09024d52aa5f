"""The stretches of a run in words, and what two runs have in common."""

from __future__ import annotations

import pytest

from assay.core.seams import Served
from assay.results.board.stretches import (
    CanaryAnswer,
    Stretch,
    canary_agreement,
    overridden_settings,
    same_model,
    served_changes,
    served_in_words,
    shown,
    versions_of,
)

HASH = "0123456789abcdef" * 4


def stretch(strong: dict[str, str] | None = None, **weak: str) -> Stretch:
    return Stretch(started="2026-01-01T00:00:00Z", served=Served(strong=strong or {}, weak=weak))


def test_a_hash_is_shown_by_its_beginning_and_other_values_whole() -> None:
    assert shown(HASH) == "0123456789ab…"
    assert shown("/models/decade-facade-" + "x" * 40).endswith("x")


def test_what_nobody_said_is_no_text() -> None:
    assert served_in_words([]) == served_in_words([Stretch(started="")]) == ""


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ({"digest": "1"}, {"digest": "1"}, True),
        ({"digest": "1"}, {"digest": "2"}, False),
        ({"digest": "1"}, {"revision": "1"}, None),
        ({"digest": "1", "revision": "x"}, {"digest": "1"}, True),
        ({}, {"digest": "1"}, None),
    ],
)
def test_only_strong_signs_in_common_decide(a: dict[str, str], b: dict[str, str], same: bool | None) -> None:
    assert same_model([stretch(a, root="/r")], [stretch(b, root="/r")]) is same


def test_a_run_of_two_models_is_the_same_as_none() -> None:
    two = [stretch({"digest": "1"}), stretch({"digest": "2"})]
    assert same_model(two, two) is False


def test_weights_are_the_same_only_if_every_stretch_that_answered_names_them() -> None:
    named, silent = stretch({"digest": "1"}), Stretch(started="")
    scored = Stretch(started="", scores_only=True)
    assert same_model([named, silent], [named]) is same_model([silent], [silent]) is None
    assert same_model([named, scored], [named]) is True
    assert served_in_words([named, scored]) == "digest 1 (strong)"
    assert served_in_words([named, silent]) == "digest 1 → not said (strong)"


def test_a_sign_that_one_of_two_lacks_is_named_if_it_is_weak() -> None:
    assert served_changes([stretch(root="/r")], [stretch({"digest": "1"})]) == [
        "served root: /r → not said (a weak sign)"
    ]


def test_versions_of_several_stretches_are_joined() -> None:
    stretches = [Stretch(started="", versions={"numpy": version}) for version in ("1", "2", "1")]
    assert versions_of(stretches) == {"numpy": "1, 2"}


def test_prompts_without_an_answer_on_both_sides_are_not_compared() -> None:
    a = [CanaryAnswer(prompt="p", answer="x"), CanaryAnswer(prompt="q", failure="down")]
    b = [
        CanaryAnswer(prompt="p", answer="x"),
        CanaryAnswer(prompt="q", answer="y"),
        CanaryAnswer(prompt="r", answer="z"),
    ]
    assert canary_agreement(a, b) == (1, 1)


def test_a_setting_without_effect_is_named_with_the_part_of_the_run_that_it_had_none_in() -> None:
    tasks: list[dict[str, list[str]]] = [{"a": ["seed"]}, {"a": []}, {}, {"a": ["seed"], "b": []}]
    all_of_it, none_of_it, not_ended, in_one = (Stretch(started="", overridden=each) for each in tasks)
    of_its_own = "every request had a value of its own"
    assert overridden_settings([all_of_it, not_ended]) == [f"--seed had no effect: {of_its_own}"]
    assert overridden_settings([all_of_it, none_of_it]) == [f"--seed had no effect in a part of the run: {of_its_own}"]
    assert overridden_settings([none_of_it, not_ended]) == []
    assert overridden_settings([in_one]) == [f"--seed had no effect in `a`: {of_its_own}"]
    assert overridden_settings([in_one, none_of_it]) == [
        f"--seed had no effect in `a` in a part of the run: {of_its_own}"
    ]
