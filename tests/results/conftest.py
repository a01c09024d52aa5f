"""A task of rows and scorers, run in the working directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.results.yaml_runs import Runs, run_task, write_task

from assay.results.board.board_types import Leaderboard


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """A task of rows and scorers, run in the working directory; answers are the questions themselves."""
    monkeypatch.chdir(tmp_path)

    def run(rows: list[dict[str, Any]], scorers: list[dict[str, Any]], **how: Any) -> Leaderboard:
        model = how.pop("model", lambda prompt: prompt)
        config = {name: how.pop(name) for name in ("repeat", "include_per_example") if name in how}
        return run_task(write_task(tmp_path, rows, scorers, **how), model, **config)

    return run
