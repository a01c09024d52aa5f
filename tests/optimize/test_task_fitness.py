"""Our own tasks as fitness: the text around the prompts is what changes, and an attempt is an attempt."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.optimize.scripted import SayingProposer, fenced
from tests.results.yaml_runs import EQUALS, python_scorer, run_task, write_task

from assay.core.errors import FailureError, UsageError
from assay.core.types import Failure, Sample, Score, Trace
from assay.evaluators import EvaluatorError
from assay.evaluators.payload import CandidateParts
from assay.formats.fixtures import STARTER_TASKS
from assay.optimize.run import SearchSettings, optimize
from assay.optimize.task_fitness import TaskFitness, filled
from assay.run_config import RunConfig
from assay.tasks.load import load_tasks

STARTER = [str(STARTER_TASKS / name) for name in ("arithmetic.jsonl", "multiple-choice.jsonl")]


def fitness(*sources: str, **config: Any) -> TaskFitness:
    return TaskFitness(load_tasks(list(sources)), RunConfig(**{"model": "toy", **config}))


def scored(made: TaskFitness, candidate: str, record: dict[str, Any]) -> Any:
    async def once() -> Any:
        try:
            return await made(candidate, record)
        finally:
            await made.close()

    return asyncio.run(once())


def task_file(folder: Path, **line: Any) -> str:
    path = folder / "task.jsonl"
    usual = {"id": "q", "prompt": "compute: 2 + 2", "targets": ["4"], "metric": "exact_match"}
    path.write_text(json.dumps({**usual, **line}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("candidate", "asked"), [("Q: {prompt}!", "Q: p!"), ("Be brief.", "Be brief.\n\np"), ("{prompt}", "p")]
)
def test_the_prompt_goes_where_the_candidate_says(candidate: str, asked: str) -> None:
    assert filled(candidate, "p") == asked


def test_a_sample_is_prompted_and_scored_as_in_a_run(tmp_path: Path) -> None:
    path = task_file(tmp_path)
    right = scored(fitness(path), "{prompt}", fitness(path).records[0])
    wrong = scored(fitness(path), "please {prompt}", fitness(path).records[0])
    assert (right.score, wrong.score) == (1.0, 0.0)
    assert wrong.side_info["prediction"] == "please compute: 2 + 2"


def test_the_records_are_the_samples_of_all_tasks() -> None:
    records = fitness(*STARTER, limit=2).records
    assert [record["task"] for record in records] == ["arithmetic"] * 2 + ["multiple-choice"] * 2
    assert all({"task", "position", "sample", "prompt", "targets"} == set(record) for record in records)


def test_a_failing_model_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_for_fitness.py").write_text("def answer(prompt: str) -> str:\n    raise ValueError('no')\n")
    made = fitness(task_file(tmp_path), model="broken_for_fitness:answer", retries=0)
    with pytest.raises(EvaluatorError, match="ValueError: no"):
        scored(made, "{prompt}", made.records[0])


def test_tasks_improve_a_bad_prompt_with_the_toy_model(tmp_path: Path) -> None:
    made = fitness(*STARTER)
    proposer = SayingProposer(fenced("Kindly: {prompt}"), fenced("{prompt}"))
    settings = SearchSettings(seed="Answer this: {prompt}", dataset=made.records, budget=300, target_score=1.0)
    result = optimize(settings, made, proposer, folder=tmp_path)
    assert result.best == "{prompt}"
    assert result.valset.best.mean == 1.0
    assert (result.valset.seed.mean or 0.0) < 0.5


def test_the_identity_follows_tasks_and_model(tmp_path: Path) -> None:
    one = fitness(task_file(tmp_path)).identity
    assert one == fitness(task_file(tmp_path)).identity
    assert one != fitness(task_file(tmp_path, targets=["5"])).identity
    assert one != fitness(task_file(tmp_path), model="stub").identity


DECLARATIVE = """\
key: sums
display_name: Sums
description: ""
definition:
  dataset: {key: sums}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "Please say {{ sample.q }}"}
  scorers:
    - type: string_equals
      ground_truth: "{{ sample.sum }}"
