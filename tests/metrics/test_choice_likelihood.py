"""The likeliest choice under each normalisation, and which choice a target means."""

from __future__ import annotations

import pytest

from assay.metrics.choice_likelihood import NORMALIZATIONS, pick, target_place

ITEMS = [
    {"choice": "no", "logprob": -2.0, "unconditional_logprob": -1.0},
    {"choice": "certainly", "logprob": -4.0, "unconditional_logprob": -8.0},
    {"choice": "ñandú", "logprob": -2.1, "unconditional_logprob": -2.0},
]


@pytest.mark.parametrize(
    ("normalize", "place"), [("raw", 0), ("per_character", 2), ("per_byte", 2), ("unconditional", 1)]
)
def test_each_normalisation_may_pick_another_choice(normalize: str, place: int) -> None:
    assert pick(ITEMS, normalize) == place


def test_bytes_and_characters_differ_where_letters_take_two_bytes() -> None:
    items = [{"choice": "éé", "logprob": -3.0}, {"choice": "abc", "logprob": -3.3}]
    assert (pick(items, "per_character"), pick(items, "per_byte")) == (1, 0)


@pytest.mark.parametrize("normalize", [name for name in NORMALIZATIONS if name != "unconditional"])
def test_the_first_wins_a_tie_and_an_empty_choice_divides_by_nothing(normalize: str) -> None:
    assert pick([{"choice": "a", "logprob": -1.0}, {"choice": "b", "logprob": -1.0}], normalize) == 0
    assert pick([{"choice": "", "logprob": -1.0}, {"choice": "\ud83d", "logprob": -9.0}], normalize) == 0


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("blue", 1),
        ("B", 1),
        (" b ", 1),
        ("2", 2),
        ("C", 0),
        ("D", None),
        ("3", None),
        ("-1", None),
        ("٢", None),
        ("Ａ", None),
        ("", None),
        ("Blue", None),
    ],
)
def test_a_target_is_a_text_before_a_letter_before_a_number(target: str, place: int | None) -> None:
    assert target_place(target, ["C", "blue", "green"]) == place
