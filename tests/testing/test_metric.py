"""The contract of a metric: kept by a good one, and every clause broken by a bad one."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from tests.testing.broken import broken_by, clauses, words

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.testing import check_metric
from assay.testing import metric as contract

Extras = Mapping[str, Any]


def ends_with(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    said = prediction.strip().casefold()
    return float(any(said.endswith(target.casefold()) for target in targets))


def half(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    return 1.5 if prediction == "Paris" else 0.5


def raises(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    return 1.0 / len(targets)


def says_yes(prediction: str, targets: Sequence[str], extras: Extras) -> Any:
    return "yes"


def not_a_number(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    return float("nan")


def minus_one(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    return -1.0


def counting() -> Any:
    calls = itertools.count()
    return lambda prediction, targets, extras: (next(calls) % 7) / 10


def sorts_the_targets(prediction: str, targets: Any, extras: Extras) -> float:
    if isinstance(targets, list):
        targets.sort()
    return 0.0


def keeps_in_extras(prediction: str, targets: Sequence[str], extras: Any) -> float:
    extras["seen"] = prediction
    return 0.0


def marks_the_extras(prediction: str, targets: Sequence[str], extras: Any) -> float:
    extras["seen"] = True
    return 0.0


def first_only(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    return float(bool(targets) and prediction == targets[0])


def backtracks(prediction: str, targets: Sequence[str], extras: Extras) -> float:
    return float(re.search(r"(\s+)+$", prediction[:40] + "x") is None or re.search(r"\s*\s*\s*x$", prediction) is None)


BROKEN = [
    (half, contract.gives_a_number_between_0_and_1_for_any_text),
    (raises, contract.gives_a_number_between_0_and_1_for_any_text),
    (says_yes, contract.gives_a_number_between_0_and_1_for_any_text),
    (not_a_number, contract.gives_a_number_between_0_and_1_for_any_text),
    (minus_one, contract.gives_a_number_between_0_and_1_for_any_text),
    (counting(), contract.gives_the_same_score_for_the_same_arguments),
    (sorts_the_targets, contract.leaves_its_arguments_as_they_are),
    (keeps_in_extras, contract.leaves_its_arguments_as_they_are),
    (marks_the_extras, contract.leaves_its_arguments_as_they_are),
    (first_only, contract.takes_the_targets_in_any_order),
]


@pytest.mark.parametrize(("metric", "clause"), BROKEN)
def test_a_bad_metric_breaks_its_clause(metric: Any, clause: Any) -> None:
    assert broken_by(lambda: check_metric(metric)).clause == words(clause)


def test_a_case_that_is_not_met_is_reported_with_the_case() -> None:
    wrong = {"prediction": "It is Paris", "targets": ["paris"], "score": 0.0}
    error = broken_by(lambda: check_metric(ends_with, cases=[wrong]))
    assert error.clause == "gives the scores of its cases"
    assert str(wrong) in str(error.given)


def test_a_pattern_that_backtracks_is_reported_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.testing.contract.CPU_SECONDS", 0.5)
    error = broken_by(lambda: check_metric(backtracks))
    assert error.clause == "reads a long text in bounded time"
    assert "prediction='\\n' * 100000" in str(error.given)


def test_every_clause_can_break() -> None:
    elsewhere = {contract.gives_the_scores_of_its_cases, contract.reads_a_long_text_in_bounded_time}
    assert clauses([*(clause for _, clause in BROKEN), *elsewhere]) == clauses(contract.CLAUSES)


def test_a_good_metric_keeps_the_contract() -> None:
    check_metric(ends_with, cases=[{"prediction": "It is Paris", "targets": ["paris"], "score": 1.0}])


def test_the_order_of_targets_may_mean_something() -> None:
    check_metric(first_only, any_order=False)


def test_a_metric_may_say_that_it_has_no_score() -> None:
    def fails(prediction: str, targets: Sequence[str], extras: Extras) -> float:
        raise FailureError(Failure(stage="metric", kind="bad_request", message="no"))

    check_metric(fails)


def test_the_message_says_what_broke_where_and_with_which_input() -> None:
    assert str(broken_by(lambda: check_metric(half))) == (
        "the metric `half` breaks its contract: it gives a number between 0 and 1 for any text\n"
        "  given: prediction='Paris', targets=()\n"
        "  but: returned 1.5"
    )


def test_the_checks_need_no_test_runner() -> None:
    code = "import sys, assay.testing; assert 'pytest' not in sys.modules and 'hypothesis' not in sys.modules"
    run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
