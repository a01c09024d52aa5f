"""Which folders are somebody's project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import assay


@pytest.mark.parametrize("place", ["home", "world"])
def test_the_home_folder_and_one_that_all_may_write_to_are_no_project(
    stranger: Path, tmp_path: Path, place: str
) -> None:
    stranger.chmod(0o755 if place == "home" else 0o777)
    changes = {"HOME": str(stranger)} if place == "home" else {}
    refused = assay("run", "task.yaml", cwd=stranger, **changes)
    assert refused.returncode == 2
    assert "is not a project" in refused.stderr
    assert not (tmp_path / "ran").exists()
