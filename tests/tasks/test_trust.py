"""Whose code runs, and what a hostile file can do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import assay

TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: d}
  solver: {type: python, run_solver_snippet: "%s"}
  scorers: [{type: string_equals, ground_truth: x}]
"""
HOSTILE = "open('ran', 'w').close()\\nasync def run_solver(sample, model, trace): return 'x'"


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder outside the project, with a task that leaves a mark when its code runs."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "task.yaml").write_text(TASK % HOSTILE.replace("'ran'", f"'{tmp_path / 'ran'}'"))
    (folder / "d.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "project").mkdir()
    return folder


def test_code_of_another_project_asks_for_trust(stranger: Path, tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    for verb in ("validate", "show", "list"):
        assert assay(verb, stranger / "task.yaml", cwd=project).returncode == 0
        assert not mark.exists()
    refused = assay("run", stranger / "task.yaml", cwd=project)
    assert refused.returncode == 2
    assert "--trust" in refused.stderr
    assert "run_solver_snippet" in refused.stderr
    assert not mark.exists()
    assert not (project / "runs").exists()
    assert assay("run", stranger / "task.yaml", "--trust", cwd=project).returncode == 0
    assert mark.exists()


def test_ones_own_code_runs_without_asking(stranger: Path) -> None:
    assert assay("run", "task.yaml", cwd=stranger).returncode == 0


def test_checking_strangers_code_does_not_run_it(stranger: Path, tmp_path: Path) -> None:
    assay("check", stranger / "task.yaml", cwd=tmp_path / "project")
    assert not (tmp_path / "ran").exists()


def test_a_model_that_is_code_asks_for_trust_too(stranger: Path, tmp_path: Path) -> None:
    (stranger / "judge.yaml").write_text(
        "key: j\ndisplay_name: J\nconfig: {connection_type: assay, model: 'command:touch ran'}\n"
    )
    (stranger / "task.yaml").write_text(
        'key: t\ndisplay_name: T\ndescription: ""\ndefinition:\n  dataset: {key: d}\n'
        "  solver: {type: pass_through_solver, trace_column: a}\n"
        "  scorers: [{type: labeler_via_model, model_key: j, user_prompt: x}]\n"
    )
    done = assay("run", stranger / "task.yaml", cwd=tmp_path / "project")
    assert done.returncode == 2
    assert "--trust" in done.stderr


def test_a_rescored_run_of_a_stranger_does_not_run_its_code(stranger: Path, tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    assert assay("run", "task.yaml", "--run-dir", "run", cwd=stranger).returncode == 0
    mark.unlink()
    (stranger / "task.yaml").unlink()
    done = assay("rescore", stranger / "run", "--run-dir", "again", cwd=project)
    assert done.returncode == 2
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("key: !include /etc/passwd\n", "outside the project"),
        ("$ref: ../../etc/passwd\n", "outside the project"),
        ("a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 8)}]\n" for n in range(12)
        ), "aliases expanded"),
        ("[" * 20000, "levels deep"),
        ("key: t\nkey: u\n", "given twice"),
        ("definition:\n  solver: {type: multi_turn_solver}\n", "needs the field"),
        ("\x00", "not valid YAML"),
    ],
)  # fmt: skip
def test_hostile_files_get_a_sentence_and_exit_code_2(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    for verb in ("validate", "run"):
        done = assay(verb, "bad.yaml", cwd=tmp_path)
        assert done.returncode == 2
        assert says in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_validate_tells_place_and_remedy_of_every_yaml_file_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text("key: m\ndisplay_name: M\nconfig: {url: x, modle_key: y}\n")
    done = assay("validate", "models", cwd=tmp_path)
    assert done.returncode == 2
    assert "models/m.yaml:3:18" in done.stdout
    assert "Did you mean `model_key`?" in done.stdout


def test_the_schema_is_printed_for_editors(tmp_path: Path) -> None:
    import json

    done = assay("schema", "task", cwd=tmp_path)
    assert json.loads(done.stdout)["title"] == "assay task file"
