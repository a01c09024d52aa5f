"""Numbers of a task, by metric and filter, and what one sample brings to each."""

from __future__ import annotations

import math

from assay.bridges.lm_eval.worker.results import _items, _names_in, shown_name


def test_a_number_is_called_by_its_metric_and_its_filter() -> None:
    assert shown_name("acc", "none") == "acc"
    assert shown_name("exact_match", "strict-match") == "exact_match,strict-match"


def test_a_sample_brings_its_value_or_what_was_kept_next_to_it_or_nothing() -> None:
    scores = [{"values": {"acc": 1.0}, "items": {"f1": [0, 1]}}, {"values": {"acc": 0.0}, "items": {"other": None}}]
    assert _names_in(scores, ["acc"]) == ["f1", "other"]
    assert _items(scores[0], "acc") == [1.0]
    assert _items(scores[0], "f1") == [(0, 1)]
    assert math.isnan(_items(scores[1], "other")[0])
    assert _items(scores[1], "f1") == []
