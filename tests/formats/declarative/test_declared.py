"""What a task declares is listed with what it became: before a run, in it, and where two runs are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import EQUALS, run_task, write_task

from assay.cli.main import main
from assay.results.diff.comparison import diff
from assay.run_file import read_run_file

ROWS = [{"q": "a", "a": "a"}, {"q": "b", "a": "x"}]
RULE = {
    "key": "skip",
    "action": "exclude_from_metrics",
    "filter": {"op": "equals", "expression": "{{ sample.q }}", "value": "b"},
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(folder: Path, *, k: int = 2) -> Path:
    judge = {
        "type": "model_as_a_judge_classifier",
        "key": "judge",
        "model_key": "toy",
        "user_prompt": "{{ sample.q }} << config.tone >>",
        "correct_labels": ["a"],
        "incorrect_labels": ["b"],
    }
    metric = {"type": "mean", "field": "both", "name": "steady"}
    path = write_task(folder, ROWS, [{**EQUALS, "metrics": [metric]}, judge])
    task = json.loads(path.read_text())
    aggregator = {"score_name": "is_correct", "aggregator": {"function": "pass^k", "k": k, "score_name": "both"}}
    task["definition"] |= {"trials": {"num_trials": 3, "score_aggregators": [aggregator]}, "actions": [RULE]}
    parameter = {"type": "string", "display_name": "P", "default_value": "kind"}
    task["config_spec"] = [{**parameter, "key": "tone"}, {**parameter, "key": "lost"}]
    task |= {"tags": ["smoke"], "long_description": "# At length"}
    path.write_text(json.dumps(task))
    return path


def test_everything_that_is_declared_is_listed_with_what_it_became(tmp_path: Path) -> None:
    [definition] = read_yaml_tasks(written(tmp_path))
    listed = [(each.kind, each.name, each.became) for each in definition.provenance.declared]
    size = f"2 samples, sha256 {definition.dataset.sha256[:12]}"
    assert listed == [
        ("parameter", "tone", "the text `kind`"),
        ("parameter", "lost", "nothing reads it"),
        ("dataset", "rows", f"{definition.dataset.use}, {size}"),
        ("column", "q", "read by solver, judge, skip"),
        ("column", "a", "read by main"),
        ("solver", "single_turn_solver", "chat_completion"),
        ("scorer", "main", "string_equals, 1 metric"),
        ("metric", "main.mean", "mean of both, the pass^k with k = 2 of is_correct as steady"),
        ("scorer", "judge", "model_as_a_judge_classifier, 1 metric"),
        ("metric", "judge.mean", "mean of is_correct as accuracy"),
        ("model", "toy", "toy"),
        ("rule", "skip", "exclude_from_metrics where equals {{ sample.q }}"),
    ]
    assert all(each.place.startswith(str(tmp_path)) for each in definition.provenance.declared)


def test_models_that_a_solver_calls_and_its_examples_are_listed(tmp_path: Path) -> None:
    path = written(tmp_path)
    task = json.loads(path.read_text())
    user = {"type": "chat_message", "role": "user", "content": "{{ sample.q }}"}
    customer = {"type": "generate_message", "model_key": "toy", "output_role": "user", "extra_input_messages": [user]}
    loop = {"type": "loop", "message_builders": [{"type": "generate"}, customer], "max_iterations": 2}
    task["definition"]["solver"] = {"type": "multi_turn_solver", "message_builders": [user, loop]}
    path.write_text(json.dumps(task))
    [definition] = read_yaml_tasks(path)
    listed = [(each.kind, each.name, each.became) for each in definition.provenance.declared]
    assert listed[5:7] == [("solver", "multi_turn_solver", "multi_turn_solver"), ("model", "toy", "toy")]


def test_check_and_show_print_the_list_and_check_names_what_nothing_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path))
    main(["check", path, "--prove"])
    out, err = capsys.readouterr()
    assert "the pass^k with k = 2 of is_correct as steady" in out
    assert "nothing of the task reads the parameter `lost`" in err
    assert "`tone`" not in err
    assert main(["show", path]) == 0
    out = capsys.readouterr().out
    assert "the pass^k with k = 2 of is_correct as steady" in out
    assert "tags: smoke" in out
    assert "# At length" in out


def test_a_run_keeps_the_list_and_a_comparison_names_what_became_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Path] = []
    for k in (2, 3):
        path = written(tmp_path / f"k{k}", k=k)
        monkeypatch.chdir(path.parent)
        run_task(path, repeat=3)
        runs.append(path.parent / "run")
    kept = read_run_file(runs[0]).definitions[0].provenance.declared
    assert "steady" in [each.became.rpartition(" ")[2] for each in kept]
    [task] = diff(runs[0], runs[1]).tasks
    assert task.declared == [
        "metric main.mean: mean of both, the pass^k with k = 2 of is_correct as steady → "
        "mean of both, the pass^k with k = 3 of is_correct as steady"
    ]
