"""Every metric of the catalog against its cases, its bounds, its own target and its docstring."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog import CATALOG, resolve
from assay.harness import METRIC_FNS
from assay.metrics import assertions

CASES = Path(__file__).parent / "cases"
METRICS: dict[str, Callable[..., float]] = {name: resolve("metric", name) for name in CATALOG["metric"]}
FOR_ANY_TARGET = {"exact_match", "normalized_exact_match", "accuracy", "contains", "f1"}
"""Metrics that give any text full marks for itself."""
NOT_ABOUT_TARGETS = {
    "label_in_set": "the labels of its extras",
    "forbidden_patterns": "the patterns of its extras",
    "json_match": "the values that targets are as JSON",
}
FOR_TARGETS_WITH_A_WORD = METRICS.keys() - FOR_ANY_TARGET - NOT_ABOUT_TARGETS.keys()
"""All others: a text of which their reading leaves nothing matches nothing."""
EXTRAS = {"allowed": ["a", "b"], "patterns": ["a", r"\d+"]}

texts = st.text(max_size=40) | st.lists(st.sampled_from(["the", "Cat", "1.5", "B", "é", ".", "\n", ""])).map(" ".join)
some_targets = st.lists(texts, max_size=4)


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_gives_the_scores_of_its_cases(name: str) -> None:
    for case in cases(name):
        score = METRICS[name](case["prediction"], case["targets"], case.get("extras", {}))
        assert score == pytest.approx(case["score"], abs=1e-6), case


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_cases_that_pass_and_cases_that_do_not(name: str) -> None:
    scores = {case["score"] for case in cases(name)}
    assert {0.0, 1.0} <= scores


@pytest.mark.parametrize("name", METRICS)
@given(prediction=texts, targets=some_targets)
def test_scores_are_floats_between_0_and_1(name: str, prediction: str, targets: list[str]) -> None:
    score = METRICS[name](prediction, targets, EXTRAS)
    assert type(score) is float
    assert 0.0 <= score <= 1.0


@pytest.mark.parametrize("name", METRICS)
@given(prediction=texts, targets=some_targets)
def test_the_order_of_targets_does_not_matter(name: str, prediction: str, targets: list[str]) -> None:
    metric = METRICS[name]
    assert metric(prediction, targets, EXTRAS) == metric(prediction, targets[::-1], EXTRAS)


@pytest.mark.parametrize("name", sorted(FOR_ANY_TARGET))
@given(target=texts, others=some_targets)
def test_a_target_is_its_own_full_mark(name: str, target: str, others: list[str]) -> None:
    assert METRICS[name](target, [*others, target], {}) == 1.0


@pytest.mark.parametrize("name", sorted(FOR_TARGETS_WITH_A_WORD))
@given(target=texts, others=some_targets)
def test_a_target_with_a_word_in_it_is_its_own_full_mark(name: str, target: str, others: list[str]) -> None:
    assert METRICS[name](f"word {target}", [*others, f"word {target}"], {}) == 1.0


@pytest.mark.parametrize("name", METRICS)
def test_every_docstring_says_what_when_not_an_example_and_a_reference(name: str) -> None:
    document = inspect.getdoc(METRICS[name]) or ""
    parts = [document.find(part) for part in ("Misleads", "Example: ", "Reference: ")]
    assert 0 < parts[0] < parts[1] < parts[2]


FUNCTIONS: list[Callable[..., Any]] = [
    *METRICS.values(),
    *(resolve("post_process", name) for name in CATALOG["post_process"]),
    assertions.evaluate,
    assertions.label_in_set,
    assertions.has_forbidden,
]
DOCUMENTED = {function.__name__: function for function in FUNCTIONS}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_example_in_the_docstring_is_true(name: str) -> None:
    example = re.search(r"^Example: (.+)$", inspect.getdoc(DOCUMENTED[name]) or "", re.MULTILINE)
    assert example
    source = example[1].encode("unicode_escape").decode("ascii").replace("\\\\", "\\")
    assert eval(source, {name: DOCUMENTED[name]}) is True


def test_each_format_has_its_own_meaning_of_exact_match() -> None:
    assert METRIC_FNS["exact_match"]("Paris", ["paris"], {}) == 1.0
    assert METRICS["exact_match"]("Paris", ["paris"], {}) == 0.0
