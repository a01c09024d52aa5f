"""The examples of a search: what it learns from, what it selects on, and what nothing was selected on.

Equal records are never on both sides of a split, and none is both seen and held out: learning one means having seen
the other. Dataset and valset may share records, which are counted; a testset shares none.
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
    held_out_of_dataset: int = 0
    """Records of the dataset that are left out because equal ones of the valset are held out."""
    shared: int = 0
    """Records of the valset that are in the dataset too: the proposer sees what is selected on."""
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
    for name, records in (("dataset", dataset), ("valset", valset)):
        _refuse_shared(name, records or (), testset or ())
    source, data = ("dataset", dataset) if valset is None else ("valset", valset)
    kept, held = hold_out(data, 0.0 if testset or makes_testset(shares) else holdout, random_seed)
    if shares is not None:
        dataset, valset, *others = split(kept or (), shares, random_seed)
        testset = others[0] if others else testset
    elif valset is None:
        dataset = kept
    else:
        valset = kept
    given = len(dataset or ())
    dataset = _without(dataset, held)
    if given and not dataset:
        raise UsageError("every record of the dataset is held out: an equal one is in the valset; give other records")
    learned = _examples("dataset", dataset) or [SetExample(part="single", index=0, record=None)]
    return SearchSets(
        dataset=learned,
        valset=_examples("valset", valset) or learned,
        testset=_examples("testset", testset or held),
        held_out=len(held),
        source=source,
        source_records=len(data or ()),
        held_out_of_dataset=given - len(dataset or ()),
        shared=0 if valset is None else len(valset) - len(_without(valset, dataset or ()) or ()),
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


def _refuse_shared(name: str, records: Records, testset: Records) -> None:
    """A record that was learned from or selected on proves nothing in a testset."""
    seen = {fingerprint(record): number for number, record in enumerate(records, 1)} if testset else {}
    for number, record in enumerate(testset, 1):
        if (earlier := seen.get(fingerprint(record))) is not None:
            raise UsageError(
                f"the testset and the {name} share records: record {number} of the testset is record {earlier} of "
                f"the {name}. Give sets without common records, or cut one with --split."
            )


def _without(records: Records | None, others: Records) -> Records | None:
    """The records that have no equal among the others."""
    if not records or not others:
        return records
    known = {fingerprint(record) for record in others}
    return [record for record in records if fingerprint(record) not in known]


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
