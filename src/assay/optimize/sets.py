"""The examples of a search: what it learns from, what it selects on, and what nothing was selected on.

Equal records are never on both sides of a split: learning one means having seen the other.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint, short_fingerprint

HOLDOUT = 0.3
"""The part of the data that is held out for the verdict, by default."""
FEWEST_HELD_OUT = 6
"""Five right answers more, out of five, are still no evidence at the 95 % level."""

REFUSED = "--holdout 0"

Records = Sequence[dict[str, Any]]


class SetExample(Struct, frozen=True, kw_only=True):
    """One record of one set; without a dataset there is one example without a record."""

    part: str
    """`single`, `dataset`, `valset` or `testset`."""
    index: int
    record: dict[str, Any] | None
    digest: str = ""
    """Of the record, and of how many equal ones come before it: what an evaluation is found again by."""


class SearchSets(Struct, frozen=True, kw_only=True):
    """The sets as a search uses them."""

    dataset: list[SetExample]
    valset: list[SetExample]
    """What candidates are selected on; the dataset itself when there is no valset."""
    testset: list[SetExample]
    """Nothing was selected on it; empty when there is none."""
    held_out: int = 0
    """How many records of the data became the testset."""
    source: str = "dataset"
    """Where those were taken from."""
    source_records: int = 0
    """How many it had before."""
    why_none_held_out: str = ""
    """In words, where there is no testset and something could have been."""

    @property
    def selected_on(self) -> str:
        return {"single": "text"}.get(self.valset[0].part, self.valset[0].part)


def make_sets(
    dataset: Records | None,
    valset: Records | None,
    testset: Records | None,
    *,
    holdout: float,
    random_seed: int,
    shares: str | None = None,
) -> SearchSets:
    """The sets, with a part held out of the valset, or of the dataset where there is none, as the testset.

    `shares` split what is left of the dataset; three of them make a testset, so that nothing is held out.
    """
    if not 0.0 <= holdout < 1.0:
        raise UsageError(f"--holdout must be from 0 up to, but not including, 1, got {holdout:g}")
    for name, records in (("dataset", dataset), ("valset", valset), ("testset", testset)):
        if records is not None and not records:
            raise UsageError(f"the {name} holds no records")
    if valset is not None and dataset is None:
        raise UsageError("a valset needs a dataset to learn from: give --dataset as well")
    refuse_shared({"dataset": dataset or (), "valset": valset or (), "testset": testset or ()})
    source, data = ("dataset", dataset) if valset is None else ("valset", valset)
    kept, held = hold_out(data, 0.0 if testset or makes_testset(shares) else holdout, random_seed)
    if shares is not None:
        dataset, valset, *others = split(kept or (), shares, random_seed)
        testset = others[0] if others else testset
    elif valset is None:
        dataset = kept
    else:
        valset = kept
    learned = _examples("dataset", dataset) or [SetExample(part="single", index=0, record=None)]
    return SearchSets(
        dataset=learned,
        valset=_examples("valset", valset) or learned,
        testset=_examples("testset", testset or held),
        held_out=len(held),
        source=source,
        source_records=len(data or ()),
        why_none_held_out="" if testset or held or data is None else _why_none(source, data, holdout),
    )


def makes_testset(shares: str | None) -> bool:
    """Whether shares such as `50/25/25` have one for the testset."""
    return shares is not None and shares.count("/") == 2


def _why_none(source: str, records: Records, share: float) -> str:
    if not share:
        return REFUSED
    fewest = next(number for number in itertools.count(1) if round(number * share) >= FEWEST_HELD_OUT)
    are = "record is" if len(records) == 1 else "records are"
    return f"{len(records)} {are} too few in the {source}: {fewest} or more are needed"


def hold_out(records: Records | None, share: float, random_seed: int) -> tuple[Records | None, Records]:
    """What stays, and what is held out; nothing is held out where it would be too little to be useful."""
    if records is None or not share or round(len(records) * share) < FEWEST_HELD_OUT:
        return records, []
    stays, held = _cut(records, [len(records) - round(len(records) * share), round(len(records) * share)], random_seed)
    return (stays, held) if stays and held else (records, [])


def split(records: Records, shares: str, random_seed: int) -> list[list[dict[str, Any]]]:
    """`50/25/25`: parts of about these sizes, none of them empty; records keep their order within a part."""
    parts = _cut(records, _sizes(shares, len(records)), random_seed)
    if not all(parts):
        raise UsageError(f"--split {shares}: too few different records to split into {len(parts)}")
    return parts


def refuse_shared(sets: dict[str, Records]) -> None:
    """A record that is in two sets makes the second one say what the first has taught."""
    seen: dict[str, tuple[str, int]] = {}
    for name, records in sets.items():
        for number, record in enumerate(records, 1):
            earlier = seen.setdefault(fingerprint(record), (name, number))
            if earlier[0] != name:
                raise UsageError(
                    f"the {name} and the {earlier[0]} share records: record {number} of the {name} is record "
                    f"{earlier[1]} of the {earlier[0]}. Give sets without common records, or cut one with --split."
                )


def _cut(records: Records, sizes: list[int], random_seed: int) -> list[list[dict[str, Any]]]:
    """Parts of about these sizes; equal records stay together, so a part may be larger than asked for."""
    equal: dict[str, list[int]] = {}
    for index, record in enumerate(records):
        equal.setdefault(fingerprint(record), []).append(index)
    order = sorted(equal.values(), key=lambda group: fingerprint([random_seed, group[0], records[group[0]]]))
    parts: list[list[int]] = [[] for _ in sizes]
    part = 0
    for group in order:
        while part < len(sizes) - 1 and len(parts[part]) >= sizes[part]:
            part += 1
        parts[part] += group
    return [[records[index] for index in sorted(part)] for part in parts]


def _sizes(shares: str, total: int) -> list[int]:
    try:
        numbers = [float(text) for text in shares.split("/")]
    except ValueError as error:
        raise UsageError(f"--split {shares}: expected shares such as 60/40 or 50/25/25") from error
    if len(numbers) not in (2, 3) or not all(0 < number < math.inf for number in numbers):
        raise UsageError(f"--split {shares}: expected two or three shares above 0, such as 60/40 or 50/25/25")
    if total < len(numbers):
        raise UsageError(f"--split {shares}: {total} records are too few to split into {len(numbers)}")
    sizes = [max(1, int(total * (number / sum(numbers)))) for number in numbers]
    sizes[0] += total - sum(sizes)
    if sizes[0] < 1:
        raise UsageError(f"--split {shares}: {total} records are too few for this split")
    return sizes


def _examples(part: str, records: Records | None) -> list[SetExample]:
    before: Counter[str] = Counter()
    examples = []
    for index, record in enumerate(records or ()):
        same = short_fingerprint(record)
        examples.append(SetExample(part=part, index=index, record=record, digest=f"{same}-{before[same]}"))
        before[same] += 1
    return examples
