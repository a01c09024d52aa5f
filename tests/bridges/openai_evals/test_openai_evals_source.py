"""Evals of a registry are prompted and scored as OpenAI's own classes do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.promptfoo.grader_server import grader_server
from tests.tasks.model_files import write_model_file

from assay.bridges.openai_evals.openai_evals_source import read_openai_eval
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.results.board.leaderboard import read_leaderboard
from assay.tasks.built_tasks import build_dataset

EVALS = """
m: {id: m.dev.v0, metrics: [accuracy]}
m.dev.v0: {class: "evals.elsuite.basic.match:Match", args: {samples_jsonl: s.jsonl}}
shots: {class: "evals.elsuite.basic.match:Match",
        args: {samples_jsonl: s.jsonl, num_few_shot: 1, few_shot_jsonl: shots.jsonl}}
i: {class: "evals.elsuite.basic.includes:Includes", args: {samples_jsonl: s.jsonl}}
ii: {class: "evals.elsuite.basic.includes:Includes", args: {samples_jsonl: s.jsonl, ignore_case: true}}
f: {class: "evals.elsuite.basic.fuzzy_match:FuzzyMatch", args: {samples_jsonl: s.jsonl}}
j: {class: "evals.elsuite.basic.json_match:JsonMatch", args: {samples_jsonl: json.jsonl}}
g: {class: "evals.elsuite.modelgraded.classify:ModelBasedClassify",
    args: {samples_jsonl: g.jsonl, eval_type: cot_classify, modelgraded_spec: funny, metaeval: true}}
other: {class: "evals.elsuite.mmmu.eval:MMMU", args: {samples_jsonl: s.jsonl}}
odd: {class: "evals.elsuite.basic.match:Match", args: {samples_jsonl: s.jsonl, tempo: 3}}
gone: {class: "evals.elsuite.basic.match:Match", args: {samples_jsonl: gone.jsonl}}
"""
FUNNY = """
funny:
  prompt: "Is it funny? {completion}"
  choice_strings: ["Yes", "No"]
  choice_scores: {"Yes": 1.0, "No": 0.0}
  input_outputs: {input: completion}
"""


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for folder in ("evals", "modelgraded", "data"):
        (tmp_path / "registry" / folder).mkdir(parents=True)
    ideals = ["Paris", "paris", ["C", "B"], "abacus B", "the Paris!"]
    rows: dict[str, list[dict[str, Any]]] = {
        "s.jsonl": [{"input": chat(f"q{at}"), "ideal": ideal} for at, ideal in enumerate(ideals)],
        "shots.jsonl": [{"sample": [{"role": "system", "name": "example_user", "content": f"ex{n}"}]} for n in (1, 2)],
        "json.jsonl": [{"input": "q", "ideal": '{"b": [2], "a": 1}'}, {"input": "q", "ideal": '{"a": null}'}],
        "g.jsonl": [{"input": "tell CHOICE-YES", "choice": "Yes"}, {"input": "tell CHOICE-NO", "choice": "Yes"}],
    }
    for name, lines in rows.items():
        (tmp_path / "registry" / "data" / name).write_text("".join(json.dumps(each) + "\n" for each in lines))
    (tmp_path / "registry" / "evals" / "mine.yaml").write_text(EVALS)
    (tmp_path / "registry" / "modelgraded" / "funny.yaml").write_text(FUNNY)
    return str(tmp_path / "registry")


@pytest.mark.parametrize(
    ("name", "answer", "score"),
    [
        ("m", "Paris, of course", 0.2),  # the beginning, to the letter
        ("i", "We say Paris", 0.2),
        ("ii", "We say Paris", 0.4),  # without regard to case
        ("f", "Paris", 0.6),  # either in the other, without articles and punctuation
        ("j", '{"a": 1, "b": [2]}', 0.5),
    ],
)
def test_an_eval_scores_as_its_class_does(registry: str, name: str, answer: str, score: float) -> None:
    model = f"stub:{answer}"
    assert (
        main(["run", f"openai-evals:{name}", "--registry", registry, "--model", model, "--run-dir", "r", "--quiet"])
        == 0
    )
    assert read_leaderboard(Path("r")).tasks[0].score == pytest.approx(score)


def test_few_shot_examples_stand_before_the_last_message(registry: str) -> None:
    (first, *_) = build_dataset(read_openai_eval("openai-evals:shots", registry))
    assert [each["content"] for each in first.extras["messages"]] == ["Be brief.", "ex1", "q0"]
    assert first.extras["generation"] == {"temperature": 0.0}


def test_a_grader_picks_one_of_the_templates_choices(registry: str) -> None:
    with grader_server() as port:
        grader = f"grader=openai:m@127.0.0.1:{port}"
        typed = ["run", "openai-evals:g", "--registry", registry, "--model", "echo", "--model-for", grader]
        assert main([*typed, "--run-dir", "r", "--quiet"]) == 0
    records = [json.loads(line) for line in Path("r/journal.jsonl").read_text().splitlines()]
    scores = [each["scores"][0]["values"] for each in records if "sample_id" in each]
    assert sorted(scores, key=str) == [
        {"score": 0.0, "choice": "No", "metascore": False},
        {"score": 1.0, "choice": "Yes", "metascore": True},
    ]


def test_a_grader_may_be_the_key_of_a_model_file(registry: str) -> None:
    write_model_file("strict", "constant:Yes")
    typed = ["run", "openai-evals:g", "--registry", registry, "--model", "echo", "--model-for", "grader=strict"]
    assert main([*typed, "--run-dir", "r", "--quiet"]) == 0
    board = json.loads(Path("r/leaderboard.json").read_text())
    assert "The strict" in json.dumps(board["tasks"])


def test_a_grader_that_nobody_names_is_refused_before_the_model_is_asked(
    registry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["run", "openai-evals:g", "--registry", registry, "--model", "echo", "--run-dir", "r"]
    assert main(typed) == 2
    assert "task `g`: a model grades its answers: name it with --model-for grader=MODEL" in capsys.readouterr().err
    assert not Path("r").exists()
    assert main([*typed, "--judge", "constant:Yes", "--quiet"]) == 0
    assert read_leaderboard(Path("r")).tasks[0].score == 1.0
    write_model_file("strict", "constant:Yes")
    assert main([*typed[:-1], "by-key", "--judge", "strict", "--quiet"]) == 0
    assert "The strict" in Path("by-key/leaderboard.json").read_text()
    assert main([*typed, "--judge", "constant:No", "--model-for", "grader=constant:Yes"]) == 2
    assert "the judge `constant:No` from --judge judges nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "unknown eval `none`"),
        ("other", "the class `evals.elsuite.mmmu.eval:MMMU` is not supported"),
        ("odd", "args.tempo: not supported"),
        ("gone", "`gone.jsonl`: there is no such file"),
    ],
)
def test_what_is_not_known_is_refused_by_name(registry: str, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        read_openai_eval(f"openai-evals:{name}", registry)


def test_the_number_of_few_shot_examples_is_the_registrys(registry: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "openai-evals:m", "--registry", registry, "--num-fewshot", "3"]) == 2
    assert "--num-fewshot 3: openai-evals:m has few-shot examples of its own" in capsys.readouterr().err


def test_a_registry_is_for_evals_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "starter", "--registry", "x"]) == 2
    assert "--registry: only for openai-evals tasks" in capsys.readouterr().err
