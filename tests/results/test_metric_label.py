"""A word that formats share says which definition it is, wherever a reader meets the number."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay

from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.results.metric_label import metric_label
from assay.runs.run_handle import open_run

YAML = """\
key: strict
display_name: S
description: ""
definition:
  dataset: {key: d}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - {type: exact_match, ground_truth: "{{ sample.a }}", metrics: [{type: mean, field: score, name: exact_match}]}
"""
LABEL = "exact_match (normalized)"


@pytest.mark.parametrize(
    ("metric", "use", "options", "label"),
    [
        ("exact_match", "metric", {"metric": "normalized_exact_match"}, LABEL),
        ("exact_match", "metric", {"metric": "exact_match"}, "exact_match"),
        ("exact_match", "exact_match", {}, "exact_match"),
        ("exact_match", "lm_eval", {"task": "t"}, "exact_match (lm_eval)"),
        ("accuracy", "inspect", {}, "accuracy (inspect)"),
        ("code_exec", "code_exec", {}, "code_exec"),
        ("score_mean", "judge", {}, "score_mean"),
        ("own:metric", "metric", {"metric": "own:metric"}, "own:metric"),
    ],
)
def test_a_word_is_qualified_where_another_part_than_its_own_scored(
    metric: str, use: str, options: dict[str, str], label: str
) -> None:
    scorers = (PartSpec(key=metric, use=use, options=options),)
    definition = TaskDefinition(
        name="t",
        format="any",
        dataset=DatasetSpec(use="inline"),
        solver=PartSpec(key="s", use="single_turn"),
        scorers=scorers,
        aggregates=(),
        metric=metric,
    )
    assert metric_label(definition) == label


def test_every_surface_tells_the_lenient_word_from_the_strict_one(tmp_path: Path) -> None:
    (tmp_path / "lenient.jsonl").write_text('{"id":"1","prompt":"x","targets":["Paris"],"metric":"exact_match"}\n')
    (tmp_path / "strict.yaml").write_text(YAML)
    (tmp_path / "d.jsonl").write_text('{"q": "x", "a": "Paris"}\n')
    done = assay("run", "lenient.jsonl", "strict.yaml", "--model", "stub:paris", "--run-dir", "r", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"| {LABEL} | 1.000" in done.stdout
    assert f"| {'exact_match':{len(LABEL)}} | 0.000" in done.stdout
    rows = {row["task"]: row for row in json.loads((tmp_path / "r" / "leaderboard.json").read_text())["tasks"]}
    assert [(row["metric"], row["metric_definition"]) for row in (rows["lenient"], rows["strict"])] == [
        ("exact_match", LABEL),
        ("exact_match", "exact_match"),
    ]
    exported = assay("export", "r", "--rows", "tasks", cwd=tmp_path).stdout
    assert {row["task"]: row["metric_definition"] for row in csv.DictReader(exported.splitlines())} == {
        "lenient": LABEL,
        "strict": "exact_match",
    }
    exported = assay("export", "r", cwd=tmp_path).stdout
    assert {row["task"]: row["metric_definition"] for row in csv.DictReader(exported.splitlines())} == {
        "lenient": LABEL,
        "strict": "exact_match",
    }
    shown = assay("show", "r", cwd=tmp_path).stdout
    assert f"| {LABEL} |" in shown
    assert f"{LABEL}: score 1.000" in shown
    assert "  exact_match: score 0.000" in shown
    assert f"{LABEL}: score 1.000" in assay("show", "r", "--sample", "1", cwd=tmp_path).stdout
    assert f"{LABEL}: score 1.000" in str(open_run(tmp_path / "r").sample("1", task="lenient"))
    assert LABEL in assay("list", "lenient.jsonl", cwd=tmp_path).stdout
    assert LABEL in (tmp_path / "r" / "report.md").read_text()
    assert assay("report", "r", "--output", "report.html", cwd=tmp_path).returncode == 0
    assert LABEL in (tmp_path / "report.html").read_text()
    assert (
        LABEL
        in assay("show", "exact_match", cwd=tmp_path).stdout
        + assay("show", "normalized_exact_match", cwd=tmp_path).stdout
    )
