"""How a journal is looked at: the level that results share, and metadata by its key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.board.scripted_boards import board_of, write_run

from assay.core.errors import UsageError
from assay.results.board.board_types import write_leaderboard_file
from assay.results.report_settings import View, common_view, metadata_key, metadata_value, view_of, view_of_results
from assay.run_config import RunConfig


def test_results_that_agree_are_compared_as_they_were_asked_for() -> None:
    asked = RunConfig(level=0.9, group_by="topic")
    assert common_view([asked, asked]) == View(level=0.9, group_by="topic")
    assert common_view([asked, RunConfig(group_by="author")]) == View()


def test_a_run_that_names_no_clusters_does_not_undo_those_of_another() -> None:
    assert common_view([RunConfig(), RunConfig(group_by="topic")]).group_by == "topic"


def test_files_at_different_levels_are_refused_unless_one_is_chosen(tmp_path: Path) -> None:
    board = board_of(tmp_path / "run", {"t": [[1.0]]})
    for level in (0.9, 0.99):
        write_leaderboard_file(tmp_path / f"{level}.json", msgspec.structs.replace(board, level=level))
    files = [tmp_path / "0.9.json", tmp_path / "0.99.json"]
    with pytest.raises(UsageError, match=r"0\.9\.json at 0\.9, .*0\.99\.json at 0\.99; --level L"):
        view_of_results(files)
    assert view_of_results(files, 0.5).level == 0.5
    assert view_of_results(files[:1]).level == 0.9
    with pytest.raises(UsageError, match="different confidence levels"):
        view_of_results([tmp_path / "run", files[0]])
    assert view_of_results([write_run(tmp_path / "other", {"t": [[1.0]]})]).level == 0.95


@pytest.mark.parametrize("level", [0, 1, -3, 95])
def test_a_file_with_a_level_that_is_none_is_refused(tmp_path: Path, level: float) -> None:
    path = tmp_path / "board.json"
    path.write_bytes(msgspec.json.encode({"level": level}))
    with pytest.raises(UsageError, match="`level` must be between 0 and 1"):
        view_of_results([path])


def test_a_price_file_that_is_gone_is_replaced_by_the_copy_in_the_run(tmp_path: Path) -> None:
    config = RunConfig(prices=str(tmp_path / "gone.yaml"))
    with pytest.raises(UsageError, match=r"gone\.yaml"):
        view_of(config, tmp_path)
    (tmp_path / "prices.yaml").write_text("date: 2026-01-01\nmodels: {m: {input: 1, output: 1}}\n")
    prices = view_of(config, tmp_path).prices
    assert prices is not None
    assert prices.quote("m") is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("level", "hard"),
        ("a.b", "3"),
        ("a", None),
        ("a.x.y", None),
        ("tags", "x, y"),
        ("dotted.key", "whole"),
        ("nothing", None),
        ("level.deeper", None),
        ("zero", "0"),
    ],
)
def test_metadata_is_found_by_its_key_or_a_way_inside(key: str, value: str | None) -> None:
    metadata: dict[str, Any] = {"level": "hard", "a": {"b": 3}, "tags": ["x", "y"], "dotted.key": "whole", "zero": 0}
    assert metadata_value(metadata, key) == value
    assert metadata_value({}, key) is None


def test_flags_may_say_metadata_or_not_but_not_nothing() -> None:
    assert metadata_key("metadata.level", "--by") == metadata_key("level", "--by") == "level"
    with pytest.raises(UsageError, match=r"--by 'metadata\.': expected metadata\.KEY"):
        metadata_key("metadata.", "--by")
