"""Samples whose targets ROUGE-L cannot read are counted and named once for each file."""

from __future__ import annotations

import pytest

from assay.formats.unreadable_targets import LostWords
from assay.metrics.overlap import rouge_l


@pytest.mark.parametrize(
    ("targets", "lost"), [(["北京"], True), (["北京", "Beijing"], False), (["¿?"], True), ([], True)]
)
def test_a_sample_is_lost_when_no_target_has_a_word_that_counts(targets: list[str], lost: bool) -> None:
    counts = LostWords()
    counts.add("rouge_l", "a", targets)
    assert bool(counts.warnings("t.jsonl")) is lost
    assert lost is (max((rouge_l(target, targets, {}) for target in targets), default=0.0) == 0.0)


def test_the_first_is_named_and_the_others_are_counted() -> None:
    counts = LostWords()
    for name in ("a", "b", "c"):
        counts.add("rouge_l", name, ["北京"])
        counts.add("f1", "x", ["北京"])
    [warning] = counts.warnings("t.jsonl:3")
    assert warning.startswith("t.jsonl:3: rouge_l gives every answer 0.0")
    assert "sample `a` and 2 more" in warning
