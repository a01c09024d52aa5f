"""Rows of tokens that begin alike: each is in one group, and a group shares at least as much as was asked for."""

from __future__ import annotations

import random

from assay.models.likelihood.shared_prefixes import Group, common_length, grouped


def test_rows_are_grouped_by_what_they_begin_with() -> None:
    assert grouped([[1, 2, 3, 9], [1, 2, 3, 8], [7, 7]], extra=0) == [Group(3, (1, 0)), Group(0, (2,))]
    assert grouped([[1, 2], [1, 2]], extra=0) == [Group(2, (0, 1))]
    assert grouped([], extra=0) == []


def test_a_group_of_its_own_has_to_be_worth_a_pass() -> None:
    rows = [[0, *[subject] * 50, question] for subject in (1, 2) for question in range(8)]
    assert [len(group.rows) for group in grouped(rows, extra=20)] == [8, 8]
    assert [len(group.rows) for group in grouped(rows, extra=2000)] == [16]


def test_every_row_is_in_one_group_whose_prefix_is_its_own() -> None:
    rng = random.Random(0)
    rows = [[rng.randrange(2) for _ in range(rng.randrange(1, 12))] for _ in range(60)]
    for extra in (0, 3, 100):
        groups = grouped(rows, extra)
        assert sorted(place for group in groups for place in group.rows) == list(range(len(rows)))
        for shared, places in groups:
            assert len({tuple(rows[place][:shared]) for place in places}) == 1


def test_common_length_is_what_counting_gives() -> None:
    for one, other, expected in (([1, 2, 3], [1, 2, 4], 2), ([1], [2], 0), ([], [1], 0), ([1, 2], [1, 2, 3], 2)):
        assert common_length(one, other) == expected
