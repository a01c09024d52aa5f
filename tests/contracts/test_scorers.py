"""Every scorer of the catalog keeps the contract of a scorer."""

from __future__ import annotations

import pytest
from tests.contracts.scorers import SCORERS, Case, make_scorer

from assay.catalog import CATALOG, describe
from assay.core.describe import ScorerInfo
from assay.testing import check_scorer

FEW_TEXTS = 2
"""Of the long texts, where all would take long: `test_hostile_texts.py` has the rest."""


def test_every_scorer_of_the_catalog_is_checked_against_the_contract() -> None:
    # lm_eval and Inspect score in packages that are not installed here (tests/tasks), and `recorded` scores nothing
    elsewhere = {"lm_eval", "inspect", "recorded"}
    assert {*SCORERS} | elsewhere == {*CATALOG["scorer"]}


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}-{number}") for name in SCORERS for number, case in enumerate(SCORERS[name])],
)
def test_it_keeps_the_contract_of_a_scorer(name: str, case: Case) -> None:
    said = describe("scorer", name, case.options)
    check_scorer(
        lambda context: make_scorer(name, case, context),
        case.sample,
        answers=case.answers,
        judge=case.judge,
        dataset=[case.sample],
        texts=None if case is SCORERS[name][0] and case.texts is None else FEW_TEXTS,
        info=said if isinstance(said, ScorerInfo) else None,
    )
