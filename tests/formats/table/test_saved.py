"""`--save`: the YAML says what the flags said, so that both are the same run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import assay


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "q.csv").write_bytes("frage;soll\nzwei?;2\ncafé?;ja\n".encode("cp1252"))
    (tmp_path / "short.txt").write_text("Kurz: {{ frage }}\n")
    (tmp_path / "long.txt").write_text("Lang: {{ frage }}\n")
    return tmp_path


def test_the_saved_task_is_the_same_run(project: Path) -> None:
    prompts = ("--prompt", "short.txt", "--prompt", "long.txt")
    done = assay("run", "data/q.csv", *prompts, "--target", "soll", "--save", "tasks/q.yaml", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "read as Windows-1252, so that line 3 says `café`" in done.stderr
    assert "saved: tasks/q.yaml" in done.stderr
    runs = sorted((project / "runs").iterdir())
    again = assay("run", "tasks/q.yaml", cwd=project)
    assert again.returncode == 0, again.stderr
    assert sorted((project / "runs").iterdir()) == runs
    assert again.stderr.count("no request was sent") == 2


def test_another_file_is_never_overwritten(project: Path) -> None:
    (project / "q.yaml").write_text("mine: true\n")
    done = assay("run", "data/q.csv", "--target", "soll", "--save", "q.yaml", cwd=project)
    assert done.returncode == 2
    assert "there is another file already" in done.stderr
    assert (project / "q.yaml").read_text() == "mine: true\n"
    assert not (project / "runs").exists()
