"""What a factory says of itself is its own, and changes nothing about it."""

from __future__ import annotations

from assay.part_options import PartInfo, info_of, part


@part("Counts letters.", example="least: 3")
class Letters:
    """A part."""


class Inherited(Letters):
    """Another one, which says nothing of itself."""


def test_a_factory_says_what_it_is_and_stays_what_it_was() -> None:
    assert info_of(Letters) == PartInfo("Counts letters.", "least: 3")
    assert isinstance(Letters(), Letters)


def test_a_subclass_is_not_described_by_its_base() -> None:
    assert info_of(Inherited) is None
    assert info_of(len.__call__.__class__) is None
