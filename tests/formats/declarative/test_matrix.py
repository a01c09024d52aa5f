"""Several prompts and several models in one run file: a run for each, compared in pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.runs.plan import make_config, plan_runs
from assay.tasks.load import load_tasks

QUIZ = """\
key: quiz
display_name: Q
description: d
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: system, content: s}, {role: user, content: "{{ sample.q }}"}]
  scorers: [{type: string_equals, ground_truth: "{{ sample.a }}"}]
"""
RUN = """\
prompts: [right.txt, wrong.txt]
models: [toy, "stub:1"]
tasks: [{$ref: quiz.yaml}]
"""
WITH_PARAMETER = QUIZ.replace(
    "definition:\n", "config_spec: [{type: string, key: prompt, display_name: P}]\ndefinition:\n"
).replace("content: s", "content: '<< config.prompt >>'")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".assay").mkdir()
    rows = [{"q": f"{n} + 1", "a": str(n + 1)} for n in range(12)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "quiz.yaml").write_text(QUIZ)
    (tmp_path / "right.txt").write_text("compute: {{ sample.q }}\n")
    (tmp_path / "wrong.txt").write_text("say: {{ sample.q }}\n")
    return tmp_path


def run_file(project: Path, text: str = RUN) -> str:
    (project / "run.yaml").write_text(text)
    return "run.yaml"


def test_every_model_is_called_with_every_prompt(project: Path) -> None:
    found = assay.evaluate(run_file(project))
    scores = {
        (run.leaderboard.adapter, run.leaderboard.settings["prompt"]): run.leaderboard.overall_score for run in found
    }
    assert scores == {
        ("toy", "right"): 1.0, ("toy", "wrong"): 0.0,
        ("stub:1", "right"): pytest.approx(1 / 12), ("stub:1", "wrong"): pytest.approx(1 / 12),
    }  # fmt: skip
    assert {row.task for run in found for row in run.leaderboard.tasks} == {"quiz"}
    assert len({run.folder for run in found}) == 4


def test_the_prompt_takes_the_place_of_the_last_user_message(project: Path) -> None:
    definition = load_tasks([run_file(project)])[0]
    messages = definition.solver.options["input_builder"]["input_messages"]
    assert [each["content"] for each in messages] == ["s", "compute: {{ sample.q }}"]


def test_a_parameter_called_prompt_is_given_it_instead(project: Path) -> None:
    (project / "quiz.yaml").write_text(WITH_PARAMETER)
    definition = load_tasks([run_file(project)])[1]
    messages = definition.solver.options["input_builder"]["input_messages"]
    assert [each["content"] for each in messages] == ["say: {{ sample.q }}", "{{ sample.q }}"]


def test_a_specification_with_a_prompt_of_its_own_keeps_it(project: Path) -> None:
    (project / "quiz.yaml").write_text(WITH_PARAMETER)
    specifications = "[{task_key: quiz, model_key: toy}, {task_key: quiz, model_key: toy, task_config: {prompt: own}}]"
    evaluation = f"evaluation: {{key: e, display_name: E, task_specifications: {specifications}}}\n"
    definitions = load_tasks([run_file(project, RUN + evaluation)])
    prompts = [each.solver.options["input_builder"]["input_messages"][0]["content"] for each in definitions]
    assert prompts == ["compute: {{ sample.q }}", "say: {{ sample.q }}", "own"]


def test_one_model_on_the_command_line_is_called_with_every_prompt(project: Path) -> None:
    planned = plan_runs(load_tasks([run_file(project)]), make_config(), ["toy"])
    assert [(run.config.prompt, len(run.definitions)) for run in planned] == [("right", 1), ("wrong", 1)]


def test_prompts_need_no_model_in_the_file(project: Path) -> None:
    planned = plan_runs(
        load_tasks([run_file(project, "prompts: [right.txt]\ntasks: [{$ref: quiz.yaml}]\n")]), make_config()
    )
    assert [(run.config.model, run.config.prompt) for run in planned] == [("toy", "right")]


def test_a_task_specification_that_names_a_model_is_run_by_that_one(project: Path) -> None:
    evaluation = "evaluation: {key: e, display_name: E, task_specifications: [{task_key: quiz, model_key: toy}]}\n"
    planned = plan_runs(load_tasks([run_file(project, RUN + evaluation)]), make_config())
    assert [(run.config.model, run.config.prompt) for run in planned] == [("toy", "right"), ("toy", "wrong")]


def test_a_judge_is_not_measured_because_the_file_brings_it(project: Path) -> None:
    scorer = (
        "{type: model_as_a_judge_classifier, model_key: j, user_prompt: x, correct_labels: [y], incorrect_labels: [n]}"
    )
    (project / "quiz.yaml").write_text(QUIZ.replace("scorers: [", f"scorers: [{scorer}, "))
    text = RUN.replace('"stub:1"', "{key: j, display_name: J, config: {connection_type: assay, model: 'stub:1'}}")
    planned = plan_runs(load_tasks([run_file(project, text)]), make_config())
    assert [(run.config.model, run.config.prompt) for run in planned] == [("toy", "right"), ("toy", "wrong")]


def test_the_same_command_resumes_every_run(project: Path) -> None:
    first = assay.evaluate(run_file(project))
    (project / "wrong.txt").write_text("compute: 1 + {{ sample.q }}\n")
    second = assay.evaluate("run.yaml")
    same = {run.folder for run in first} & {run.folder for run in second}
    assert sorted(folder.name.rpartition("-quiz-")[0] for folder in same) == ["stub-1-right", "toy-right"]


def test_the_command_ends_with_one_leaderboard_and_the_prompts_in_pairs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", run_file(project)]) == 0
    text = capsys.readouterr().out
    assert "| 1    | toy, right" in text
    assert "| toy    | right | wrong | -1.000 *" in text
    right, wrong = sorted(Path("runs").glob("toy-*"))
    assert main(["diff", str(right), str(wrong)]) == 0
    assert "setting prompt: 'right' → 'wrong'" in capsys.readouterr().out


def test_a_dry_run_names_the_model_and_the_prompt_of_each_estimate(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", run_file(project), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.endswith(":")] == [
        f"{model}, {prompt}:" for model in ("toy", "stub:1") for prompt in ("right", "wrong")
    ]


def test_any_two_of_its_runs_can_be_compared_sample_by_sample(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", run_file(project), "--quiet"]) == 0
    runs = {each.name.rpartition("-quiz-")[0]: str(each) for each in (project / "runs").iterdir()}
    assert set(runs) == {"toy-right", "toy-wrong", "stub-1-right", "stub-1-wrong"}
    capsys.readouterr()
    for one, other, verdict, changed in (
        ("toy-wrong", "toy-right", "B is better on quiz", "setting prompt: 'wrong' → 'right'"),
        ("toy-right", "stub-1-right", "B is worse on quiz", "model name: 'toy' → 'stub:1'"),
        ("stub-1-right", "stub-1-wrong", "no difference", "12 with another prompt"),
    ):
        assert main(["diff", runs[one], runs[other]]) == 0
        said = capsys.readouterr().out
        assert verdict in said.splitlines()[0]
        assert changed in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (RUN.replace("right.txt", "none.txt"), r"run\.yaml:1:\d+: prompts\[0\]: there is no file none.txt"),
        (RUN.replace("right.txt", "/etc/hostname"), "leads outside the project"),
        (RUN.replace("right.txt", "wrong.txt"), r"prompts: `wrong.txt` is given twice"),
        (RUN.replace("toy", "stub:1"), "`stub:1` is given twice"),
        ("prompts: [right.txt]\nmodels: [toy]\n", "there is nothing to run"),
        (RUN.replace("quiz.yaml", "passed.yaml"), r"prompts\[0\]: the task `quiz` has no place for a prompt"),
    ],
)
def test_what_cannot_be_a_matrix_is_refused_at_its_place(text: str, told: str, project: Path) -> None:
    head, _, rest = QUIZ.partition("  solver:")
    passed = (
        head + "  solver: {type: pass_through_solver, trace_column: q}\n  scorers:" + rest.partition("  scorers:")[2]
    )
    (project / "passed.yaml").write_text(passed)
    with pytest.raises(UsageError, match=told):
        load_tasks([run_file(project, text)])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("say:\n{{ sample.qq }}\n", "wrong.txt:2:1: prompts[1]: sample `0`: `sample.qq`: unknown field"),
        ("say:\n{{ sample.q\n", "run.yaml:1:22: prompts[1]: wrong.txt: line 2 of the template: "),
    ],
)
def test_a_fault_of_a_prompt_is_reported_once_with_its_file_and_line(
    project: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "wrong.txt").write_text(text)
    assert main(["check", run_file(project)]) == 2
    out, err = capsys.readouterr()
    assert err.count(says) == 1
    assert err.count("wrong.txt") == 1
    assert "| quiz (toy, right) " in out
