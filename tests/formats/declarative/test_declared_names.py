"""What a task names is there, or refused by name: columns, datasets, models, and the results of other tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks

from assay.core.errors import UsageError
from assay.run_config import RunConfig
from assay.runs.entry import evaluate
from assay.runs.evaluate import EvaluationResult
from assay.runs.plan import plan_runs

ROWS = [{"name": "x", "q": "say a", "t": "a"}, {"name": "x", "q": "say b", "t": "b"}]
ASKS = {
    "type": "single_turn_solver",
    "input_builder": {"type": "chat_completion", "input_messages": [{"role": "user", "content": "{{ sample.q }}"}]},
}
EQUALS = {"type": "string_equals", "ground_truth": "{{ sample.t }}"}


def of_rows(body: str, **more: Any) -> dict[str, Any]:
    """A scorer of rows alone."""
    snippet = f"def compute_scores(sample):\n    return {{'v': {body}}}\n"
    return {"type": "python", "compute_scores_snippet": snippet, "metrics": [{"type": "mean", "field": "v"}], **more}


def task(key: str, definition: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"key": key, "display_name": key, "description": "d", "definition": definition, **more}


def about_rows(scorer: dict[str, Any], dataset: dict[str, Any]) -> dict[str, Any]:
    return {"evaluated_entity_type": "dataset", "dataset": dataset, "scorers": [scorer]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "other.jsonl").write_text("".join(json.dumps({**row, "more": 1}) + "\n" for row in ROWS))
    return tmp_path


def write(folder: Path, value: dict[str, Any]) -> Path:
    path = folder / "file.yaml"
    path.write_text(json.dumps(value))
    return path


def parameter(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "key": "p", "display_name": "P", **more}


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "says"),
    [
        ("dataset_column", "name", "nmae", "no row of the dataset has a column `nmae`. Did you mean `name`?"),
        ("dataset", "other", "othre", "there is no dataset `othre`. Did you mean `other`?"),
        ("model", "toy", "tyo", "there is no model `tyo`"),
    ],
)
def test_a_parameter_names_what_is_there(here: Path, kind: str, right: str, wrong: str, says: str) -> None:
    definition = about_rows(of_rows("'<< config.p >>' in sample"), {"key": "data"})
    path = write(here, task("t", definition, config_spec=[parameter(kind)]))
    assert len(read_yaml_tasks(path, config={"p": right})) == 1
    with pytest.raises(UsageError) as error:
        read_yaml_tasks(path, config={"p": wrong})
    assert str(error.value).startswith(f"--config p={wrong}: {says}")
    path = write(here, task("t", definition, config_spec=[parameter(kind, default_value=wrong)]))
    with pytest.raises(UsageError) as error:
        read_yaml_tasks(path)
    assert "config_spec[0].default_value: " + says in str(error.value)


def test_an_empty_value_names_nothing_unless_the_author_has_it_so(here: Path) -> None:
    whole = {**about_rows(of_rows("len('<< config.p >>')"), {"key": "data"})}
    path = write(here, task("t", whole, config_spec=[parameter("dataset_column", default_value="q")]))
    with pytest.raises(UsageError, match="--config p=: no row of the dataset has a column ``"):
        read_yaml_tasks(path, config={"p": ""})
    path = write(here, task("t", whole, config_spec=[parameter("dataset_column", default_value="")]))
    assert read_yaml_tasks(path, config={"p": ""})


def test_a_run_file_names_the_place_of_such_a_value(here: Path) -> None:
    definition = about_rows(of_rows("1"), {"key": "data"})
    specification = {"task_key": "t", "task_config": {"p": "nmae"}}
    run = {
        "tasks": [task("t", definition, config_spec=[parameter("dataset_column")])],
        "evaluation": {"key": "e", "display_name": "E", "task_specifications": [specification]},
    }
    with pytest.raises(UsageError, match=r"evaluation.task_specifications\[0\].task_config.p: no row of the dataset"):
        read_yaml_tasks(write(here, run))


def test_a_row_of_several_datasets_is_under_parameter_and_key(here: Path) -> None:
    spec = [{**parameter("dataset", default_value="data"), "key": "a"}, {**parameter("dataset"), "key": "b"}]
    scorer = of_rows("sample['a']['t'] == sample['data']['t'] == sample['<< config.b >>']['t'] == sample['b']['t']")
    definition = about_rows(scorer, {"keys": ["<< config.a >>", "<< config.b >>"]})
    write(here, task("t", definition, config_spec=spec))
    result = evaluate("file.yaml", task_config={"b": "other"}, trust=True)
    assert result.leaderboard.tasks[0].score == 1.0


def evaluation(*specifications: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    model = {"key": "m", "display_name": "M", "config": {"connection_type": "assay", "model": "stub:a"}}
    own = {"key": "e", "display_name": "E", "task_specifications": list(specifications)}
    return {"models": [model], "tasks": tasks, "evaluation": own}


FIRST = task("first", {"dataset": {"key": "data"}, "solver": ASKS, "scorers": [{**EQUALS, "key": "eq"}]})


def second(body: str, key: str = "first", name: str = "second") -> dict[str, Any]:
    return task(name, about_rows(of_rows(body), {"key": key, "source": "task_result"}))


def scores(result: EvaluationResult) -> dict[str, float | None]:
    return {row.task: row.score for run in result.runs for row in run.leaderboard.tasks}


def test_a_task_over_the_result_of_another_runs_after_it_and_reads_no_older_run(here: Path) -> None:
    evaluate(write(here, {**FIRST}), "stub:b", folder="runs/first")  # an older run of this name
    of_format = (
        "sample['sample']['name'] == 'x'"
        " and sample['scores']['eq']['values']['is_correct'] == (sample['sample']['t'] == 'a')"
        " and sample['solver_output']['output']['choices'][0]['message']['content'] == 'a' and sample['errors'] == []"
    )
    tasks = [
        second("sample['output'] == 'a'"),
        FIRST,
        second(of_format, "second", "third"),
        second(of_format, name="fourth"),
    ]
    tasks[2]["definition"]["scorers"] = [of_rows("sample['scores']['python']['v'] == 1")]
    keys = ("fourth", "third", "second")
    run = evaluation(*({"task_key": key} for key in keys), {"task_key": "first", "model_key": "m"}, tasks=tasks)
    write(here, run)
    result = evaluate("file.yaml", trust=True)
    assert scores(result) == {"first": 0.5, "second": 1.0, "third": 1.0, "fourth": 1.0}
    again = evaluate("file.yaml", trust=True)
    assert [each.folder for each in again.runs] == [each.folder for each in result.runs]


def test_tasks_that_read_each_other_are_refused(here: Path) -> None:
    tasks = [second("1", "third"), second("1", "second", "third")]
    run = evaluation({"task_key": "second"}, {"task_key": "third"}, tasks=tasks)
    with pytest.raises(UsageError, match=r"the tasks read each other's results: `second` reads `third` reads `second`"):
        read_yaml_tasks(write(here, run))


def test_one_result_of_several_models_is_refused(here: Path) -> None:
    write(here, evaluation({"task_key": "second"}, {"task_key": "first", "model_key": "m"}, tasks=[FIRST, second("1")]))
    with pytest.raises(UsageError, match="reads the result of `first`, which 2 runs here have"):
        evaluate("file.yaml", ["stub:a", "stub:b"], trust=True)


def test_a_task_about_data_is_attributed_to_no_model(here: Path) -> None:
    path = write(here, task("t", about_rows(of_rows("1"), {"key": "data"})))
    [run] = plan_runs(read_yaml_tasks(path), RunConfig())
    assert run.config.model == "no-model"
    [run] = plan_runs(read_yaml_tasks(path), RunConfig(), "stub:a")
    assert run.config.model == "stub:a"
