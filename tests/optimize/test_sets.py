"""One set cut in parts: every record in exactly one of them, always the same way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.optimize.sets import make_sets, split


@given(st.integers(3, 200), st.sampled_from(["60/40", "50/25/25", "1/1/1", "98/1/1"]), st.integers(0, 5))
def test_every_record_is_in_exactly_one_part(size: int, shares: str, seed: int) -> None:
    records = [{"n": number} for number in range(size)]
    parts = split(records, shares, seed)
    assert sorted(record["n"] for part in parts for record in part) == list(range(size))
    assert all(parts)
    assert parts == split(records, shares, seed)


def test_another_seed_cuts_otherwise() -> None:
    records = [{"n": number} for number in range(30)]
    assert split(records, "50/50", 1) != split(records, "50/50", 2)


@pytest.mark.parametrize(("shares", "size"), [("100", 9), ("a/b", 9), ("50/0", 9), ("1/1/1/1", 9), ("1/1/1", 2)])
def test_shares_that_cannot_be_are_refused(shares: str, size: int) -> None:
    with pytest.raises(UsageError, match="--split"):
        split([{"n": number} for number in range(size)], shares, 0)


@pytest.mark.parametrize(
    ("count", "holdout", "held_out", "why"),
    [
        (19, 0.3, 6, ""),
        (18, 0.3, 0, "18 records are too few in the dataset: 19 or more are needed"),
        (1, 0.3, 0, "1 record is too few in the dataset: 19 or more are needed"),
        (40, 0.0, 0, "--holdout 0"),
        (18, 0.5, 9, ""),
    ],
)
def test_why_nothing_was_held_out_is_said(count: int, holdout: float, held_out: int, why: str) -> None:
    sets = make_sets([{"n": n} for n in range(count)], None, None, holdout=holdout, random_seed=0)
    assert (sets.held_out, sets.why_none_held_out) == (held_out, why)


@pytest.mark.parametrize(
    ("shares", "holdout", "sizes", "held_out"),
    [("50/50", 0.3, (35, 35, 30), 30), ("50/50", 0.0, (50, 50, 0), 0), ("50/25/25", 0.3, (50, 25, 25), 0)],
)
def test_a_split_is_of_what_is_not_held_out(
    shares: str, holdout: float, sizes: tuple[int, int, int], held_out: int
) -> None:
    records = [{"n": number} for number in range(100)]
    sets = make_sets(records, None, None, holdout=holdout, random_seed=0, shares=shares)
    assert (len(sets.dataset), len(sets.valset), len(sets.testset)) == sizes
    assert (sets.held_out, sets.source) == (held_out, "dataset")


@pytest.mark.parametrize("shared", [1, 13, 40])
def test_what_is_held_out_of_the_valset_is_not_in_the_dataset(shared: int) -> None:
    valset = [{"n": number} for number in range(40)]
    dataset = [*valset[:shared], *({"n": number} for number in range(100, 110))]
    sets = make_sets(dataset, valset, None, holdout=0.3, random_seed=0)
    held, learned, selected = (
        [example.record for example in part] for part in (sets.testset, sets.dataset, sets.valset)
    )
    assert len(held) == sets.held_out == 12
    assert not [record for record in held if record in learned or record in selected]
    assert sets.held_out_of_dataset == len(dataset) - len(learned)
    assert sets.shared == len([record for record in selected if record in learned])


def test_a_dataset_that_would_be_held_out_whole_is_refused() -> None:
    valset = [{"n": number} for number in range(40)]
    held = make_sets([{"n": -1}], valset, None, holdout=0.3, random_seed=0).testset[0].record
    with pytest.raises(UsageError, match="every record of the dataset is held out"):
        make_sets([held] if held else [], valset, None, holdout=0.3, random_seed=0)
