"""Faulty files of every class: each is refused by `assay validate` at the line that is wrong, with what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.faulty_tasks import TASK, faults

from assay.cli.main import main

ROWS = '{"q": "one", "a": "1"}\n{"q": "two", "a": "2"}\n'
MAIN = '    - key: main\n      type: string_equals\n      ground_truth: "{{ sample.a }}"\n'
"""The scorer of the task, to put another in its place."""
JUDGE = (
    '    - {key: main, type: model_as_a_judge_classifier, model_key: toy, user_prompt: "{{ solver_output.output }}", '
)
METRIC = MAIN + "      metrics: "


def scorer(options: str) -> tuple[str, str]:
    return MAIN, f"    - {{key: main, {options}}}\n"


def spec(parameter: str) -> tuple[str, str]:
    return "definition:", f"config_spec: [{{key: p, display_name: P, {parameter}}}]\ndefinition:"


def action(filter_: str) -> tuple[str, str]:
    return '{op: is_true, expression: "{{ scores.main.is_correct }}"}', f"{{{filter_}}}"


SOLVER = "type: single_turn_solver"
FILES: dict[str, tuple[str, str, str]] = {
    "no key": ("key: t\n", "", "key"),
    "empty key": ("key: t", "key: ''", "key"),
    "key with a space": ("key: t", "key: t u", "key"),
    "long key": ("key: t", f"key: {'t' * 251}", "key"),
    "key of digits": ("key: t", "key: 12", "key"),
    "key given twice": ("key: t", "key: t\nkey: u", "key"),
    "empty name": ("display_name: T", "display_name: ''", "display_name"),
    "name of a list": ("display_name: T", "display_name: [T]", "display_name"),
    "null description": ('description: ""', "description: null", "description"),
    "unknown field": ('description: ""', "describtion: x", "description"),
    "tabs": ('description: ""', "\tdescription: x", "tab"),
    "open quote": ('description: ""', 'description: "x', "not valid YAML"),
    "open list": ('description: ""', "tags: [a", "expected ',' or ']'"),
    "undefined anchor": ('description: ""', "description: *none", "undefined alias"),
    "two documents": ('description: ""', "---\ndescription: x", "document"),
    "unknown tag": ('description: ""', "description: !read x", "!read"),
    "file that is not there": ('description: ""', "description: !include none.md", "none.md"),
    "reference that is not there": ("dataset: {key: d}", "dataset: {$ref: none.yaml}", "none.yaml"),
    "reference to a part": ("dataset: {key: d}", 'dataset: {$ref: "#/x"}', "$ref"),
    "reference to an address": ("dataset: {key: d}", 'dataset: {$ref: "http://x.y/z"}', "$ref"),
    "tags that are no list": ('description: ""', "tags: a", "tags"),
    "kind of task": ('description: ""', "tasks: [chat]", "chat_completion"),
    "type of definition": ("definition:\n", "definition:\n  type: benchmark\n", "benchmark_task"),
    "entity": ("definition:\n", "definition:\n  evaluated_entity_type: modell\n", "model"),
    "dataset by its name": ("dataset: {key: d}", "dataset: d", "dataset"),
    "dataset with a slip": ("dataset: {key: d}", "dataset: {kee: d}", "key"),
    "misspelt dataset": ("dataset: {key: d}", "dataset: {key: dd}", "Did you mean `d`"),
    "keys beside key": ("dataset: {key: d}", "dataset: {key: d, keys: [d]}", "keys"),
    "source of a dataset": ("dataset: {key: d}", "dataset: {key: d, source: task_results}", "task_result"),
    "unknown solver": (SOLVER, "type: single_turn", "single_turn_solver"),
    "no solver type": (f"    {SOLVER}\n", "", "type"),
    "field of another solver": (f"    {SOLVER}\n", f"    {SOLVER}\n    trace_column: q\n", "trace_column"),
    "unknown role": ("role: user", "role: usr", "user"),
    "role of a tool": ("role: user", "role: tool", "tool"),
    "no messages": ('\n        - {role: user, content: "{{ sample.q }}"}', " []", "input_messages"),
    "content that is no text": ('content: "{{ sample.q }}"', "content: [1]", "content"),
    "open template": ('content: "{{ sample.q }}"', 'content: "{{ sample.q }"', "template"),
    "unknown filter": ('content: "{{ sample.q }}"', 'content: "{{ sample.q | uper }}"', "upper"),
    "unknown test": ('content: "{{ sample.q }}"', 'content: "{{ sample.q is emty }}"', "emty"),
    "unknown tag of a template": ('content: "{{ sample.q }}"', 'content: "{% iff sample.q %}{% endif %}"', "iff"),
    "unknown variable": ('content: "{{ sample.q }}"', 'content: "{{ smaple.q }}"', "sample"),
    "loop_index outside": ('content: "{{ sample.q }}"', 'content: "{{ loop_index }}"', "loop_index"),
    "unknown parameter": ('content: "{{ sample.q }}"', 'content: "<< config.x >>"', "config.x"),
    "misspelt config": ('content: "{{ sample.q }}"', 'content: "<< cfg.x >>"', "cfg"),
    "secret in a prompt": ('content: "{{ sample.q }}"', 'content: "<< secrets.K >>"', "secrets"),
    "open placeholder": ('content: "{{ sample.q }}"', 'content: "<< config.x "', "config"),
    "unknown scorer": (*scorer("type: string_equal, ground_truth: x"), "string_equals"),
    "scorer without a type": (*scorer("ground_truth: x"), "type"),
    "missing ground truth": (*scorer("type: string_equals"), "ground_truth"),
    "scorers that are no list": ("  scorers:\n" + MAIN, "  scorers: {a: b}\n", "scorers"),
    "repeated scorer": (MAIN, MAIN + MAIN, "main"),
    "purpose": (*scorer("type: string_equals, ground_truth: x, purpose: quality"), "qa"),
    "no labels": (MAIN, JUDGE + "correct_labels: [], incorrect_labels: [n]}\n", "correct_labels"),
    "label of both": (MAIN, JUDGE + "correct_labels: [y], incorrect_labels: [y]}\n", "y"),
    "label that is a number": (MAIN, JUDGE + "correct_labels: [1], incorrect_labels: [n]}\n", "correct_labels"),
    "missing labels": (MAIN, JUDGE + "correct_labels: [y]}\n", "incorrect_labels"),
    "missing judge": (*scorer("type: model_as_a_judge_scorer, user_prompt: x"), "model_key"),
    "range turned": (
        *scorer("type: model_as_a_judge_scorer, model_key: toy, user_prompt: x, score_min: 2, score_max: 1"),
        "score_m",
    ),
    "range of nothing": (
        *scorer("type: model_as_a_judge_scorer, model_key: toy, user_prompt: x, score_min: 1, score_max: 1"),
        "score_m",
    ),
    "rag without a judge": (*scorer("type: rag_checker"), "judge_model_key"),
    "unknown rag score": (*scorer("type: rag_checker, judge_model_key: toy, scores_to_compute: [recal]"), "recall"),
    "mode of coverage": (*scorer('type: function_call_coverage, function_calls: "[]", mode: any'), "any_order"),
    "python that is no python": (*scorer('type: python, compute_scores_snippet: "def f(:"'), "compute_scores_snippet"),
    "python without the function": (*scorer('type: python, compute_scores_snippet: "x = 1"'), "compute_scores"),
    "python of one argument": (
        *scorer('type: python, compute_scores_snippet: "def compute_scores(): return {}"'),
        "compute_scores",
    ),
    "no metrics": (MAIN, METRIC + "[]\n", "computes no number"),
    "metrics by name": (MAIN, METRIC + "[mean]\n", "metrics[0]"),
    "unknown metric": (MAIN, METRIC + "[{type: avg, field: is_correct}]\n", "mean"),
    "metric without a field": (MAIN, METRIC + "[{type: mean}]\n", "field"),
    "metric of nothing": (MAIN, METRIC + "[{type: mean, field: correct}]\n", "is_correct"),
    "underscore of a metric": (MAIN, METRIC + "[{type: binary_classification}]\n", "binary-classification"),
    "repeated metric": (
        MAIN,
        METRIC + "[{type: mean, field: is_correct, key: m}, {type: max, field: is_correct, key: m}]\n",
        "m",
    ),
    "name of a frequency": (MAIN, METRIC + "[{type: frequency, field: is_correct, name: f}]\n", "name"),
    "no weights": (MAIN, METRIC + "[{type: weighted_average, field: is_correct, weights: {}}]\n", "weights"),
    "one label twice": (
        MAIN,
        METRIC
        + "[{type: binary-classification, field_gt: is_correct, field_pred: is_correct, positive_answer: a, "
        + "negative_answer: a}]\n",
        "negative_answer",
    ),
    "unknown action": ("exclude_from_metrics", "exclude", "exclude_from_metrics"),
    "repeated rule": (
        "  actions:\n",
        "  actions:\n    - {key: skip, action: exclude_from_metrics, "
        'filter: {op: exists, expression: "{{ sample.q }}"}}\n',
        "skip",
    ),
    "unknown op": (*action('op: is_tru, expression: "{{ sample.q }}"'), "is_true"),
    "turned op": (*action('op: eqauls, expression: "{{ sample.q }}", value: x'), "equals"),
    "no expression": (*action("op: is_true"), "expression"),
    "no value": (*action('op: equals, expression: "{{ sample.q }}"'), "value"),
    "values of a comparison": (*action('op: equals, expression: "{{ sample.q }}", values: [a]'), "values"),
    "value of a membership": (*action('op: in, expression: "{{ sample.q }}", value: a'), "values"),
    "value of a test": (*action('op: exists, expression: "{{ sample.q }}", value: a'), "value"),
    "score of no scorer": (*action('op: is_true, expression: "{{ scores.mian.is_correct }}"'), "main"),
    "no trials": ("  scorers:\n", "  trials: {num_trials: 0}\n  scorers:\n", "num_trials"),
    "k of no trial": (
        "  scorers:\n",
        "  trials: {num_trials: 2, score_aggregators: [{score_name: is_correct, aggregator: {function: 'pass@k', k: 3, "
        "score_name: p}}]}\n  scorers:\n",
        "k",
    ),
    "unknown aggregator": (
        "  scorers:\n",
        "  trials: {num_trials: 2, score_aggregators: [{score_name: is_correct, aggregator: {function: median}}]}\n"
        "  scorers:\n",
        "function",
    ),
    "type of a parameter": (*spec("type: integer"), "int"),
    "parameter without a type": (*spec("description: x"), "type"),
    "default of another type": (*spec("type: int, default_value: x"), "default_value"),
    "truth as a number": (*spec("type: int, default_value: true"), "default_value"),
    "default below": (*spec("type: float, min: 1, default_value: 0"), "default_value"),
    "range of a parameter": (*spec("type: float, min: 2, max: 1"), "m"),
    "nothing allowed": (*spec("type: categorical, allowed_values: []"), "allowed_values"),
    "allowed twice": (*spec("type: categorical, allowed_values: [a, a]"), "allowed_values"),
    "default that is not allowed": (*spec("type: categorical, allowed_values: [a], default_value: b"), "default_value"),
    "list of what": (*spec("type: list"), "dtype"),
    "dtype": (*spec("type: list, dtype: int"), "integer"),
    "kind of string": (*spec("type: string, string_kind: markdown"), "freeform"),
    "parameter twice": (
        "definition:",
        "config_spec: [{key: p, display_name: P, type: int}, {key: p, display_name: P, type: int}]\ndefinition:",
        "p",
    ),
    "old code": ("  scorers:\n", "  code: x\n  scorers:\n", "code"),
}


@pytest.mark.parametrize(("old", "new", "named"), FILES.values(), ids=FILES)
def test_a_faulty_task_is_refused_at_its_line(tmp_path: Path, old: str, new: str, named: str) -> None:
    (tmp_path / "d.jsonl").write_text(ROWS)
    assert faults(tmp_path, TASK) == []
    assert old in TASK
    told = faults(tmp_path, TASK.replace(old, new, 1))
    assert told
    assert any(named in line for line in told), told
    assert all(line.startswith("task.yaml:") for line in told), told


RUN = """\
models: [toy]
tasks: [{$ref: task.yaml}]
evaluation: {key: e, display_name: E, task_specifications: [{task_key: t, model_key: toy}]}
policies:
  - key: p
    display_name: P
    rules: [{key: r, definition: {type: threshold, metric: accuracy, operator: ">=", threshold: 0.5}}]
