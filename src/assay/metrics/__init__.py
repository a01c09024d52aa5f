"""Metrics: pure functions `(prediction, targets, extras) -> float in [0, 1]`, and each task format's words for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.metrics.assertions import contains, label_allowed, no_forbidden
from assay.metrics.choice import multiple_choice
from assay.metrics.overlap import bleu_4, rouge_l
from assay.metrics.text import accuracy, exact_match, f1, normalized_exact_match, substring_contains

Metric = Callable[[str, Sequence[str], Mapping[str, Any]], float]

TASK_FOLDER_METRICS: dict[str, Metric] = {
    "exact_match": normalized_exact_match,
    "rouge_l": rouge_l,
    "multiple_choice": multiple_choice,
    "substring_contains": substring_contains,
    "f1": f1,
    "bleu_4": bleu_4,
    "accuracy": accuracy,
    "contains": contains,
    "label_in_set": label_allowed,
    "forbidden_patterns": no_forbidden,
}
"""A task folder's word -> function. `code_exec` runs programs and is therefore a scorer, not a metric."""

SPEC_METRICS: dict[str, Metric] = {
    "exact_match": exact_match,
    "f1": f1,
    "bleu_4": bleu_4,
    "rouge_l": rouge_l,
    "accuracy": accuracy,
}
"""The frozen task spec's word -> function; its vocabulary is closed, and its `code_exec` is a scorer too."""

__all__ = [
    "SPEC_METRICS",
    "TASK_FOLDER_METRICS",
    "Metric",
    "accuracy",
    "bleu_4",
    "contains",
    "exact_match",
    "f1",
    "label_allowed",
    "multiple_choice",
    "no_forbidden",
    "normalized_exact_match",
    "rouge_l",
    "substring_contains",
]
