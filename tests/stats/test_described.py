"""What the aggregates say of themselves: every one of the catalog is asked, and none says too much."""

from __future__ import annotations

from typing import Any

import pytest

from assay import catalog
from assay.core.describe import Mean, Shares, Value, Whole, about, share
from assay.core.errors import UsageError
from assay.stats.described import of_weights, value_read

OPTIONS: dict[str, dict[str, Any]] = {
    "frequency": {"field": "kind", "label": "a"},
    "binary-classification": {"field_gt": "a", "field_pred": "b", "positive_answer": True, "negative_answer": False},
    "multiclass-classification": {"field_gt": "a", "field_pred": "b"},
    "over_trials": {
        "trials": [{"name": "n", "field": "score", "function": "mean", "k": None}],
        "use": "mean",
        "options": {"field": "n"},
    },
    "weighted_average": {"field": "kind", "weights": {"a": 1, "b": -1}},
}
UNDIRECTED = {"std_dev", "python", "evidence"}


@pytest.mark.parametrize("use", catalog.CATALOG["aggregate"])
def test_every_aggregate_of_the_catalog_says_what_it_is(use: str) -> None:
    said = about(catalog.resolve("aggregate", use), OPTIONS.get(use, {}), {"score": share("score")})
    assert isinstance(said, Mean | Whole)
    if isinstance(said, Whole):
        assert (said.lower_is_better is None) == (use in UNDIRECTED)
    else:
        assert said.value.lower_is_better is False


def test_a_list_of_shares_is_no_score() -> None:
    said = about(catalog.resolve("aggregate", "frequency"), {"field": "kind"})
    assert said == Shares(numbers=("*kind_*",))


def test_a_value_that_nobody_describes_is_a_number_without_a_scale() -> None:
    assert value_read({"field": "words"}, {"score": share("score")}) == Value(name="words")
    assert value_read({}, {"score": share("score")}) == share("score")


def test_options_of_a_run_file_that_are_none_get_a_sentence() -> None:
    with pytest.raises(UsageError, match="`field` of an aggregate must be a name"):
        value_read({"field": 3}, {})
    with pytest.raises(UsageError, match="`weights` must be numbers by label"):
        of_weights({"field": "kind", "weights": {"a": "b"}}, {})
