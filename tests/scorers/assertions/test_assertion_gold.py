"""A gold answer is made of what assertions say, and is proposed only where it holds."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.types import Sample
from assay.scorers.assertions.assertion_list import AssertionList, holds

LISTS: list[tuple[list[dict[str, Any]], str | None]] = [
    ([{"type": "icontains", "value": "Rome"}, {"type": "starts-with", "value": ["It", "So"]}], "It Rome"),
    ([{"type": "contains-all", "value": "a, b"}], "a, b"),
    ([{"type": "equals", "value": 3.0}], "3"),
    ([{"type": "not-contains-json"}, {"type": "not-equals", "value": "an answer"}], ""),
    ([{"type": "contains", "value": "x"}, {"type": "not-contains", "value": "x"}], None),
    ([{"type": "regex", "value": "(?<=[x-z]{3})q"}], None),
    ([{"type": "regex", "value": "("}], None),
    ([{"type": "no-such-assertion"}], None),
]


@pytest.mark.parametrize(("asserted", "gold"), LISTS, ids=lambda case: str(case)[:40])
def test_a_text_of_which_all_hold(asserted: list[dict[str, Any]], gold: str | None) -> None:
    found = AssertionList("a").gold(Sample(id="1", prompt="q", extras={"assertions": asserted}))
    assert (None if found is None else found.text) == gold
    assert gold is None or all(holds(gold, each) for each in asserted)


def test_the_text_of_equals_is_the_gold_answer_though_the_others_forbid_it() -> None:
    asserted = [{"type": "equals", "value": "x"}, {"type": "not-contains", "value": "x"}]
    found = AssertionList("a").gold(Sample(id="1", prompt="q", extras={"assertions": asserted}))
    assert found is not None
    assert found.text == "x"
