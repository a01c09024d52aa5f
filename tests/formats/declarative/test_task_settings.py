"""What a task, a model file or a run file says about asking: settings, trials, columns to slice by, policies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import ASKS, EQUALS, run_task, write_task

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.types import Completion, Request
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.runs.gates import Gates
from assay.runs.plan import plan_runs

ROWS = [
    {"q": "a", "a": "a", "kind": "easy"},
    {"q": "b", "a": "x", "kind": "hard"},
    {"q": "c", "a": "x", "kind": "hard"},
]


class RecordingModel:
    name = "listening"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(text=request.text())


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


GENERIC = {
    "type": "single_turn_solver",
    "input_builder": {"type": "generic", "template": '{"messages": [{"role": "user", "content": "x"}], "seed": 9}'},
}
TURNS = {
    "type": "multi_turn_solver",
    "message_builders": [{"type": "chat_message", "role": "user", "content": "x"}, {"type": "generate"}],
}


@pytest.mark.parametrize(("solver", "seed"), [(ASKS, 7), (GENERIC, 9), (TURNS, 7)])
def test_a_task_says_how_the_model_answers(tmp_path: Path, solver: dict[str, Any], seed: int) -> None:
    settings = {"temperature": 0.5, "max_tokens": 12, "stop": ["\n"], "seed": 7}
    path = write_task(tmp_path, ROWS[:1], [EQUALS], solver={**solver, "generation": settings})
    model = RecordingModel()
    run_evaluation(read_yaml_tasks(path), RunConfig(top_p=0.9), model=model, folder=tmp_path / "run")
    [request] = model.asked
    assert (request.temperature, request.max_tokens, request.stop, request.seed) == (0.5, 12, ("\n",), seed)
    assert request.top_p == 0.9
    with pytest.raises(UsageError, match=r"--temperature has no effect here: every task here sets its own \(t: 0\.5\)"):
        run_evaluation(read_yaml_tasks(path), RunConfig(temperature=1.0), model=model, folder=tmp_path / "run")


def test_columns_of_a_dataset_are_slices_and_clusters(tmp_path: Path) -> None:
    path = write_task(tmp_path, ROWS, [EQUALS])
    board = run_task(path, by=("sample.kind",), group_by="sample.kind")
    slices = {each.value: each.score for each in board.tasks[0].slices}
    assert slices == {"easy": 1.0, "hard": 0.0}
    assert "cluster" in board.tasks[0].signature


def test_long_texts_and_lists_are_no_slices(tmp_path: Path) -> None:
    run_task(write_task(tmp_path, [{"q": "x" * 100, "a": "a", "n": 1, "l": [1]}], [EQUALS]))
    record = json.loads((tmp_path / "run" / "journal.jsonl").read_text().splitlines()[0])
    assert record["metadata"] == {"sample": {"a": "a", "n": 1}}


def trials(path: Path, **more: Any) -> Path:
    task = json.loads(path.read_text())
    task["definition"]["trials"] = {"num_trials": 3} | more
    path.write_text(json.dumps(task))
    return path


def test_trials_are_attempts_with_pass_at_k(tmp_path: Path) -> None:
    definitions = read_yaml_tasks(trials(write_task(tmp_path, ROWS, [EQUALS])))
    [run] = plan_runs(definitions, RunConfig())
    assert run.config.repeat == 3
    board = run_evaluation(run.definitions, run.config, model=RecordingModel(), folder=tmp_path / "run").leaderboard
    assert board.tasks[0].total == 9
    assert {"pass@3", "pass^3"} <= {each.name for each in board.tasks[0].repetitions}
    assert plan_runs(definitions, RunConfig(repeat=5))[0].config.repeat == 5


AGGREGATOR = {"score_name": "is_correct", "aggregator": {"function": "pass^k", "k": 3, "score_name": "pass^3"}}


class Draws:
    """Right in the first so many draws of a sample that its question says."""

    name = "draws"

    def __init__(self) -> None:
        self.drawn: Counter[str] = Counter()

    async def generate(self, request: Request) -> Completion:
        question = str((request.messages or ())[-1].content)
        self.drawn[question] += 1
        return Completion(text="a" if self.drawn[question] <= int(question[-1]) else "b")


def test_a_metric_over_trials_is_the_declared_number(tmp_path: Path) -> None:
    rows = [{"q": f"{name} {right}", "a": "a"} for name, right in zip("wxyz", (5, 4, 2, 0), strict=True)]
    metrics = [{"type": "mean", "field": "pass^3", "name": "Reliability"}, {"type": "mean", "field": "is_correct"}]
    path = trials(
        write_task(tmp_path, rows, [{**EQUALS, "metrics": metrics}]), num_trials=5, score_aggregators=[AGGREGATOR]
    )
    [planned] = plan_runs(read_yaml_tasks(path), RunConfig())
    board = run_evaluation(planned.definitions, planned.config, model=Draws(), folder=tmp_path / "run").leaderboard
    [row] = board.tasks
    assert (row.metric, row.score) == ("Reliability", pytest.approx(0.35))
    assert [(each.name, each.value) for each in row.aggregates] == [
        ("Reliability", pytest.approx(0.35)),
        ("is_correct_mean", pytest.approx(0.55)),
    ]
    assert (row.scored, row.unscored, row.total) == (20, 0, 20)


def test_a_number_over_trials_that_no_metric_reads_is_reported_as_its_mean(tmp_path: Path) -> None:
    worst = {"score_name": "is_correct", "aggregator": {"function": "min"}}
    path = trials(write_task(tmp_path, ROWS, [EQUALS]), score_aggregators=[AGGREGATOR, worst])
    [definition] = read_yaml_tasks(path)
    assert [part.options.get("name") for part in definition.aggregates] == ["accuracy", "pass^3", "min_is_correct"]
    assert not definition.provenance.warnings


def test_what_cannot_be_computed_over_trials_is_refused(tmp_path: Path) -> None:
    def refused(*aggregators: dict[str, Any], field: str = "is_correct", num_trials: int = 3) -> str:
        scorer = {**EQUALS, "metrics": [{"type": "mean", "field": field}]}
        path = trials(write_task(tmp_path, ROWS, [scorer]), num_trials=num_trials, score_aggregators=list(aggregators))
        with pytest.raises(UsageError) as error:
            read_yaml_tasks(path)
        return str(error.value)

    def aggregator(function: str, value: str = "is_correct", **more: Any) -> dict[str, Any]:
        return {"score_name": value, "aggregator": {"function": function, **more}}

    assert "`pass^3` is over 3 attempts, and `num_trials` is 2" in refused(AGGREGATOR, num_trials=2)
    assert "gives no value `pass^4`" in refused(AGGREGATOR, field="pass^4")
    assert "no scorer gives a value `is_corect`" in refused(aggregator("mean", "is_corect"))
    assert "needs `k`" in refused(aggregator("pass@k"))
    assert "`mean` has no `k`" in refused(aggregator("mean", k=2))
    assert "given twice" in refused(AGGREGATOR, AGGREGATOR)
    assert "`median` is not allowed here" in refused(aggregator("median"))
    assert "call it otherwise" in refused(aggregator("mean", score_name="is_correct"))


def test_fewer_repetitions_than_a_metric_needs_are_refused(tmp_path: Path) -> None:
    path = trials(write_task(tmp_path, ROWS, [EQUALS]), score_aggregators=[AGGREGATOR])
    with pytest.raises(UsageError, match=r"`pass\^3` is over 3 attempts at each sample, and --repeat makes 2"):
        plan_runs(read_yaml_tasks(path), RunConfig(repeat=2), given={"repeat"})


def test_a_specification_may_give_the_trials_that_a_metric_of_its_task_reads(tmp_path: Path) -> None:
    path = run_file(tmp_path, scorers=[{**EQUALS, "metrics": [{"type": "mean", "field": "pass^3"}]}])
    content = json.loads(path.read_text())
    content["evaluation"]["task_specifications"][0]["trials"] = {"num_trials": 4, "score_aggregators": [AGGREGATOR]}
    path.write_text(json.dumps(content))
    [definition] = read_yaml_tasks(path)
    assert definition.plan.trials == 4
    assert [(part.use, part.options["name"]) for part in definition.aggregates] == [("over_trials", "pass^3_mean")]


def run_file(folder: Path, **more: Any) -> Path:
    task = json.loads(write_task(folder, ROWS, more.pop("scorers", [EQUALS])).read_text())
    model = {"key": "m", "display_name": "M", "config": {"connection_type": "assay", "model": "stub:a"}}
    evaluation = {
        "key": "e",
        "display_name": "E",
        "task_specifications": [{"key": "spec-1", "task_key": "t", "model_key": "m"}],
    }
    content = {"models": [{**model, **more.pop("model", {})}], "tasks": [task], "evaluation": evaluation, **more}
    path = folder / "run.yaml"
    path.write_text(json.dumps(content))
    return path


def policy(metric: str, **definition: Any) -> list[dict[str, Any]]:
    scope = definition.pop("scope", "all_latest")
    rule = {"key": "good", "definition": {"metric": metric, **definition}, "scope": scope}
    return [{"key": "p", "display_name": "P", "rules": [rule]}]


HERE = {"task_specification_keys": ["spec-1"]}
POLICIES = [
    (policy("accuracy", type="threshold", operator=">", threshold=0.3), 0),
    (policy("accuracy", type="threshold", operator=">", threshold=0.7), 1),
    (policy("accuracy", type="exists"), 0),
    (policy("accuracy", type="threshold", operator=">", threshold=0.7, scope={"evaluation_keys": ["other"]}), 0),
    (
        policy(
            "accuracy", type="threshold", operator=">", threshold=0.7, scope={"task_specification_keys": ["spec-1"]}
        ),
        1,
    ),
]


@pytest.mark.parametrize(("policies", "code"), POLICIES, ids=["met", "not met", "exists", "elsewhere", "in scope"])
def test_the_policies_of_a_run_file_are_gates(
    tmp_path: Path, policies: list[dict[str, Any]], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(run_file(tmp_path, policies=policies)), "--quiet"]) == code
    assert ("spec-1.accuracy > 0.7" in capsys.readouterr().err) is bool(code)


@pytest.mark.parametrize(
    ("scope", "gate"),
    [
        ({"scorer_keys": ["main"]}, "spec-1.mean_accuracy > 0.7"),
        ({"scorer_keys": ["again"]}, "spec-1.mine_accuracy > 0.7"),
        ({"metric_keys": ["mine"]}, "spec-1.mine_accuracy > 0.7"),
        ({"scorer_keys": ["main"], "metric_keys": ["mine"]}, "no task in its scope has a number `accuracy`"),
        ({"scorer_keys": ["nobody"]}, "no task in its scope has a number `accuracy`"),
    ],
)
def test_a_policy_is_about_the_numbers_of_scorers_and_metrics_in_its_scope(
    tmp_path: Path, scope: dict[str, Any], gate: str, capsys: pytest.CaptureFixture[str]
) -> None:
    again = {
        **EQUALS,
        "key": "again",
        "metrics": [{"type": "mean", "key": "mine", "field": "is_correct", "name": "accuracy"}],
    }
    policies = policy("accuracy", type="threshold", operator=">", threshold=0.7, scope=scope)
    path = run_file(tmp_path, policies=policies, scorers=[EQUALS, again])
    assert main(["run", str(path), "--quiet"]) == (2 if "no task" in gate else 1)
    assert gate in capsys.readouterr().err


def test_a_policy_about_no_number_of_the_run_is_refused_before_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_file(tmp_path, policies=policy("acuracy", type="exists"))
    assert main(["run", str(path)]) == 2
    assert "policy rule `p.good`: no task in its scope has a number `acuracy`. Did you mean `accuracy`?" in (
        capsys.readouterr().err
    )
    assert not Path("runs").exists()


def test_a_model_file_says_how_its_model_answers(tmp_path: Path) -> None:
    path = run_file(tmp_path, model={"generation": {"temperature": 0.25, "stop": ["END"]}})
    [run] = plan_runs(read_yaml_tasks(path), RunConfig(max_tokens=5))
    assert (run.config.temperature, run.config.stop, run.config.max_tokens) == (0.25, ("END",), 5)
    [typed] = plan_runs(read_yaml_tasks(path), RunConfig(temperature=1.0))
    assert typed.config.temperature == 1.0


def test_a_key_of_a_known_provider_is_its_model(tmp_path: Path) -> None:
    judge = {"type": "labeler_via_model", "model_key": "openai$gpt-4-1-nano", "user_prompt": "x"}
    [definition] = read_yaml_tasks(write_task(tmp_path, ROWS, [judge]))
    assert definition.scorers[0].options["model"] == {
        "model": "openai:gpt-4.1-nano",
        "options": {"api_key_env": "OPENAI_API_KEY"},
    }
    judge["model_key"] = "groq$some-model"
    [definition] = read_yaml_tasks(write_task(tmp_path, ROWS, [judge]))
    assert definition.scorers[0].options["model"]["model"] == "openai:some-model"
    judge["model_key"] = "nobody$some-model"
    with pytest.raises(UsageError, match=r"there is no model `nobody\$some-model`"):
        read_yaml_tasks(write_task(tmp_path, ROWS, [judge]))


def test_a_policy_about_a_task_that_the_run_does_not_have_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scope = {"task_specification_keys": ["spec-2"]}
    path = run_file(tmp_path, policies=policy("accuracy", type="exists", scope=scope))
    for command in ("validate", "check", "run"):
        assert main([command, str(path)]) == 2
        said = "".join(capsys.readouterr())
        assert "policies[0].rules[0].scope.task_specification_keys[0]" in said
        assert "this run has no task `spec-2`. Did you mean `spec-1`?" in said


def test_a_policy_about_another_evaluation_says_that_no_gate_applies(tmp_path: Path) -> None:
    scope = {"evaluation_keys": ["other"], "task_specification_keys": ["theirs"]}
    [task] = read_yaml_tasks(run_file(tmp_path, policies=policy("accuracy", type="exists", scope=scope)))
    [warning] = task.provenance.warnings
    assert "0 gates apply: the policy rule `p.good` is about no task of this run (evaluation `e`)" in warning


@pytest.mark.parametrize("scope", ["all_latest", {"scorer_keys": ["main"]}])
@pytest.mark.parametrize(("metric", "gate"), [("is_correct", "spec-1.accuracy"), ("pass@3", "spec-1.pass@3")])
def test_a_policy_names_a_mean_by_its_score_value_and_what_repetitions_say(
    tmp_path: Path, metric: str, gate: str, scope: Any
) -> None:
    path = run_file(tmp_path, policies=policy(metric, type="exists", scope=scope))
    definitions = read_yaml_tasks(path)
    assert [each.text for each in Gates(["failed <= 9"], definitions, RunConfig(repeat=3)).gates][1:] == [
        f"{gate} == {gate}"
    ]
