"""Two runs that gates are tried on: A misses ten sums of each task, B twenty."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gates")
    write_sums(folder / "tasks", "sums", 100)
    write_sums(folder / "tasks", "more-sums", 50)
    run_into(folder / "a", folder / "tasks", Adder(range(10)))
    run_into(folder / "b", folder / "tasks", Adder(range(20)))
    return folder


@pytest.fixture(scope="package")
def boards(runs: Path) -> tuple[Leaderboard, Leaderboard]:
    return build_leaderboard(runs / "a"), build_leaderboard(runs / "b")
