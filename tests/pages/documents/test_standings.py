"""The tables of several models fit a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, build_standings, run_into, write_sums

from assay.pages.documents.standings import standings_document
from assay.pages.markdown import markdown


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`good` and `fair` cannot be told apart, `poor` can."""
    folder = tmp_path_factory.mktemp("standings")
    write_sums(folder / "tasks", "sums", 200, metadata=lambda n: {"half": str(n // 100)})
    write_sums(folder / "tasks", "more", 100)
    run_into(folder / "good", folder / "tasks", Adder(range(10), name="good"))
    run_into(folder / "fair", folder / "tasks", Adder(range(9, 20), name="fair"))
    run_into(folder / "poor", folder / "tasks", Adder(range(60), name="=poor|"))
    return folder


def test_the_tables_of_three_models_fit_a_wide_terminal(runs: Path) -> None:
    found = build_standings([runs / "poor", runs / "fair", runs / "good"])
    assert max(map(len, markdown(standings_document(found)).splitlines()[:10])) <= 130
