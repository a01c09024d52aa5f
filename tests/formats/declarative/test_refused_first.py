"""What can be known to be wrong before a model is called is refused before, with its place, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import ASKS, EQUALS, python_scorer, write_task

from assay.core.errors import UsageError
from assay.core.types import Completion, DatasetSpec, Request
from assay.formats.declarative.load import check_yaml_file
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks

ROWS = [{"q": "a", "a": "a"}, {"q": "b", "a": "b"}]


class Unasked:
    name = "unasked"

    async def generate(self, request: Request) -> Completion:
        raise AssertionError("a model was asked")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(path: Path) -> str:
    """Why the task is not run; no model was called and nothing is left behind."""
    with pytest.raises(UsageError) as caught:
        run_evaluation(read_yaml_tasks(path), RunConfig(), model=Unasked(), folder=path.parent / "run")
    assert not (path.parent / "run").exists()
    assert not (path.parent / ".assay").exists()
    return str(caught.value)


FIELDS: list[tuple[dict[str, Any], str, str]] = [
    (EQUALS, "is_corect", "is_correct"),
    ({"type": "bleu", "ground_truth": "x"}, "bleu", "bleu_score"),
    (
        {"type": "labeler_via_model", "model_key": "j", "user_prompt": "x", "valid_labels": ["a"]},
        "labels",
        "label",
    ),
    ({"type": "function_call_coverage", "function_calls": "[]"}, "required_call_coverage", "required_calls_coverage"),
    ({"type": "rag_checker", "judge_model_key": "j", "scores_to_compute": ["recall"]}, "precision", "recall"),
]


@pytest.mark.parametrize(("scorer", "field", "meant"), FIELDS, ids=[each[0]["type"] for each in FIELDS])
def test_a_metric_of_a_value_that_its_scorer_never_gives(
    tmp_path: Path, scorer: dict[str, Any], field: str, meant: str
) -> None:
    path = write_task(tmp_path, ROWS, [{**scorer, "metrics": [{"type": "mean", "field": field}]}])
    with pytest.raises(UsageError) as validated:
        check_yaml_file(path)
    for told in (refused(path), str(validated.value)):
        assert f"this scorer gives no value `{field}`" in told
        assert meant in told
        assert "scorers[0].metrics[0].field" in told


def test_both_fields_of_a_classification_are_looked_up(tmp_path: Path) -> None:
    metric = {"type": "multiclass-classification", "field_gt": "is_correct", "field_pred": "prediction"}
    path = write_task(tmp_path, ROWS, [{**EQUALS, "metrics": [metric]}])
    assert "metrics[0].field_pred: this scorer gives no value `prediction`" in refused(path)


def test_what_a_python_scorer_gives_is_its_own_affair(tmp_path: Path) -> None:
    scorer = python_scorer('{"anything": 1}', metrics=[{"type": "mean", "field": "anything"}])
    assert check_yaml_file(write_task(tmp_path, ROWS, [scorer]))[1] == 1


SNIPPETS = [
    (
        {"type": "python", "compute_scores_snippet": "def compute_score(sample, output):\n    return {}\n"},
        "compute_scores",
    ),
    ({"type": "python_all_samples", "compute_scores_snippet": "x = 1\n"}, "compute_scores"),
    (
        {**EQUALS, "metrics": [{"type": "python", "compute_metrics_snippet": "def metrics(scores): return {}\n"}]},
        "compute_metrics",
    ),
    (
        {"type": "python", "compute_scores_snippet": "def f():\n    def compute_scores(sample, o): pass\n"},
        "compute_scores",
    ),
]


@pytest.mark.parametrize(("scorer", "function"), SNIPPETS)
def test_a_snippet_without_its_function(tmp_path: Path, scorer: dict[str, Any], function: str) -> None:
    path = write_task(tmp_path, ROWS, [scorer])
    assert f"the snippet must define a function `{function}`" in refused(path)
    with pytest.raises(UsageError, match=f"must define a function `{function}`"):
        check_yaml_file(path)


ARITIES = [
    ("compute_scores", "sample, solver_output, x", "demands 3 arguments; it is called with (sample, solver_output)"),
    ("compute_scores", "", "takes no argument; it is called with (sample, solver_output)"),
    ("compute_scores", "sample, *, strict", "demands `strict` by name; it is called with (sample, solver_output)"),
    ("compute_scores", "*samples", None),
    ("compute_scores", "sample", None),
    ("compute_scores", "sample, solver_output, x=1, *, y=2", None),
    ("run_solver", "sample, model", "takes 2 arguments; it is called with (sample, model, trace)"),
    ("run_solver", "sample, model, trace, x", "demands 4 arguments; it is called with (sample, model, trace)"),
    ("run_solver", "sample, model, trace=None", None),
    ("compute_metrics", "scores, k", "demands 2 arguments; it is called with (scores)"),
    ("compute_metrics", "", "takes no argument; it is called with (scores)"),
    ("compute_metrics", "scores", None),
]


@pytest.mark.parametrize(("function", "parameters", "problem"), ARITIES)
def test_how_many_arguments_a_function_takes_is_known_before_it_is_called(
    tmp_path: Path, function: str, parameters: str, problem: str | None
) -> None:
    snippet = f"import re\n\ndef {function}({parameters}):\n    return {{}}\n"
    scorer: dict[str, Any] = EQUALS
    solver = {}
    if function == "compute_scores":
        scorer = {"type": "python", "compute_scores_snippet": snippet}
    elif function == "compute_metrics":
        scorer = {**EQUALS, "metrics": [{"type": "python", "compute_metrics_snippet": snippet}]}
    else:
        solver = {"solver": {"type": "python", "run_solver_snippet": snippet}}
    path = write_task(tmp_path, ROWS, [scorer], **solver)
    if problem is None:
        assert check_yaml_file(path).good == 1
        return
    with pytest.raises(UsageError) as refused:
        check_yaml_file(path)
    assert f"line 3 of the snippet: `{function}({parameters})` {problem}" in str(refused.value)


def test_a_function_that_something_else_gives_may_take_anything(tmp_path: Path) -> None:
    for snippet in (
        "def wrap(f): return lambda *a: f()\n@wrap\ndef compute_scores(): pass\n",
        "def compute_scores(): pass\ncompute_scores = lambda sample: {'v': 1}\n",
        "def compute_scores(): pass\nfrom own import *\n",
    ):
        assert check_yaml_file(write_task(tmp_path, ROWS, [{"type": "python", "compute_scores_snippet": snippet}])).good


def test_a_solver_without_its_function(tmp_path: Path) -> None:
    solver = {"type": "python", "run_solver_snippet": "def solve(sample, model): return ''\n"}
    assert "must define a function `run_solver`" in refused(write_task(tmp_path, ROWS, [EQUALS], solver=solver))


DEFINED = [
    "async def compute_scores(sample, solver_output): return {}",
    "try:\n    import numpy\nexcept ImportError:\n    def compute_scores(sample, o): return {}",
    "compute_scores = lambda sample, o: {}",
    "from my_scorers import compute_scores",
    "from my_scorers import score as compute_scores",
    "from my_scorers import *",
]


@pytest.mark.parametrize("source", DEFINED)
def test_a_function_may_be_defined_in_any_way_that_python_knows(tmp_path: Path, source: str) -> None:
    scorer = {"type": "python", "compute_scores_snippet": source, "metrics": [{"type": "mean", "field": "v"}]}
    assert check_yaml_file(write_task(tmp_path, ROWS, [scorer]))[1] == 1


def test_no_samples(tmp_path: Path) -> None:
    path = write_task(tmp_path, [], [EQUALS])
    assert "task `t` has no samples" in refused(path)
    (tmp_path / "rows.jsonl").unlink()
    (tmp_path / "rows.csv").write_text("q,a\n")
    assert "task `t` has no samples" in refused(path)
    (tmp_path / "rows.csv").write_text("q,a\nb,b\n")
    empty = DatasetSpec(use="inline", options={"name": "rows", "samples": []})
    with pytest.raises(UsageError, match="task `t` has no samples"):
        build_task(msgspec.structs.replace(read_yaml_tasks(path)[0], dataset=empty))


def test_a_filter_that_keeps_nothing(tmp_path: Path) -> None:
    path = write_task(tmp_path, ROWS, [EQUALS])
    (tmp_path / "rows.jsonl").rename(tmp_path / "data.jsonl")
    (tmp_path / "rows.yaml").write_text(
        "key: rows\ndisplay_name: R\nsource:\n  type: local\n  file_path: data.jsonl\n"
        "  filters: [{op: equals, expression: '{{ sample.q }}', value: nothing}]\n"
    )
    assert "task `t` has no samples" in refused(path)


def test_a_file_of_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UsageError):
        run_evaluation(load_tasks([str(tmp_path / "empty.jsonl")]), RunConfig(), model=Unasked(), folder=tmp_path / "r")


def test_a_sample_id_that_is_given_twice(tmp_path: Path) -> None:
    rows = [{"sample_id": name, **row} for name, row in zip(("x", "x"), ROWS, strict=True)]
    assert "row 2: the sample_id `x` is given twice" in refused(write_task(tmp_path, rows, [EQUALS]))


def test_a_score_range_beyond_every_number(tmp_path: Path) -> None:
    rating = {"type": "model_as_a_judge_scorer", "model_key": "j", "user_prompt": "x", "score_max": 10**400}
    assert "scorers[0].score_max: expected a number" in refused(write_task(tmp_path, ROWS, [rating], solver=ASKS))


def test_a_dataset_without_samples_is_an_error_at_its_key(tmp_path: Path) -> None:
    path = write_task(tmp_path, [], [EQUALS])
    assert "definition.dataset.key: task `t` has no samples" in refused(path)
    assert refused(path).startswith(f"{path}:1:")


def test_broken_files_that_a_task_names_come_with_what_is_wrong_with_the_task(tmp_path: Path) -> None:
    judges = [
        {"type": "labeler_via_model", "key": f"s{model}", "model_key": model, "user_prompt": "{{ smaple.q }}"}
        for model in ("torn", "odd")
    ]
    path = write_task(tmp_path, ROWS, [*judges, {**EQUALS, "metrics": [{"type": "mean", "field": "x"}]}])
    path.write_text(path.read_text().replace('"key": "rows"', '"key": "strange"'))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "torn.yaml").write_text("key: torn\nconfig: {url: [1\n")
    (tmp_path / "models" / "odd.yaml").write_text("key: odd\ndisplay_nam: O\nconfig: {url: 'http://x/v1'}\n")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "s.yaml").write_text("key: strange\ndisplay_name: S\nsource: {type: locl}\n")
    found = refused(path)
    assert found.count("the template reads `smaple`") == 2
    for wrong in (
        "this scorer gives no value `x`",
        "source.type: unknown dataset source `locl`. Did you mean `local`?",
        "models/torn.yaml:3:1: not valid YAML",
        "display_nam: unknown field of a model. Did you mean `display_name`?",
    ):
        assert wrong in found
    path.write_text(path.read_text().replace("smaple", "sample").replace('"field": "x"', '"field": "is_correct"'))
    again = refused(path)
    assert "not valid YAML" in again
    assert "`locl`" in again
    assert "display_nam" in again


def test_faults_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    scorers = [{**EQUALS, "key": "same"}, {**EQUALS, "key": "same"}, {**EQUALS, "key": "z", "ground_truth": "{{ x }}"}]
    path = write_task(tmp_path, ROWS, scorers)
    columns = [int(line.split(":")[2]) for line in refused(path).splitlines()]
    assert columns == sorted(columns)
    assert len(columns) == 2


def test_a_filter_that_a_row_breaks_is_reported_at_its_place_in_the_dataset_file(tmp_path: Path) -> None:
    path = write_task(tmp_path, ROWS, [EQUALS])
    (tmp_path / "rows.jsonl").rename(tmp_path / "data.jsonl")
    (tmp_path / "rows.yaml").write_text(
        "key: rows\ndisplay_name: R\nsource:\n  type: local\n  file_path: data.jsonl\n"
        "  filters: [{op: greater_than, expression: '{{ sample.q }}', value: 1}]\n"
    )
    expected = "rows.yaml:6:13: source.filters[0]: `greater_than` compares numbers, got 'a' (row 1)"
    assert refused(path).endswith(expected)
    assert "task.yaml" not in refused(path)


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ({"type": "mean", "field": "label"}, "`label` is a text, which has no mean; a `frequency` is the share"),
        ({"type": "max", "field": "label"}, "`label` is a text, which has no max"),
        (
            {"type": "precision", "num_true_positives_field": "label", "num_false_positives_field": "label"},
            "no precision",
        ),
        (
            {"type": "binary-classification", "field_gt": "label", "field_pred": "label"}
            | {"positive_answer": "spma", "negative_answer": "ham"},
            "positive_answer: `spma` is not among `valid_labels`. Did you mean `spam`?",
        ),
        ({"type": "frequency", "field": "label", "label": "spam"}, None),
        ({"type": "weighted_average", "field": "label", "weights": {"spam": 1, "ham": 0}}, None),
    ],
)
def test_a_metric_of_labels_that_could_give_no_number(tmp_path: Path, metric: dict[str, Any], says: str | None) -> None:
    labeler = {"type": "labeler_via_model", "model_key": "j", "user_prompt": "x", "valid_labels": ["spam", "ham"]}
    path = write_task(tmp_path, ROWS, [{**labeler, "metrics": [metric]}])
    if says is None:
        assert check_yaml_file(path).good == 1
        return
    with pytest.raises(UsageError) as refused:
        check_yaml_file(path)
    assert says in str(refused.value)
