"""The two ends of a comparison: files and folders, and the level they have."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.report_settings import View


def test_leaderboard_files_compare_at_the_level_that_they_have(runs: Path, tmp_path: Path) -> None:
    for name in "ab":
        for level in (0.9, 0.95):
            board = build_leaderboard(runs / name, View(per_example=True, level=level))
            write_leaderboard_file(tmp_path / f"{name}{level}.json", board)
    assert diff(tmp_path / "a0.9.json", tmp_path / "b0.9.json").level == 0.9
    with pytest.raises(UsageError, match=r"a0\.9\.json at 0\.9, .*b0\.95\.json at 0\.95; --level"):
        diff(tmp_path / "a0.9.json", tmp_path / "b0.95.json")
    with pytest.raises(UsageError, match=r"--level"):
        diff(runs / "a", tmp_path / "b0.9.json")
    said = diff(tmp_path / "a0.9.json", tmp_path / "b0.95.json", View(level=0.8))
    assert said.level == 0.8


@pytest.mark.parametrize(("arguments", "level"), [([], 0.9), (["--level", "0.99"], 0.99)])
def test_the_command_takes_the_level_of_the_files_unless_one_is_given(
    arguments: list[str], level: float, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    for name, file in zip("ab", files, strict=True):
        write_leaderboard_file(Path(file), build_leaderboard(runs / name, View(per_example=True, level=0.9)))
    assert main(["diff", *files, "--json", *arguments]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["level"] == level
