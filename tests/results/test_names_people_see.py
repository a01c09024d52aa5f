"""The names that a YAML task gives itself and its scorers, and what these are for, on every report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.yaml_runs import EQUALS, run_task, write_task

from assay.cli.main import main


def test_names_and_purposes_are_on_every_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scorers = [
        {**EQUALS, "display_name": "Same <text>"},
        {"key": "check", "type": "is_json", "purpose": "qa"},
    ]
    path = write_task(tmp_path, [{"q": "a", "a": "a"}], scorers)
    path.write_text(path.read_text().replace('"display_name": "T"', '"display_name": "Echoes"'))
    row = run_task(path).tasks[0]
    assert row.display_name == "Echoes"
    assert [(each.key, each.purpose, each.display_name) for each in row.scorers] == [
        ("main", "score", "Same <text>"),
        ("check", "qa", None),
    ]
    written = json.loads((tmp_path / "run" / "leaderboard.json").read_text())["tasks"][0]
    assert (written["display_name"], written["scorers"][1]["purpose"]) == ("Echoes", "qa")
    page = (tmp_path / "run" / "report.md").read_text()
    assert "Echoes" in page
    assert "| qa " in page
    assert main(["report", "run", "--output", "page.html"]) == 0
    html = Path("page.html").read_text()
    assert "Echoes" in html
    assert "Same &lt;text&gt;" in html
