"""Prompts are compared in pairs, for each model, over the samples that both were scored on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.pages.documents.cell_pairs import cell_pairs_document
from assay.pages.markdown import markdown
from assay.results.diff.comparison import diff
from assay.results.report_settings import View
from assay.results.standings.cells import compare_cells
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks


class Answers:
    """Right on the first so many samples; fails on the last ones when told."""

    def __init__(self, name: str, right: int, failing: int = 0) -> None:
        self.name, self._right, self._failing = name, right, failing

    def generate(self, prompts: list[str]) -> list[str]:
        number = int(prompts[0])
        if number >= 20 - self._failing:
            raise ValueError("down")
        return ["yes" if number < self._right else "no"]


def run(folder: Path, prompt: str | None, model: Answers, task: str = "quiz") -> Path:
    path = folder / f"{task}.jsonl"
    rows = [{"id": str(n), "prompt": str(n), "targets": ["yes"], "metric": "exact_match"} for n in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = RunConfig(prompt=prompt, cache=False, retries=0, batch_size=1)
    made = folder / f"{model.name}-{prompt}-{task}"
    run_evaluation(load_tasks([str(path)]), config, model=model, folder=made)
    return made


def test_every_pair_of_prompts_of_a_model_is_compared_as_diff_would(tmp_path: Path) -> None:
    runs = [run(tmp_path, name, Answers("m", right)) for name, right in (("a", 4), ("b", 16), ("c", 16))]
    runs.append(run(tmp_path, "a", Answers("other", 3)))
    runs.append(run(tmp_path, None, Answers("m", 3)))
    pairs = compare_cells(runs, View())
    assert [(pair.model, pair.a, pair.b) for pair in pairs] == [("m", "a", "b"), ("m", "a", "c"), ("m", "b", "c")]
    assert [pair.difference for pair in pairs] == pytest.approx([0.6, 0.6, 0.0])
    alone = diff(runs[0], runs[1], View()).tasks[0].comparison
    assert alone is not None
    assert pairs[0].p_value == pytest.approx(alone.p_value)
    assert pairs[0].adjusted_p == pytest.approx(3 * alone.p_value)
    assert [pair.significant for pair in pairs] == [True, True, False]
    table = markdown(cell_pairs_document(pairs, 0.95))
    assert "| m     | a   | b   | +0.600 *" in table


def test_runs_of_different_tasks_are_no_pair(tmp_path: Path) -> None:
    model = Answers("m", 4)
    runs = [run(tmp_path, prompt, model, task) for task in ("quiz", "exam") for prompt in ("a", "b")]
    pairs = compare_cells(runs, View())
    assert [(Path(pair.run_a).name, Path(pair.run_b).name) for pair in pairs] == [
        ("m-a-quiz", "m-b-quiz"), ("m-a-exam", "m-b-exam"),
    ]  # fmt: skip


def test_failed_attempts_are_reported_next_to_the_comparison(tmp_path: Path) -> None:
    runs = [run(tmp_path, "a", Answers("m", 4)), run(tmp_path, "b", Answers("m", 4, failing=5))]
    (pair,) = compare_cells(runs, View())
    assert pair.difference == pytest.approx(0.0)
    assert pair.reason is not None
    assert "quiz" in markdown(cell_pairs_document([pair], 0.95)).splitlines()[-1]
