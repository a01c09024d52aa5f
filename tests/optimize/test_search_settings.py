"""The options of a search: each has a flag of its own, and a bad value is refused under that name."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.optimize.search_settings import SearchOptions, SearchStrategy
from assay.optimize.settings import SearchSettings, check_settings
from assay.setting import settings_of


@pytest.mark.parametrize("record", [SearchOptions, SearchStrategy])
def test_every_field_is_a_setting_with_a_flag(record: type) -> None:
    fields = settings_of(record)
    assert all(field.flag is not None for field in fields.values())
    assert {*fields} == {*record.__struct_fields__}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"budget": 0}, "--budget must be at least 1, got 0"),
        ({"feedback_characters": 199}, "--feedback-chars must be at least 200, got 199"),
        ({"minibatch": 0}, "--minibatch must be at least 1, got 0"),
        ({"demonstrations": -1}, "--demonstrations must be 0 or more, got -1"),
        ({"budget_tokens": 0}, "--budget-tokens must be at least 1, got 0"),
        ({"budget_cost": float("inf")}, "--budget-cost must be a finite number, got inf"),
        ({"concurrency": 0}, "--concurrency must be at least 1, got 0"),
        ({"strategy": SearchStrategy(merges=-1)}, "--merge must be 0 or more, got -1"),
        ({"strategy": SearchStrategy(proposals=0)}, "--proposals must be at least 1, got 0"),
    ],
)
def test_a_bad_value_is_refused_under_the_name_of_its_flag(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_settings(SearchSettings(seed="text", **settings))


def test_a_score_that_is_never_reached_lets_the_search_go_on() -> None:
    check_settings(SearchSettings(seed="text", target_score=float("inf")))
