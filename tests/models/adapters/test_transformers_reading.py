"""Rows that are read in one pass are of similar length, and not too many."""

from __future__ import annotations

from assay.models.adapters.transformers_reading import MOST_TOKENS, ONE_MORE_PASS, _batches


def test_batches_hold_every_row_and_little_padding() -> None:
    rows = sorted(((1,) * length for length in (*range(1, 60), *range(900, 960))), key=len)
    batches = list(_batches(rows))
    assert [row for batch in batches for row in batch] == rows
    for batch in batches:
        longest = len(batch[-1])
        assert longest * len(batch) <= MOST_TOKENS
        assert sum(longest - len(row) for row in batch) <= ONE_MORE_PASS + longest * len(batch) / 4
