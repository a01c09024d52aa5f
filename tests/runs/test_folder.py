"""The folder of a run: another run in it is refused or moved aside, and `run.json` says what it was made with."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tests.runs.sums import config, run, write_sums

from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.models.layers import thinking
from assay.models.model_names import make_model
from assay.runs.evaluate import run_evaluation
from assay.runs.folder import versions
from assay.tasks.load import load_tasks

CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"keep_thinking": True}, "keep_thinking was not set, now on"),
    ({"limit": 3}, "limit was not set, now 3"),
    ({"repeat": 2}, "repeat was 1, now 2"),
]


@pytest.mark.parametrize(("change", "said"), CHANGES, ids=[next(iter(change)) for change, _ in CHANGES])
def test_another_setting_is_refused_in_the_same_folder(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = write_sums(tmp_path / "sums.jsonl")
    run(path, tmp_path / "run")
    with pytest.raises(UsageError, match=said):
        run(path, tmp_path / "run", **change)


def test_a_changed_task_is_refused_and_named(tmp_path: Path) -> None:
    path = write_sums(tmp_path / "sums.jsonl")
    run(path, tmp_path / "run")
    write_sums(path, wrong=5)
    with pytest.raises(UsageError, match="task `sums` changed"):
        run(path, tmp_path / "run")


def test_fresh_puts_the_earlier_run_aside(tmp_path: Path) -> None:
    path = write_sums(tmp_path / "sums.jsonl")
    run(path, tmp_path / "run")
    definitions = load_tasks([str(path)])
    run_evaluation(definitions, config(limit=3), folder=tmp_path / "run", fresh=True)
    assert len(list(read_records(tmp_path / "run" / "journal.jsonl"))) == 3
    assert len(list(read_records(tmp_path / "run.old-1" / "journal.jsonl"))) == 40


def test_the_versions_are_those_of_the_installed_packages() -> None:
    found = versions()
    assert {name: metadata.version(name) for name in found if name not in ("python", "platform")} == {
        name: version for name, version in found.items() if name not in ("python", "platform")
    }
    assert {"assay-eval", "msgspec", "numpy"} <= found.keys()


def test_the_first_package_on_the_path_is_the_one_that_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first" / "msgspec-99.1.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "first"))
    monkeypatch.syspath_prepend(str(tmp_path / "not there"))
    assert versions()["msgspec"] == "99.1"


def test_a_run_that_scored_blocks_of_thinking_is_not_resumed_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sums(tmp_path / "sums.jsonl")
    definitions = load_tasks([str(path)])
    model = make_model("stub:<think>2 + 2</think>4", {})
    with monkeypatch.context() as before_thoughts_were_kept_apart:
        before_thoughts_were_kept_apart.setattr(thinking, "without_thinking", lambda completion: completion)
        run_evaluation(definitions, config(), model=model, folder=tmp_path / "run")
    with pytest.raises(UsageError, match=r"resuming would mix two scorings.*--fresh"):
        run_evaluation(definitions, config(), model=model, folder=tmp_path / "run")
    run_evaluation(definitions, config(), model=model, folder=tmp_path / "run", fresh=True)
    run_evaluation(definitions, config(), model=model, folder=tmp_path / "run")
