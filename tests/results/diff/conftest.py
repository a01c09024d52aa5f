"""Two runs of many sums and of few, the later one worse."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 sums and 50 sums; `b` misses two in a hundred that `a` has."""
    folder = tmp_path_factory.mktemp("runs")
    write_sums(folder / "tasks", "sums", 2000, metadata=lambda n: {"difficulty": "hard" if n % 2 else "easy"})
    write_sums(folder / "tasks", "few", 50)
    run_into(folder / "a", folder / "tasks", Adder(range(0, 2000, 10), name="before"))
    run_into(folder / "b", folder / "tasks", Adder([*range(0, 2000, 10), *range(7, 2000, 50)], name="after"))
    return folder
