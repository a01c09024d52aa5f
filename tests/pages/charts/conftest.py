"""Three results of one task set, read once: nothing here changes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.results.diff.paired_columns import Side, read_side
from assay.results.report_settings import View

VIEW = View(by=("half",))


@pytest.fixture(scope="session")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Side]]:
    """Good, poor and broken, on two tasks."""
    folder = tmp_path_factory.mktemp("charts")
    for name in ("sums", "more sums"):
        write_sums(folder / "tasks", name, 40, metadata=lambda n: {"half": "low" if n < 20 else "high"})
    models = (("good", Adder({3}, name="good")), ("poor", Adder(range(15), name="poor")), ("broken", Broken({1, 2})))
    for name, model in models:
        run_into(folder / name, folder / "tasks", model)
    return [(name, read_side(Path(folder / name), VIEW, pace=True)) for name, _ in models]
