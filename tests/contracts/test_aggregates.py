"""Every aggregate of the catalog keeps the contract of an aggregate."""

from __future__ import annotations

import random
from typing import Any

import pytest

from assay.catalog import CATALOG, resolve
from assay.testing import check_aggregate

RANDOM = random.Random(1)
ROWS: list[dict[str, Any]] = [
    {
        "score": RANDOM.choice([0.0, 0.5, 1.0]),
        "is_correct": RANDOM.random() < 0.6,
        "seconds": RANDOM.random() * 100,
        "label": RANDOM.choice("ab"),
        "gt": RANDOM.choice(["yes", "no"]),
        "pred": RANDOM.choice(["yes", "no"]),
        "tp": RANDOM.randrange(4),
        "fp": RANDOM.randrange(3),
        "fn": RANDOM.randrange(3),
        "nats": RANDOM.random() * 9 + 1,
        "bytes": RANDOM.randrange(4, 20),
        "words": RANDOM.randrange(2, 5),
        "tokens": RANDOM.randrange(3, 7),
    }
    for _ in range(24)
]
TP_FN = {"num_true_positives_field": "tp", "num_false_negatives_field": "fn"}
TP_FP = {"num_true_positives_field": "tp", "num_false_positives_field": "fp"}
TWO_CLASSES = {"field_gt": "gt", "field_pred": "pred"}
AGGREGATES: dict[str, list[dict[str, Any]]] = {
    "mean": [{}, {"field": "is_correct"}, {"field": "seconds"}, {"field": "seconds", "bounds": (0.0, 100.0)}],
    "max": [{}, {"field": "seconds"}, {"field": "seconds", "bounds": (0.0, 100.0)}],
    "min": [{}, {"field": "seconds"}, {"field": "seconds", "bounds": (0.0, 100.0)}],
    "median": [{}, {"field": "seconds"}, {"field": "seconds", "bounds": (0.0, 100.0)}],
    "quantile": [{"q": 0.5}, {"field": "seconds", "q": 0.9}, {"field": "seconds", "q": 0.1, "bounds": (0.0, 100.0)}],
    "std_dev": [{"field": "score"}, {"field": "seconds"}],
    "frequency": [{"field": "label"}, {"field": "score"}, {"field": "label", "label": "a"}],
    "binary-classification": [{**TWO_CLASSES, "positive_answer": "yes", "negative_answer": "no"}],
    "multiclass-classification": [TWO_CLASSES],
    "recall": [TP_FN],
    "precision": [TP_FP],
    "f1_score": [{**TP_FN, **TP_FP}],
    "weighted_average": [{"field": "label", "weights": {"a": 1, "b": 3}}],
    "agreement": [
        {"fields": ["gt", "pred"]},
        {"fields": ["score", "score"], "weights": "quadratic"},
        {"fields": ["gt", "pred", "gt"]},
    ],
    "over_trials": [
        {
            "trials": [{"name": "n", "field": "score", "function": each, "k": k}],
            "use": "mean",
            "options": {"field": "n"},
        }
        for each, k in (("pass^k", 2), ("pass@k", 1), ("mean", None), ("min", None))
    ],
    "repetitions": [{}, {"k": [1, 2, 4]}, {"field": "seconds", "threshold": 50.0}],
    "lm_eval": [{"task": "t", "library": {}, "means": []}],
    "python": [{"compute_metrics_snippet": "def compute_metrics(scores): ..."}],
    "evidence": [{}],
    "bits_per_byte": [{}],
    "corpus_bleu": [{}],
    "corpus_chrf": [{}],
    "perplexity": [{"unit": "word"}, {"unit": "token"}],
}


def test_every_aggregate_of_the_catalog_is_checked_against_the_contract() -> None:
    assert {*AGGREGATES} == {*CATALOG["aggregate"]}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, options, id=f"{name}-{number}")
        for name in AGGREGATES
        for number, options in enumerate(AGGREGATES[name])
    ],
)
def test_it_keeps_the_contract_of_an_aggregate(name: str, options: dict[str, Any]) -> None:
    numbers = [{key: value for key, value in row.items() if not isinstance(value, str)} for row in ROWS]
    check_aggregate(resolve("aggregate", name), numbers if name == "evidence" else ROWS, **options)
