"""Somebody's own parts in a project, and a stranger's task outside of it: fixtures of several folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tasks import strangers
from tests.tasks.own_parts import DATASET, OWN, TASK, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder with a task of someone's own parts, and the working directory there or elsewhere."""
    module = f"own_parts_{abs(hash(tmp_path))}"

    def make(*, task: str = TASK, dataset: str = DATASET, inside: bool = True) -> Path:
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / ".git").mkdir()
        (folder / f"{module}.py").write_text(OWN.format(mark=tmp_path / "imported"))
        (folder / "task.yaml").write_text(task.replace("MODULE", module))
        (folder / "letters.yaml").write_text(dataset.replace("MODULE", module))
        (folder / "lines.jsonl").write_text(
            json.dumps({"id": "1", "prompt": "write: HI", "targets": [], "metric": f"{module}:Shouts"}) + "\n"
        )
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(folder if inside else tmp_path / "elsewhere")
        monkeypatch.syspath_prepend(str(folder))  # it could be imported, if anybody tried
        return folder

    return make


@pytest.fixture
def imported(tmp_path: Path) -> Callable[[], bool]:
    return (tmp_path / "imported").exists


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder outside the project, with a task that leaves a mark when its code runs."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "task.yaml").write_text(strangers.TASK % strangers.HOSTILE.replace("'ran'", f"'{tmp_path / 'ran'}'"))
    (folder / "d.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "project").mkdir()
    return folder
