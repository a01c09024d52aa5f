"""Numbers over the attempts at each sample, aggregated over samples: against counts worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.describe import Value, Whole, about
from assay.stats.over_trials import over_trials
from assay.stats.score_table import ScoreTable


def table(*rights: str) -> ScoreTable:
    """A sample a word, an attempt a letter: right, wrong, or broken."""
    made = ScoreTable({"right": (0.0, 1.0)})
    for sample, attempts in enumerate(rights):
        for attempt, came in enumerate(attempts, start=1):
            if came == "!":
                made.add_failure(sample=sample, attempt=attempt)
            else:
                made.add({"right": came == "r"}, sample=sample, attempt=attempt)
    return made


def number(function: str, k: int | None = None, name: str = "n") -> dict[str, Any]:
    return {"name": name, "field": "right", "function": function, "k": k}


RIGHTS = ("rrrrr", "rrrrw", "rrwww", "wwwww")


@pytest.mark.parametrize(
    ("function", "k", "value"),
    [
        ("pass^k", 3, (1 + 4 / 10 + 0 + 0) / 4),
        ("pass@k", 3, (1 + 1 + 9 / 10 + 0) / 4),
        ("pass^k", 5, 1 / 4),
        ("mean", None, (1 + 0.8 + 0.4 + 0) / 4),
        ("min", None, 1 / 4),
        ("max", None, 3 / 4),
    ],
)
def test_the_mean_over_samples_of_a_number_over_trials(function: str, k: int | None, value: float) -> None:
    [summary] = over_trials(table(*RIGHTS), trials=[number(function, k)], use="mean", options={"field": "n"}, name="R")
    assert summary.name == "R"
    assert summary.value == pytest.approx(value)
    assert (summary.scored, summary.unscored) == (20, 0)


def test_the_order_of_samples_and_attempts_does_not_matter() -> None:
    shuffled = ScoreTable({"right": (0.0, 1.0)})
    rows = [(sample, attempt, came) for sample, word in enumerate(RIGHTS) for attempt, came in enumerate(word, 1)]
    for sample, attempt, came in reversed(rows):
        shuffled.add({"right": came == "r"}, sample=sample, attempt=attempt)
    options: dict[str, Any] = {"trials": [number("pass^k", 3)], "use": "mean", "options": {"field": "n"}}
    assert over_trials(shuffled, **options) == over_trials(table(*RIGHTS), **options)


def test_a_sample_whose_number_its_failed_attempts_decide_has_none_and_one_that_is_known_has() -> None:
    options: dict[str, Any] = {"use": "mean", "options": {"field": "n"}}
    # of three attempts one is wrong: not all three can be right, whatever the failed one would have been
    [known] = over_trials(table("rw!", "rrr"), trials=[number("pass^k", 3)], **options)
    assert (known.value, known.scored, known.unscored, known.failed) == (0.5, 5, 0, 1)
    [unknown] = over_trials(table("rr!", "rrr"), trials=[number("pass^k", 3)], **options)
    assert (unknown.value, unknown.scored, unknown.unscored, unknown.failed) == (1.0, 3, 2, 1)
    [lost] = over_trials(table("!!!", "rww"), trials=[number("min")], **options)
    assert (lost.value, lost.scored, lost.failed) == (0.0, 3, 3)
    [nothing] = over_trials(table("!!!"), trials=[number("mean")], **options)
    assert (nothing.value, bool(nothing.reason)) == (None, True)


def test_other_aggregates_are_over_samples_too() -> None:
    [spread] = over_trials(table(*RIGHTS), trials=[number("mean")], use="std_dev", options={"field": "n"})
    values = [1, 0.8, 0.4, 0]
    mean = sum(values) / 4
    assert spread.value == pytest.approx((sum((each - mean) ** 2 for each in values) / 4) ** 0.5)


def test_it_says_what_it_rises_with_and_where_it_lies() -> None:
    options = {"trials": [number("pass^k", 3)], "use": "mean", "options": {"field": "n"}}
    right = Value(name="right", range=(0.0, 1.0), lower_is_better=False)
    said = about(over_trials, options, {"right": right})
    assert isinstance(said, Whole)
    assert (said.range, said.lower_is_better, said.rises_with, said.proxy) == ((0.0, 1.0), False, right, right)
    spread = about(over_trials, {**options, "use": "std_dev"}, {"right": right})
    assert isinstance(spread, Whole)
    assert spread.rises_with is None
