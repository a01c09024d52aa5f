"""Every metric and every post-process rule of the catalog keeps its contract."""

from __future__ import annotations

import pytest
from tests.metrics.test_cases import EXTRAS, METRICS, cases

from assay.catalog import CATALOG, resolve
from assay.testing import check_metric, check_post_process


@pytest.mark.parametrize("name", METRICS)
def test_it_keeps_the_contract_of_a_metric(name: str) -> None:
    check_metric(METRICS[name], extras=EXTRAS, cases=cases(name))


@pytest.mark.parametrize("name", CATALOG["post_process"])
def test_it_keeps_the_contract_of_a_post_process_rule(name: str) -> None:
    check_post_process(resolve("post_process", name))
