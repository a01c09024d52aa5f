"""What every dataset must do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from assay.core.seams import Dataset, Seekable
from assay.core.types import Sample
from assay.datasets.content import content_hash
from assay.testing.contract import clauses_about, expect, given, hold_to, is_name, picture, plain_data, same, shown

MakeDataset = Callable[[], Dataset]
FEW = 1000
"""Samples that are checked one by one: a dataset may have millions."""


def check_dataset(make: MakeDataset) -> None:
    """`BrokenContractError` where what `make()` returns is no dataset that a run could resume on, or split in parts."""
    hold_to("dataset", make, CLAUSES, make)


def gives_samples_that_are_plain_data(make: MakeDataset) -> None:
    for position, sample in enumerate(islice(make(), FEW)):
        with given(f"sample {position}"):
            expect(isinstance(sample, Sample), f"it is {shown(sample)}, no `assay.Sample`")
            plain_data(sample, Sample)


def gives_every_sample_an_id_of_its_own(make: MakeDataset) -> None:
    seen: dict[str, int] = {}
    for position, sample in enumerate(make()):
        with given(f"sample {position}"):
            expect(is_name(sample.id), f"its id is {shown(sample.id)}")
            expect(sample.id not in seen, f"its id {shown(sample.id)} is that of sample {seen.get(sample.id)} as well")
        seen[sample.id] = position


def has_the_length_that_it_says(make: MakeDataset) -> None:
    dataset = make()
    length = len(dataset)
    count = sum(1 for _ in dataset)
    expect(length == count, f"len() is {length}, and there are {count} samples")


def gives_the_same_samples_on_every_walk(make: MakeDataset) -> None:
    dataset = make()
    first = pictures(iter(dataset))
    _expect_equal(first, pictures(iter(dataset)), "the second walk")


def gives_the_same_samples_when_it_is_made_again(make: MakeDataset) -> None:
    """A worker on another machine, and the command that resumes a run, make their own."""
    _expect_equal(pictures(iter(make())), pictures(iter(make())), "another of the same options")
    same(content_hash(make()), content_hash(make()), "two content hashes")


def keeps_two_walks_apart(make: MakeDataset) -> None:
    dataset = make()
    alone = pictures(iter(dataset))
    first, second = iter(dataset), iter(dataset)
    both = [pair for _ in alone for pair in (next(first, None), next(second, None))]
    _expect_equal(alone, [picture(sample) for sample in both[::2]], "two walks at the same time")
    _expect_equal(alone, [picture(sample) for sample in both[1::2]], "two walks at the same time")


def can_be_left_in_the_middle_of_a_walk(make: MakeDataset) -> None:
    dataset = make()
    left = iter(dataset)
    next(left, None)
    del left
    length = len(dataset)
    expect(length == sum(1 for _ in dataset), f"the next walk did not give all {length} samples")


def walks_from_any_position_as_from_the_beginning(make: MakeDataset) -> None:
    """For datasets with `walk_from`."""
    dataset = make()
    if not isinstance(dataset, Seekable):
        return
    samples = pictures(iter(dataset))
    for position in sorted({0, 1, len(samples) // 2, max(0, len(samples) - 1), len(samples), len(samples) + 3}):
        with given(f"walk_from({position})"):
            _expect_equal(samples[position:], pictures(dataset.walk_from(position)), "it")


CLAUSES = clauses_about("MakeDataset", globals())


def pictures(samples: Iterator[Any]) -> list[bytes]:
    return [picture(sample) for sample in samples]


def _expect_equal(expected: list[bytes], actual: list[bytes], what: str) -> None:
    expect(len(expected) == len(actual), f"{what} gave {len(actual)} samples, not {len(expected)}")
    for position, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
        expect(wanted == got, f"{what} gave {shown(got)} as sample {position}, not {shown(wanted)}")
