"""What changed between two runs is named, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.results.runs import Adder, run_into, write_sums

from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.history.changes import changes_between
from assay.run_file import RunFile, read_run_file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFile, Leaderboard]:
    folder = tmp_path_factory.mktemp("changes")
    run: Path = run_into(folder / "run", write_sums(folder, "sums", 3), Adder())
    return read_run_file(run), build_leaderboard(run)


def test_two_equal_runs_differ_in_nothing(made: tuple[RunFile, Leaderboard]) -> None:
    run, board = made
    assert changes_between(run, run, (board, board)) == []


def test_everything_that_has_a_part_in_the_number_is_named(made: tuple[RunFile, Leaderboard]) -> None:
    run, board = made
    task = replace(board.tasks[0], asking="other", sha256="other", scoring="other")
    other = replace(
        run,
        model={"name": "new", "temperature": 0.7},
        settings={**run.settings, "seed": 3},
    )
    newer = {**board.versions, "assay-eval": "9"}
    found = changes_between(run, other, (board, replace(board, tasks=[task], versions=newer)))
    assert f"model {run.model['name']} → new" in found
    assert "sums: other prompt and questions and scoring" in found
    assert "temperature null → 0.7" in found
    assert any(each.startswith("seed ") for each in found)
    assert any(each.startswith("assay-eval version ") and each.endswith("→ 9") for each in found)


def test_a_model_is_named_once(made: tuple[RunFile, Leaderboard]) -> None:
    run, board = made
    oak, elm = (replace(run, model={"name": f"openai:{name}", "model": name}) for name in ("oak", "elm"))
    assert changes_between(oak, elm, (board, board)) == ["model openai:oak → openai:elm"]
    other = replace(elm, model={**elm.model, "model": "elm-2026-11"})
    assert changes_between(elm, other, (board, board)) == ["model elm → elm-2026-11"]


def test_a_hash_is_cut_to_what_people_compare(made: tuple[RunFile, Leaderboard]) -> None:
    run, board = made
    before, after = (replace(run, settings={"code": each * 64}) for each in "ab")
    assert changes_between(before, after, (board, board)) == ["code aaaaaaaa → bbbbbbbb"]
