"""Trust is in a content: a changed or misplaced file has to be trusted again."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.commands import assay


def test_trust_is_remembered_by_content_and_a_changed_file_needs_it_again(stranger: Path, tmp_path: Path) -> None:
    project, mark, home = tmp_path / "project", tmp_path / "ran", str(tmp_path / "home")
    shown = assay("trust", stranger / "task.yaml", "--show", cwd=project, ASSAY_HOME=home)
    assert "run the Python `open(" in shown.stdout
    assert assay("run", stranger / "task.yaml", cwd=project, ASSAY_HOME=home).returncode == 2
    told = assay("trust", stranger / "task.yaml", cwd=project, ASSAY_HOME=home)
    assert told.returncode == 0
    assert "solver solver.run_solver_snippet" in told.stdout
    assert not mark.exists()
    assert str(stranger / "task.yaml") in assay("trust", "--list", cwd=project, ASSAY_HOME=home).stdout
    assert assay("run", stranger / "task.yaml", cwd=project, ASSAY_HOME=home).returncode == 0
    assert mark.exists()
    mark.unlink()
    with (stranger / "task.yaml").open("a") as file:
        file.write("# one more line\n")
    assert assay("run", stranger / "task.yaml", cwd=project, ASSAY_HOME=home).returncode == 2
    assert not mark.exists()
    assay("trust", stranger / "task.yaml", cwd=project, ASSAY_HOME=home)
    assay("trust", stranger / "task.yaml", "--forget", cwd=project, ASSAY_HOME=home)
    assert assay("run", stranger / "task.yaml", cwd=project, ASSAY_HOME=home).returncode == 2
    assert not mark.exists()


def test_files_that_change_places_need_trust_again(stranger: Path, tmp_path: Path) -> None:
    """What was read as a text must not become the code."""
    project, mark, home = tmp_path / "project", tmp_path / "ran", str(tmp_path / "home")
    code, text = stranger / "score.py", stranger / "rubric.txt"
    (stranger / "t.yaml").write_text(
        "key: t\ndisplay_name: T\ndescription: !include rubric.txt\ndefinition:\n  dataset: {key: d}\n"
        "  solver: {type: pass_through_solver, trace_column: a}\n"
        "  scorers: [{type: python, compute_scores_snippet: !include score.py}]\n"
    )
    code.write_text("def compute_scores(sample, solver_output):\n    return {'score': 1.0}\n")
    text.write_text(f"open({str(mark)!r}, 'w').close()\n{code.read_text()}")
    assert assay("trust", stranger / "t.yaml", cwd=project, ASSAY_HOME=home).returncode == 0
    moved = tmp_path / "moved"
    stranger.rename(moved)
    assay("run", moved / "t.yaml", cwd=project, ASSAY_HOME=home)
    assert (project / "runs").exists()  # the same content elsewhere is trusted too
    kept = (moved / "score.py").read_text()
    (moved / "score.py").write_text((moved / "rubric.txt").read_text())
    (moved / "rubric.txt").write_text(kept)
    assert assay("run", moved / "t.yaml", "--fresh", cwd=project, ASSAY_HOME=home).returncode == 2
    assert not mark.exists()