"""


def test_the_prompt_of_a_declarative_task_improves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text('{"q": "1 + 1", "sum": "2"}\n{"q": "1 + 2", "sum": "3"}\n', encoding="utf-8")
    (tmp_path / "task.yaml").write_text(DECLARATIVE, encoding="utf-8")
    definitions = load_tasks(["task.yaml"])
    with pytest.raises(
        UsageError, match=r"--prompt-at .* Texts of the solver: input_builder\.input_messages\.0\.content"
    ):
        TaskFitness(definitions, RunConfig(model="toy"))
    made = TaskFitness(definitions, RunConfig(model="toy"), prompt_at="input_builder.input_messages.0.content")
    proposer = SayingProposer(fenced("compute: {{ sample.q }}"))
    settings = SearchSettings(seed=made.own_prompt(), dataset=made.records, budget=20, target_score=1.0)
    result = optimize(settings, made, proposer, folder=tmp_path / "run")
    assert result.seed == "Please say {{ sample.q }}"
    assert "### row" in proposer.asked[0]
    assert not re.search("^### (task|position|sample)$", proposer.asked[0], re.MULTILINE), "where a record is from"
    assert (result.valset.seed.mean, result.valset.best.mean) == (0.0, 1.0)


def test_a_candidate_that_is_no_template_is_a_failure_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text('{"q": "1 + 1", "sum": "2"}\n', encoding="utf-8")
    (tmp_path / "task.yaml").write_text(DECLARATIVE, encoding="utf-8")
    made = TaskFitness(
        load_tasks(["task.yaml"]), RunConfig(model="toy"), prompt_at="input_builder.input_messages.0.content"
    )
    with pytest.raises(EvaluatorError) as caught:
        scored(made, "{{ sample.q", made.records[0])
    assert caught.value.failure.kind == "bad_candidate"


def test_a_broken_template_is_never_evaluated_and_the_proposer_is_shown_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text('{"q": "1 + 1", "sum": "2"}\n{"q": "1 + 2", "sum": "3"}\n', encoding="utf-8")
    (tmp_path / "task.yaml").write_text(DECLARATIVE, encoding="utf-8")
    made = TaskFitness(
        load_tasks(["task.yaml"]), RunConfig(model="toy"), prompt_at="input_builder.input_messages.0.content"
    )
    proposer = SayingProposer(fenced("compute: {% if {{ sample.q }}"), fenced("compute: {{ sample.q }}"))
    settings = SearchSettings(seed=made.own_prompt(), dataset=made.records, budget=20, target_score=1.0)
    result = optimize(settings, made, proposer, folder=tmp_path / "run")
    complaint = proposer.asked[1].partition("Your last answer could not be used: ")[2]
    assert "expected token" in complaint
    assert (result.proposals["unusable"], result.failed_texts, result.valset.best.mean) == (1, {}, 1.0)


def test_code_of_a_task_file_outside_the_project_needs_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_file(tmp_path, metric="evaluator", extras={"evaluator": {"command": ["true"]}})
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(UsageError, match="--trust"):
        fitness(task)


def test_a_text_of_the_solver_may_be_the_candidate(tmp_path: Path) -> None:
    """The system message stands for any text of a task's solver."""
    import msgspec

    (definition,) = load_tasks([task_file(tmp_path)])
    solver = msgspec.structs.replace(definition.solver, options={"system": "Be brief."})
    definition = msgspec.structs.replace(definition, solver=solver)
    made = TaskFitness([definition], RunConfig(model="toy"), prompt_at="system")
    assert made.own_prompt() == "Be brief."
    assert scored(made, "Be kind.", made.records[0]).score == 1.0
    with pytest.raises(UsageError, match=r"no `nowhere` there\. Texts of the solver: system"):
        TaskFitness([definition], RunConfig(model="toy"), prompt_at="nowhere")


@pytest.mark.parametrize("probe", [True, False], ids=["in the preflight", "in the search"])
def test_ctrl_c_ends_a_search_also_while_a_metric_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: bool
) -> None:
    (tmp_path / "endless_metric.py").write_text(ENDLESS)
    monkeypatch.syspath_prepend(tmp_path)
    made = fitness(task_file(tmp_path, metric="endless_metric:compute"), trust=True)
    settings = SearchSettings(seed="{prompt}", dataset=made.records, budget=2)
    with pytest.raises(KeyboardInterrupt):
        optimize(settings, made, SayingProposer(fenced("x")), folder=tmp_path / "run", probe=probe)


