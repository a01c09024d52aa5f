"""What is printed of several results: the grid of a table, which the summary of a workflow gets too."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.main import main


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "cities.csv"
    path.write_text("country,capital\nFrance,Paris\nPeru,Lima\n")
    return path


def test_a_grid_is_in_the_step_summary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    models = ["--model", "stub:Paris", "--model", "stub:Lima"]
    assert main(["run", "cities.csv", "--prompt", "{{ country }}", "--target", "capital", *models]) == 0
    said = (tmp_path / "summary.md").read_text().partition("## assay: grid")[2]
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "| 1 | France | Paris | ✓ | ✗ Lima |" in rows
    assert "| 2 | Peru | Lima | ✗ Paris | ✓ |" in rows
    assert "rank" in said
    assert "4 answers in " in capsys.readouterr().err


def test_a_flaky_column_says_its_cause_and_ranks_are_over_what_all_share(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torn.py").write_text(
        "def model(prompt):\n    if 'Peru' in prompt: raise ValueError('down')\n    return 'Paris'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    command = ["run", "cities.csv", "--prompt", "{{ country }}", "--target", "capital", "--retries", "0"]
    assert main([*command, "--model", "torn:model", "--model", "stub:Lima"]) == 3
    said = capsys.readouterr()
    assert "down" in said.err
    assert "the 1 of 2 rows scored by all" in said.out
