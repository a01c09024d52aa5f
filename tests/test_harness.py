"""The small harness API keeps its promises: the toy adapter scores 1.0, an adapter that says nothing 0.0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.core.errors import UsageError


class Silent:
    name = "silent"

    def generate(self, prompts: list[str]) -> list[str]:
        return ["" for _ in prompts]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[assay.Example]]:
    folder = tmp_path_factory.mktemp("tasks")
    assay.seed_fixture_tasks(folder)
    return assay.load_all_tasks(folder)


def test_the_toy_adapter_scores_full_marks(tasks: dict[str, list[assay.Example]]) -> None:
    board = assay.run_leaderboard(tasks, assay.ToyAdapter(), batch_size=3)
    assert board.schema == "leaderboard.v1"
    assert len(board.tasks) == 5
    assert board.overall_score == 1.0


def test_an_adapter_that_says_nothing_scores_nothing(tasks: dict[str, list[assay.Example]]) -> None:
    board = assay.run_leaderboard(tasks, Silent(), batch_size=2)
    assert [row.score for row in board.tasks if row.refused is None] == [0.0] * sum(
        row.refused is None for row in board.tasks
    )
    assert board.overall_score == 0.0


def test_one_task_alone(tasks: dict[str, list[assay.Example]]) -> None:
    row = assay.run_task("arithmetic", tasks["arithmetic"], assay.ToyAdapter())
    assert (row.task, row.score, row.correct) == ("arithmetic", 1.0, row.total)


def test_a_task_without_examples_is_refused() -> None:
    with pytest.raises(UsageError, match="has no examples"):
        assay.run_task("nothing", [], assay.ToyAdapter())


def test_the_file_holds_predictions_only_when_asked(tasks: dict[str, list[assay.Example]], tmp_path: Path) -> None:
    board = assay.run_leaderboard({"arithmetic": tasks["arithmetic"]}, assay.ToyAdapter())
    path = tmp_path / "deep" / "leaderboard.json"
    assay.write_leaderboard(board, path, adapter_name="renamed")
    written = json.loads(path.read_text())
    assert (written["adapter"], written["schema"]) == ("renamed", "leaderboard.v1")
    assert "per_example" not in written["tasks"][0]
    assay.write_leaderboard(board, path, include_per_example=True)
    examples = json.loads(path.read_text())["tasks"][0]["per_example"]
    assert [example["id"] for example in examples] == [example.id for example in tasks["arithmetic"]]
