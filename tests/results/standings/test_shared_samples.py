"""Ranks and intervals over the samples that all models share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, build_standings, run_into, write_sums

from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View


def test_files_and_folders_give_one_overall_interval_over_shared_samples(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 60)
    write_sums(tmp_path / "tasks", "more", 60, metadata=lambda n: {"group": n // 3})
    run_into(tmp_path / "whole", tmp_path / "tasks", Adder(range(0, 60, 7), name="whole"))
    run_into(tmp_path / "part", tmp_path / "tasks", Adder(range(0, 60, 5), name="part"), limit=20)
    folders = [tmp_path / "whole", tmp_path / "part"]
    files = [tmp_path / f"{folder.name}.json" for folder in folders]
    for folder, file in zip(folders, files, strict=True):
        write_leaderboard_file(file, build_leaderboard(folder, View(per_example=True)))
    for of_folder, of_file in zip(
        build_standings(folders).models,
        build_standings(files).models,
        strict=True,
    ):
        assert of_folder.interval is not None
        assert of_file.interval is not None
        assert of_file.interval.low == pytest.approx(of_folder.interval.low)
        assert of_file.interval.high == pytest.approx(of_folder.interval.high)


def test_samples_of_one_group_are_drawn_together(tmp_path: Path) -> None:
    """Eight wrong answers that are one wrong passage are one piece of evidence, not eight."""
    alone = write_sums(tmp_path / "alone", "sums", 80)
    grouped = write_sums(tmp_path / "grouped", "sums", 80, metadata=lambda n: {"group": n // 8})
    for tasks, name in ((alone, "alone"), (grouped, "grouped")):
        run_into(tmp_path / name / "right", tasks, Adder(name="right"))
        run_into(tmp_path / name / "wrong", tasks, Adder(range(8), name="wrong"))
    found = {
        name: build_standings([tmp_path / name / "right", tmp_path / name / "wrong"]) for name in ("alone", "grouped")
    }
    assert [row.rank for row in found["alone"].models] == ["1", "2"]
    assert [row.rank for row in found["grouped"].models] == ["1–2", "1–2"]
    assert "80 shared samples in 10 clusters" in found["grouped"].ranking
    worse = found["grouped"].models[1]
    assert worse.win_rate_interval is not None
    assert (worse.win_rate_interval.low, worse.win_rate_interval.high) == (0.0, 0.5)


def test_one_shared_sample_ranks_no_model_and_says_why(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", 1)
    run_into(tmp_path / "right", tasks, Adder(name="right"))
    run_into(tmp_path / "wrong", tasks, Adder(range(1), name="wrong"))
    found = build_standings([tmp_path / "right", tmp_path / "wrong"])
    assert [(row.label, row.rank) for row in found.models] == [("right", "1–2"), ("wrong", "1–2")]
    assert found.ranking.startswith("unknown: sums has fewer than two samples")
    assert build_standings([tmp_path / "right"]).ranking == "there is one model"