"""
RUNS: dict[str, tuple[str, str, str]] = {
    "metric of no task": ("accuracy", "acuracy", "Did you mean `accuracy`?"),
    "turned operator": ('">="', '"=>"', "Did you mean `>=`?"),
    "operator of another language": ('">="', '"!="', "is not allowed here"),
    "threshold of text": ("0.5", "half", "threshold"),
    "misspelt model": ("model_key: toy", "model_key: serverr", "Did you mean `server`?"),
    "unknown task": ("task_key: t,", "task_key: tt,", "there is no task `tt`"),
    "no task": ("tasks: [{$ref: task.yaml}]\n", "", "task"),
    "value of no parameter": ("model_key: toy}", "model_key: toy, task_config: {x: 1}}", "no parameter `x`"),
    "no samples": ("model_key: toy}", "model_key: toy, num_samples: 0}", "num_samples"),
    "dataset of a model task": ("model_key: toy}", "model_key: toy, dataset_key: d}", "takes no `dataset_key`"),
    "unknown scope": ("0.5}}]", "0.5}, scope: {task_specification_keys: [u]}}]", "this run has no task `u`"),
    "cache policy": ("display_name: E,", "display_name: E, cache_policy: never,", "cache_policy"),
    "rules of nothing": ("rules: [{", "rules: []\n    xrules: [{", "rules"),
}


@pytest.mark.parametrize(("old", "new", "named"), RUNS.values(), ids=RUNS)
def test_a_faulty_run_file_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text(ROWS)
    Path("task.yaml").write_text(TASK)
    Path("models").mkdir()
    Path("models/m.yaml").write_text("key: server\ndisplay_name: S\nconfig: {url: 'http://127.0.0.1:9/v1'}\n")
    Path("run.yaml").write_text(RUN)
    assert main(["validate", "run.yaml"]) == 0
    assert old in RUN
    Path("run.yaml").write_text(RUN.replace(old, new, 1))
    capsys.readouterr()
    assert main(["validate", "run.yaml"]) == 2
    assert named in capsys.readouterr().out
    assert not Path(".assay").exists()


def test_a_generator_is_refused_by_name(tmp_path: Path) -> None:
    text = "key: g\ndisplay_name: G\ngenerator_specification: {dataset_generator_key: x, num_samples: 3}\n"
    [told, *_] = faults(tmp_path, text)
    assert told.startswith("task.yaml:3:26: generator_specification: what rows a generator makes is not published")
