"""`assay rescore`: old answers, new targets."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.commands import assay, leaderboard, write_task

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_rescore_uses_the_old_answers_with_new_targets(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", {**SUMS, "compute: 1 + 1": "three"})
    assay("run", task, "--run-dir", "old", cwd=tmp_path)
    write_task(task, SUMS)
    done = assay("rescore", "old", task, "--run-dir", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "scored 10 answers again" in done.stderr
    assert leaderboard(tmp_path / "old")["overall_score"] == 0.9
    assert leaderboard(tmp_path / "new")["overall_score"] == 1.0


IMAGE_TASK = """
key: animals
display_name: Animals
description: d
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder:
      type: generic
      template: >-
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is {{ sample.id }}?"},
        {"type": "image_url", "image_url": {"url": {{ sample.image | tojson }}}}]}]}
  scorers: [{type: string_equals, ground_truth: '{{ sample.gt }}'}]
"""
PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"


def test_a_question_with_an_image_is_the_same_until_the_image_changes(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tmp_path / "assay.yaml").write_text("version: 1\n")
    (tasks / "animals.yaml").write_text(IMAGE_TASK)
    (tasks / "data.jsonl").write_text("".join(f'{{"id": {n}, "image": "{n}.png", "gt": "cat"}}\n' for n in range(3)))
    for number in range(3):
        (tasks / f"{number}.png").write_bytes(PNG)
    assay("run", "tasks/animals.yaml", "--run-dir", "old", cwd=tmp_path)
    for named in ([], ["tasks/animals.yaml"]):
        done = assay("rescore", "old", *named, "--run-dir", f"same-{len(named)}", cwd=tmp_path)
        assert "scored 3 answers again; 0 attempts have no answer" in done.stderr, done.stderr
    (tasks / "1.png").write_bytes(PNG + b"!")
    done = assay("rescore", "old", "tasks/animals.yaml", "--run-dir", "other", cwd=tmp_path)
    assert "scored 2 answers again; 1 attempts have no answer, of which 1 have a different prompt" in done.stderr
