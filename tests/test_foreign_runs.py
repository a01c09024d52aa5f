"""A run that came with a folder does not answer for the model, unless the user says so."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import TaskDefinition
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.runs.later.rescore import rescore
from assay.runs.shards import merge_run
from assay.tasks.load import load_tasks
from tests.results.runs import write_sums
from tests.runs.shard_runs import run_shard

COUNT = 6


class Counting:
    """Answers right, and counts how often it was called."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def generate(self, prompts: Sequence[str]) -> list[str]:
        self.asked += len(prompts)
        return [str(int(prompt.split(" ")[1]) + 1) for prompt in prompts]


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TaskDefinition]:
    """Of the current project: a stranger's run may name their file."""
    monkeypatch.chdir(tmp_path)
    return load_tasks([str(write_sums(tmp_path / "tasks", "sums", COUNT))])


def run(tasks: list[TaskDefinition], folder: Path, **how: bool) -> int:
    """How often the model was called."""
    model = Counting()
    result = run_evaluation(tasks, RunConfig(), model=model, folder=folder, **how)
    assert result.leaderboard.complete
    return model.asked


def as_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-home"))


def test_a_run_of_ones_own_is_resumed_wherever_it_is_moved(tmp_path: Path, tasks: list[TaskDefinition]) -> None:
    assert run(tasks, tmp_path / "run") == COUNT
    assert run(tasks, tmp_path / "run") == 0
    shutil.copytree(tmp_path / "run", tmp_path / "elsewhere")
    assert run(tasks, tmp_path / "elsewhere") == 0


def test_a_run_that_came_with_a_cloned_folder_is_not_taken_for_the_models_answers(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(tasks, tmp_path / "run")
    as_another_user(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match=r"holds attempts that are not yours.*--resume-foreign.*--fresh"):
        run(tasks, tmp_path / "run")
    assert run(tasks, tmp_path / "run", fresh=True) == COUNT
    assert run(tasks, tmp_path / "run") == 0


def test_a_foreign_run_is_resumed_when_told_to_and_is_ones_own_afterwards(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(tasks, tmp_path / "run")
    as_another_user(tmp_path, monkeypatch)
    assert run(tasks, tmp_path / "run", resume_foreign=True) == 0
    assert run(tasks, tmp_path / "run") == 0
    monkeypatch.undo()
    assert run(tasks, tmp_path / "run") == 0, "whose it was before, it still is"


def test_seals_that_came_along_are_worth_nothing(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(tasks, tmp_path / "run")
    assert len(list((tmp_path / "run" / "seals").iterdir())) == 1
    as_another_user(tmp_path, monkeypatch)
    run(tasks, tmp_path / "mine")
    for seal in (tmp_path / "mine" / "seals").iterdir():  # of another run of the same user
        shutil.copy(seal, tmp_path / "run" / "seals")
    (tmp_path / "run" / "run.json").write_text(
        (tmp_path / "run" / "run.json").read_text().replace('"created": "2', '"created": "3')
    )
    with pytest.raises(UsageError, match="not yours"):
        run(tasks, tmp_path / "run")


@pytest.mark.parametrize("what", ["journal.jsonl", "shards"])
def test_attempts_without_a_run_file_are_foreign_too(tmp_path: Path, tasks: list[TaskDefinition], what: str) -> None:
    run(tasks, tmp_path / "strangers")
    run_shard(tasks, RunConfig(), number=1, count=1, folder=tmp_path / "shard")
    place = {"journal.jsonl": tmp_path / "strangers", "shards": tmp_path / "shard"}[what]
    (tmp_path / "run").mkdir()
    shutil.move(place / what, tmp_path / "run" / what)
    with pytest.raises(UsageError, match="not yours"):
        run(tasks, tmp_path / "run")
    assert run(tasks, tmp_path / "run", fresh=True) == COUNT


def test_a_folder_without_attempts_is_anybodys(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(tasks, tmp_path / "run")
    (tmp_path / "run" / "journal.jsonl").unlink()
    as_another_user(tmp_path, monkeypatch)
    assert run(tasks, tmp_path / "run") == COUNT


def test_machines_that_share_a_folder_run_their_shards_and_merge_them(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "run"
    run_shard(tasks, RunConfig(), number=1, count=2, folder=folder)
    as_another_user(tmp_path, monkeypatch)
    assert run_shard(tasks, RunConfig(), number=2, count=2, folder=folder).counts.made == COUNT // 2
    assert run_shard(tasks, RunConfig(), number=2, count=2, folder=folder).counts.made == 0
    assert merge_run(folder).remaining == []


def test_a_shard_that_another_machine_made_is_not_taken_without_a_word(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "run"
    run_shard(tasks, RunConfig(), number=1, count=2, folder=folder)
    as_another_user(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match="not yours"):
        run_shard(tasks, RunConfig(), number=1, count=2, folder=folder)
    assert run_shard(tasks, RunConfig(), number=1, count=2, folder=folder, resume_foreign=True).counts.made == 0


def test_scoring_strangers_answers_again_does_not_make_them_ones_own(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(tasks, tmp_path / "run")
    rescore(tmp_path / "run", folder=tmp_path / "own")
    assert run(tasks, tmp_path / "own") == 0
    as_another_user(tmp_path, monkeypatch)
    rescore(tmp_path / "run", folder=tmp_path / "strangers")
    with pytest.raises(UsageError, match="not yours"):
        run(tasks, tmp_path / "strangers")


def test_without_a_home_a_run_is_made_and_told_that_it_cannot_be_resumed_as_it_is(
    tmp_path: Path,
    tasks: list[TaskDefinition],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING, "assay"):
        assert run(tasks, tmp_path / "run") == COUNT
    assert "resuming it will need --resume-foreign, because" in caplog.text
    assert "Set ASSAY_HOME" in caplog.text
    with pytest.raises(UsageError, match="not yours"):
        run(tasks, tmp_path / "run")
    assert run(tasks, tmp_path / "run", resume_foreign=True) == 0
    assert len(list(read_records(tmp_path / "run" / "journal.jsonl"))) == COUNT
