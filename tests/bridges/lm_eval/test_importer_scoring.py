"""Scoring of lm-eval's tasks: what is Python is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.cli.main import main

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))


def real(name: str) -> Path:
    if not (path := DATA / name).exists():
        pytest.skip(f"{name} of the published data is not here")
    return path


IFEVAL = r"""
task: ifeval
dataset_path: google/IFEval
output_type: generate_until
test_split: train
num_fewshot: 0
doc_to_text: prompt
doc_to_target: 0
generation_kwargs: {until: [], do_sample: false, temperature: 0.0, max_gen_toks: 1280}
process_results: !function utils.process_results
metric_list:
  - {metric: prompt_level_strict_acc, aggregation: mean, higher_is_better: true}
  - {metric: inst_level_strict_acc, aggregation: !function utils.agg_inst_level_acc, higher_is_better: true}
"""


def test_a_task_whose_scoring_is_python_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = real("ifeval/input_data.jsonl")
    (tmp_path / "ifeval.yaml").write_text(IFEVAL)
    out = tmp_path / "out"
    typed = ["import", "lm-eval", str(tmp_path / "ifeval.yaml"), "--data", str(data), "--output", str(out)]
    assert main(typed) == 2
    assert not out.exists()
    message = capsys.readouterr().err
    for reason in ("process_results: !function utils.process_results", "metric prompt_level_strict_acc", "--partial"):
        assert reason in message
    assert main([*typed, "--partial"]) == 0
    assert [path.name for path in sorted(out.iterdir())] == ["ifeval-partial.jsonl", "import.json"]
