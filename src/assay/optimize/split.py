"""Cuts one set into parts for learning, selecting and testing, always the same way for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint


def split(records: Sequence[dict[str, Any]], shares: str, random_seed: int) -> list[list[dict[str, Any]]]:
    """`50/25/25`: parts of these sizes, none of them empty; records keep their order within a part."""
    sizes = _sizes(shares, len(records))
    order = sorted(range(len(records)), key=lambda index: fingerprint([random_seed, index, records[index]]))
    parts, begin = [], 0
    for size in sizes:
        parts.append([records[index] for index in sorted(order[begin : begin + size])])
        begin += size
    return parts


def _sizes(shares: str, total: int) -> list[int]:
    try:
        numbers = [float(text) for text in shares.split("/")]
    except ValueError as error:
        raise UsageError(f"--split {shares}: expected shares such as 60/40 or 50/25/25") from error
    if len(numbers) not in (2, 3) or not all(number > 0 for number in numbers):
        raise UsageError(f"--split {shares}: expected two or three shares above 0, such as 60/40 or 50/25/25")
    if total < len(numbers):
        raise UsageError(f"--split {shares}: {total} records are too few to be cut in {len(numbers)}")
    sizes = [max(1, int(total * number / sum(numbers))) for number in numbers]
    sizes[0] += total - sum(sizes)
    if sizes[0] < 1:
        raise UsageError(f"--split {shares}: {total} records are too few to be cut like this")
    return sizes
