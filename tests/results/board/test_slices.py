"""Slices have scores of their own; a weak one is called weak only when the evidence allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.pages.documents.leaderboard import notes
from assay.pages.documents.more_tables import slice_table
from assay.pages.markdown import markdown
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View, metadata_key, metadata_value


def test_a_weak_slice_is_pointed_out(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 120, metadata=lambda n: {"difficulty": "hard" if n % 4 == 0 else "easy"})
    run_into(tmp_path / "run", tasks, Adder(range(0, 60, 4)))
    board = build_leaderboard(tmp_path / "run", View(by=("difficulty",)))
    easy, hard = board.tasks[0].slices
    assert (easy.value, easy.score, easy.scored, easy.weak) == ("easy", 1.0, 90, False)
    assert (hard.value, hard.score, hard.scored, hard.weak, hard.rest) == ("hard", 0.5, 30, True, 1.0)
    assert any("weak where difficulty = hard: 0.500 over 30, 1.000 over the rest" in note for note in notes(board))
    assert "| weak |" in (markdown(slice_table(board)) or "")


def test_chance_is_not_called_weak(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 60, metadata=lambda n: {"part": str(n % 6)})
    run_into(tmp_path / "run", tasks, Adder([0, 6, 12, 1, 7, 13, 2]))
    board = build_leaderboard(tmp_path / "run", View(by=("part",)))
    assert not any(each.weak for each in board.tasks[0].slices)
    assert any("no slice by part is significantly weaker" in note for note in notes(board))


def test_samples_without_the_key_are_a_slice_too_and_numbers_sort_by_size(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 9, metadata=lambda n: {"size": [2, 10, None][n % 3]})
    run_into(tmp_path / "run", tasks, Adder())
    board = build_leaderboard(tmp_path / "run", View(by=("size",)))
    assert [each.value for each in board.tasks[0].slices] == ["2", "10", "(none)"]


def test_an_identifier_is_no_slice(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 250, metadata=lambda n: {"id": n})
    run_into(tmp_path / "run", tasks, Adder())
    board = build_leaderboard(tmp_path / "run", View(by=("id", "nothing")))
    assert board.tasks[0].slices == [] or {each.by for each in board.tasks[0].slices} == {"nothing"}
    assert board.notices == [
        "--by metadata.id: more than 200 different values are no slices; none are shown",
        "--by metadata.nothing: no sample has this key. Keys: id",
    ]


def test_a_misspelt_key_names_the_nearest(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 9, metadata=lambda n: {"about": {"topic": n % 3}, "level": n})
    run_into(tmp_path / "run", tasks, Adder())
    board = build_leaderboard(tmp_path / "run", View(by=("topc", "levle")))
    assert board.notices == [
        "--by metadata.topc: no sample has this key. Did you mean `about.topic`?",
        "--by metadata.levle: no sample has this key. Did you mean `level`?",
    ]


def test_clusters_by_a_key_that_no_sample_has_are_reported(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 9, metadata=lambda n: {"passage": n // 3})
    run_into(tmp_path / "run", tasks, Adder())
    board = build_leaderboard(tmp_path / "run", View(group_by="pasage"))
    assert board.notices == [
        "--group-by metadata.pasage: no sample has this key, so every sample counts as independent of the others"
    ]
    for key in ("passage", "group"):  # `group` is the default, which no sample needs to have
        assert build_leaderboard(tmp_path / "run", View(group_by=key)).notices == []


@pytest.mark.parametrize(
    ("metadata", "key", "value"),
    [
        ({"a": 1}, "a", "1"),
        ({"a": {"b": True}}, "a.b", "True"),
        ({"a.b": "x", "a": {"b": "y"}}, "a.b", "x"),
        ({"a": ["x", "y"]}, "a", "x, y"),
        ({"a": None}, "a", None),
        ({"a": {"b": 1}}, "a", None),
        ({}, "a", None),
    ],
)
def test_a_key_may_look_inside(metadata: dict[str, object], key: str, value: str | None) -> None:
    assert metadata_value(metadata, key) == value


def test_flags_may_say_metadata_or_not() -> None:
    assert metadata_key("metadata.difficulty", "--by") == metadata_key("difficulty", "--by") == "difficulty"
