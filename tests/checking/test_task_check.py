"""Checking a task: a gold answer that ran out of time is named as such."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recipes.made import checked, with_data
from tests.skips import skip_without_sandbox

from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


@with_data
def test_a_gold_answer_that_ran_out_of_time_is_named_as_such(tmp_path: Path) -> None:
    row = {"id": "1", "prompt": "Loop.", "targets": [], "metric": "code_exec"}
    extras = {"tests": ["assert f() == 1"], "solution": "def f():\n    while True: pass", "cpu_seconds": 0.2}
    (tmp_path / "loop.jsonl").write_text(json.dumps({**row, "extras": extras}))
    (definition,) = load_tasks([str(tmp_path / "loop.jsonl")])
    found = checked(build_task(definition))
    if any(finding.problem == "cannot_run_here" for finding in found.findings):
        skip_without_sandbox(found.findings[0].detail)
    assert "timeout: more than 0.2 s of CPU time" in found.findings[0].detail
