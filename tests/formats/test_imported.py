"""What every import has in common: a stranger's file brings only what lies next to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import assay


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (
            "lm-eval",
            "task: t\noutput_type: generate_until\ndoc_to_text: '{{q}}'\ndoc_to_target: '{{q}}'\n"
            "dataset_kwargs: {data_files: {test: 'FILE'}}\n",
        ),
        ("lm-eval", "include: 'FILE'\ntask: t\noutput_type: generate_until\ndoc_to_text: '{{q}}'\n"),
    ],
    ids=["lm-eval data", "lm-eval include"],
)
@pytest.mark.parametrize("named", ["../private/notes.md", ".hidden/notes.md"])
def test_no_file_outside_its_project_becomes_a_prompt(tmp_path: Path, kind: str, config: str, named: str) -> None:
    downloads, project = tmp_path / "downloads", tmp_path / "project"
    for folder in (downloads / ".hidden", project, tmp_path / "private"):
        folder.mkdir(parents=True)
    (downloads / named).write_text('{"q": "a secret of mine"}\n')
    (downloads / "task.yaml").write_text(config.replace("FILE", named))
    done = assay("import", kind, downloads / "task.yaml", "--output", "tasks", cwd=project)
    assert done.returncode == 2
    assert ("leads outside the project" if named.startswith("..") else "is a hidden file") in done.stderr
    assert not list(project.rglob("*.jsonl"))
