"""What a run would take, as a table: sums, unknowns that stay unknown, and names that are text."""

from __future__ import annotations

from typing import Any

from assay.costs.estimate import JudgeEstimate, RunEstimate, TaskEstimate
from assay.pages.documents.estimate import estimate_tables
from assay.pages.markdown import markdown


def task(name: str, **changes: Any) -> TaskEstimate:
    said: dict[str, Any] = {
        "attempts": 1000,
        "remaining": 900,
        "requests": 900,
        "tokens_in": 5000,
        "tokens_out": 100,
        "most_tokens_out": 2000,
        "cost": 0.5,
        "most_cost": 0.75,
        "currency": "USD",
        "exact": True,
    }
    return TaskEstimate(task=name, **{**said, **changes})


def cells(*tasks: TaskEstimate) -> list[list[str]]:
    table = markdown(estimate_tables(RunEstimate(model="m", label="m", tasks=list(tasks), notes=[])))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "---" not in line]


def test_the_run_is_the_sum_of_its_tasks() -> None:
    *_, run = cells(task("a"), task("b"))
    assert run == ["**run**", "2,000", "1,800", "1,800", "10,000", "200", "4,000", "1.00", "1.50"]


def test_one_unknown_price_makes_the_sum_unknown_and_no_limit_leaves_no_most() -> None:
    *_, run = cells(task("a"), task("b", cost=None, most_tokens_out=None, most_cost=None))
    assert run[-3:] == ["–", "unknown", "–"]


def test_judges_are_lower_bounds_in_a_table_of_their_own() -> None:
    known = JudgeEstimate(model="judge|1", requests=3, tokens_in=1200, least_cost=0.001)
    silent = JudgeEstimate(model="other", requests=1, tokens_in=10, least_cost=None)
    table = markdown(
        estimate_tables(RunEstimate(model="m", label="m", tasks=[task("a", judges=[known, silent])], notes=[]))
    )
    assert "judge\\|1" in table
    assert "≥ 1,200" in table
    assert "≥ 0.001" in table
    assert table.splitlines()[-1].split("|")[-2].strip() == "unknown"


def test_models_that_no_vendor_bills_have_no_column_for_a_cost_that_is_not_known() -> None:
    judge = JudgeEstimate(model="mine", requests=1, tokens_in=10, least_cost=None)
    unpriced = task("a", cost=None, most_cost=None, judges=[judge])
    for unbilled, columns in {("m", "mine"): 0, ("m",): 1, ("mine",): 1, (): 2}.items():
        estimate = RunEstimate(model="m", label="m", tasks=[unpriced], notes=[], unbilled=unbilled)
        assert sum("cost" in table.header for table in estimate_tables(estimate)) == columns