ENDLESS = """
import os, signal

def compute(prediction, targets, extras):
    os.kill(os.getppid(), signal.SIGINT)  # the process that searches; the metric has one of its own
    while True:
        pass
"""


def declarative(folder: Path, scorers: list[dict[str, Any]], **more: Any) -> TaskFitness:
    """A task of two rows, the second of which is to be skipped; the candidate is the question."""
    rows = [{"q": "yes", "a": "yes", "skip": False}, {"q": "no", "a": "yes", "skip": True}]
    definitions = load_tasks([str(write_task(folder, rows, scorers, **more))])
    return TaskFitness(definitions, RunConfig(model="toy"), prompt_at="input_builder.input_messages.0.content")


def test_a_classification_scores_as_on_the_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    metrics = [{"type": "multiclass-classification", "field_gt": "gt", "field_pred": "pred"}]
    scorer = python_scorer('{"gt": sample["a"], "pred": sample["q"]}', metrics=metrics)
    board = run_task(write_task(tmp_path / "run", [{"q": "yes", "a": "yes"}, {"q": "no", "a": "yes"}], [scorer]))
    scores = []
    for place in (0, 1):
        made = declarative(tmp_path, [scorer])
        scores.append(scored(made, "{{ sample.q }}", made.records[place]).score)
    assert (scores, board.tasks[0].score) == ([1.0, 0.0], 0.5)


def test_only_the_scorer_of_the_score_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quality = {**EQUALS, "key": "quality", "purpose": "qa", "ground_truth": "never"}
    made = declarative(tmp_path, [EQUALS, quality])
    assert scored(made, "{{ sample.q }}", made.records[0]).score == 1.0


def test_samples_that_a_rule_excludes_have_no_part_in_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rules = {"skip": {"op": "is_true", "expression": "{{ sample.skip }}"}}
    assert [record["row"]["q"] for record in declarative(tmp_path, [EQUALS], rules=rules).records] == ["yes"]


def test_a_task_without_a_score_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scorer = python_scorer('{"label": "a"}', metrics=[{"type": "frequency", "field": "label"}])
    with pytest.raises(UsageError, match="has no score that a search could raise"):
        declarative(tmp_path, [scorer])


def test_a_value_of_any_size_is_no_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = declarative(tmp_path, [python_scorer('{"v": 12}', metrics=[{"type": "mean", "field": "v"}])])
    assert made.score_range == "any"
    assert scored(made, "{{ sample.q }}", made.records[0]).score == 12.0


def test_several_texts_of_a_solver_are_components_and_what_is_not_a_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"q": "yes", "a": "yes"}]
    definitions = load_tasks([str(write_task(tmp_path, rows, [EQUALS]))])
    message = "input_builder.input_messages.0"
    made = TaskFitness(
        definitions, RunConfig(model="toy"), prompt_at={"who": f"{message}.role", "what": f"{message}.content"}
    )
    seed = made.own_prompt()
    assert isinstance(seed, dict)
    assert list(seed) == ["who", "what"]
    assert scored(made, CandidateParts({**seed, "what": "{{ sample.q }}"}), made.records[0]).score == 1.0
    with pytest.raises(EvaluatorError, match="no component `what`"):
        scored(made, CandidateParts({"who": "user"}), made.records[0])
    with pytest.raises(UsageError, match="there is no text in task"):
        TaskFitness(definitions, RunConfig(model="toy"), prompt_at="input_builder")


class Unstartable:
    """A scorer for which this machine has not what it needs."""

    def __init__(self, key: str) -> None:
        self.name = key

    def start_here(self) -> Any:
        raise FailureError(Failure(stage="sandbox", part=self.name, kind="no_sandbox", message="no sandbox here"))

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        raise AssertionError("it was asked all the same")


def test_a_search_is_made_ready_as_a_run_is(tmp_path: Path) -> None:
    """What cannot be scored here is refused before the first request, and not attempt by attempt."""
    made = fitness(task_file(tmp_path, metric=f"{__name__}:Unstartable"), trust=True)
    settings = SearchSettings(seed="Q: {prompt}", dataset=made.records, budget=4, objective="right")
    proposer = SayingProposer(fenced("A: {prompt}"))
    with pytest.raises(UsageError, match="task `task` cannot be scored here: no sandbox here"):
        optimize(settings, made, proposer, folder=tmp_path / "run", probe=False)
