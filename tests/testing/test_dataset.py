"""The contract of a dataset: kept by a good one, and every clause broken by a bad one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from tests.testing.broken import broken_by, clauses, words

from assay.core.types import Sample
from assay.testing import check_dataset
from assay.testing import dataset as contract


class Letters:
    """Three samples; the classes below break it in one way each."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[Any]:
        return (Sample(id=letter, prompt=letter) for letter in "abc")


class Dicts(Letters):
    def __iter__(self) -> Iterator[Any]:
        return iter([{"id": letter} for letter in "abc"])


class Unwritable(Letters):
    def __iter__(self) -> Iterator[Any]:
        return (Sample(id=letter, extras={"at": object()}) for letter in "abc")


class Twins(Letters):
    def __iter__(self) -> Iterator[Any]:
        return (Sample(id="a", prompt=letter) for letter in "abc")


class Nameless(Letters):
    def __iter__(self) -> Iterator[Any]:
        return (Sample(id="", prompt=letter) for letter in "a")


class Optimist(Letters):
    def __len__(self) -> int:
        return 4


class Once(Letters):
    def __init__(self) -> None:
        self._rows = super().__iter__()

    def __len__(self) -> int:
        return len([*self._rows])

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class Growing(Letters):
    def __init__(self) -> None:
        self._walks = 0

    def __iter__(self) -> Iterator[Any]:
        self._walks += 1
        return (Sample(id=letter, prompt=f"{letter}{self._walks}") for letter in "abc")


numbers = itertools.count()


class Random(Letters):
    def __init__(self) -> None:
        self._seed = next(numbers)

    def __iter__(self) -> Iterator[Any]:
        return (Sample(id=letter, prompt=f"{letter}{self._seed}") for letter in "abc")


class OneCursor(Letters):
    """Starts again for every walk, and has one place for all of them."""

    def __iter__(self) -> Iterator[Any]:
        self._at = -1
        return self

    def __next__(self) -> Sample:
        self._at += 1
        if self._at == 3:
            raise StopIteration
        return Sample(id="abc"[self._at])


class Busy(Letters):
    """Cannot be left before its end."""

    _open = False

    def __iter__(self) -> Iterator[Any]:
        for letter in "b" if self._left else "abc":
            self._open = True
            yield Sample(id=letter)
            self._open = False

    @property
    def _left(self) -> bool:
        return self._open and not self._beside

    _beside = True

    def __len__(self) -> int:
        self._beside = not self._open
        return 3


class OffByOne(Letters):
    def walk_from(self, position: int) -> Iterator[Any]:
        return itertools.islice(self, position + 1, None)


BROKEN = [
    (Dicts, contract.gives_samples_that_are_plain_data),
    (Unwritable, contract.gives_samples_that_are_plain_data),
    (Twins, contract.gives_every_sample_an_id_of_its_own),
    (Nameless, contract.gives_every_sample_an_id_of_its_own),
    (Optimist, contract.has_the_length_that_it_says),
    (Once, contract.has_the_length_that_it_says),
    (Growing, contract.gives_the_same_samples_on_every_walk),
    (Random, contract.gives_the_same_samples_when_it_is_made_again),
    (OneCursor, contract.keeps_two_walks_apart),
    (Busy, contract.can_be_left_in_the_middle_of_a_walk),
    (OffByOne, contract.walks_from_any_position_as_from_the_beginning),
]


@pytest.mark.parametrize(("make", "clause"), BROKEN)
def test_a_bad_dataset_breaks_its_clause(make: Any, clause: Any) -> None:
    assert broken_by(lambda: check_dataset(make)).clause == words(clause)


def test_every_clause_can_break() -> None:
    assert clauses([clause for _, clause in BROKEN]) == clauses(contract.CLAUSES)


def test_a_good_dataset_keeps_the_contract() -> None:
    check_dataset(Letters)


def test_the_message_names_the_sample() -> None:
    assert str(broken_by(lambda: check_dataset(Twins))) == (
        "the dataset `Twins` breaks its contract: it gives every sample an id of its own\n"
        "  given: sample 1\n"
        "  but: its id 'a' is that of sample 0 as well"
    )
