"""Several judges in one scorer, and people beside a judge: by their rule, and a failure of one is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa
from tests.end_to_end.commands import assay

from assay.results.board.board_types import Leaderboard, read_leaderboard_file

TASK = """
key: panel
display_name: Panel
description: Judges who say what is written for them.
definition:
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - key: verdict
      system_prompt: Judge.
      user_prompt: "row {{ sample.n }}\\n{{ sample.says }}"
"""
RIGHT_OR_WRONG = """
      type: model_as_a_judge_classifier
      correct_labels: [correct]
      incorrect_labels: [incorrect]
"""
MARKS = """
      type: model_as_a_judge_scorer
      score_min: 1
      score_max: 5
"""
THREE = "      judges: [one, two, three]\n"
SAID = [
    ("correct", "correct", "correct", "true"),
    ("correct", "correct", "incorrect", "true"),
    ("correct", "incorrect", "incorrect", "true"),
    ("incorrect", "incorrect", "incorrect", "false"),
    ("correct", "incorrect", "correct", "false"),
    ("incorrect", "correct", "incorrect", "false"),
    ("correct", "correct", "correct", ""),
]
JUDGES = """
def word(prompt, at):
    said = prompt.splitlines()[-1].split()[at]
    if said == "down":
        raise RuntimeError("down")
    return said
def one(prompt): return word(prompt, 0)
def two(prompt): return word(prompt, 1)
def three(prompt): return word(prompt, 2)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "judges.py").write_text(JUDGES)
    (tmp_path / "models").mkdir()
    for name in ("one", "two", "three"):
        model = f"key: {name}\ndisplay_name: {name}\nconfig: {{connection_type: assay, model: 'judges:{name}'}}\n"
        (tmp_path / "models" / f"{name}.yaml").write_text(model)
    return tmp_path


def written(folder: Path, scorer: str, said: list[tuple[str, ...]]) -> Path:
    rows = [{"n": n, "says": " ".join(words), "human": human} for n, (*words, human) in enumerate(said)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "t.yaml").write_text(TASK.rstrip() + "\n" + scorer.lstrip("\n"))
    return folder


def run(folder: Path, scorer: str, said: list[tuple[str, ...]] = SAID, code: int = 0) -> Leaderboard:
    written(folder, scorer, said)
    done = assay("run", "t.yaml", "--run-dir", "run", "--fresh", "--retries", "0", cwd=folder)
    assert done.returncode == code, done.stderr
    return read_leaderboard_file(folder / "run" / "leaderboard.json")


def numbers(board: Leaderboard) -> dict[str, Any]:
    return {each.name: each.value for each in board.tasks[0].aggregates}


def votes() -> np.ndarray:
    return np.array([[word == "correct" for word in words] for *words, _ in SAID])


def test_the_verdict_of_most_judges_counts_and_their_agreement_is_on_the_board(project: Path) -> None:
    found = numbers(run(project, RIGHT_OR_WRONG + THREE))
    assert found["accuracy"] == pytest.approx((votes().sum(axis=1) >= 2).mean())
    assert found["kappa"] == pytest.approx(fleiss_kappa(aggregate_raters(votes().astype(int))[0]))
    pairs = [(votes()[:, a] == votes()[:, b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert found["agreement"] == pytest.approx(np.mean(pairs))


def test_all_judges_have_to_agree_where_the_rule_is_all_and_each_counts_where_it_is_mean(project: Path) -> None:
    two = "      judges: [one, two]\n"
    both = votes()[:, :2]
    assert numbers(run(project, f"{RIGHT_OR_WRONG}{two}      rule: all\n"))["accuracy"] == both.all(axis=1).mean()
    assert numbers(run(project, f"{RIGHT_OR_WRONG}{two}      rule: mean\n"))["accuracy"] == pytest.approx(both.mean())


def test_of_marks_the_one_in_the_middle_counts(project: Path) -> None:
    found = numbers(run(project, MARKS + THREE, [("1", "3", "5", ""), ("4", "4", "2", "")]))
    assert found["score_mean"] == pytest.approx((0.5 + 0.75) / 2)
    # pairs of the first row are half, whole and half a scale apart; of the second the same, half and half
    assert found["judges_agree"] == pytest.approx(((0.5 + 0.0 + 0.5) / 3 + (1.0 + 0.5 + 0.5) / 3) / 2)


def test_a_judge_that_fails_leaves_its_sample_without_a_score(project: Path) -> None:
    said = [("correct", "correct", "down", ""), *SAID[:3]]
    board = run(project, RIGHT_OR_WRONG + THREE, said, code=3)
    assert (board.tasks[0].scored, board.tasks[0].failed) == (3, 1)
    assert board.tasks[0].failures == {"scorer/exception": 1}


def test_an_unusable_verdict_of_one_judge_is_a_failure_too(project: Path) -> None:
    board = run(project, RIGHT_OR_WRONG + THREE, [("correct", "perhaps", "correct", ""), SAID[0]], code=3)
    assert board.tasks[0].failures == {"scorer/bad_output": 1}


def test_labels_without_a_majority_are_a_failure_and_no_label(project: Path) -> None:
    labels = "      type: labeler_via_model\n      valid_labels: [a, b, c]\n"
    board = run(project, labels + THREE, [("a", "b", "c", ""), ("a", "a", "c", "")], code=3)
    assert board.tasks[0].failures == {"scorer/no_majority": 1}
    assert numbers(board)["label_a"] == 1.0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("judges: [one, two]", "2 judges can be split evenly"),
        ("judges: [one, two, one]", "`judges` names `one` twice"),
        (
            "judges: [one, two, three]\n      model_key: one",
            "one of `model_key` and `judges`; got model_key and judges",
        ),
        ("model_key: one\n      rule: all", "one judge needs no rule"),
        ("judges: [one]", "at least 2"),
        ("judges: [one, two, three]\n      rule: most", "`most`"),
    ],
)
def test_what_makes_no_panel_is_refused(project: Path, options: str, problem: str) -> None:
    done = assay("validate", "t.yaml", cwd=written(project, f"{RIGHT_OR_WRONG}      {options}\n", SAID))
    assert done.returncode == 2
    assert problem in " ".join((done.stdout + done.stderr).split())


def test_a_label_has_no_mean(project: Path) -> None:
    labels = "      type: labeler_via_model\n      valid_labels: [a, b]\n      rule: mean\n"
    done = assay("validate", "t.yaml", cwd=written(project, labels + THREE, SAID))
    assert "the rule `mean` makes no label of several" in " ".join(done.stdout.split())


def test_a_judge_that_is_not_there_is_named_with_its_place(project: Path) -> None:
    folder = written(project, f"{RIGHT_OR_WRONG}      judges: [one, two, tree]\n", SAID)
    done = assay("run", "t.yaml", cwd=folder)
    assert done.returncode == 2
    assert "`tree`" in done.stderr
    assert "t.yaml:" in done.stderr


def test_labels_of_people_stand_beside_the_verdict_and_kappa_on_the_board(project: Path) -> None:
    found = numbers(run(project, RIGHT_OR_WRONG + '      model_key: one\n      labels: "{{ sample.human }}"\n'))
    judge = [words[0] == "correct" for words in SAID if words[-1]]
    people = [words[-1] == "true" for words in SAID if words[-1]]
    table = np.array(
        [[sum(j == a and p == b for j, p in zip(judge, people, strict=True)) for b in (0, 1)] for a in (0, 1)]
    )
    assert found["kappa"] == pytest.approx(cohens_kappa(table).kappa)
    assert found["agreement"] == pytest.approx(np.mean(np.equal(judge, people)))


def test_a_label_that_no_verdict_could_be_fails_before_the_judge_is_called(project: Path) -> None:
    scorer = RIGHT_OR_WRONG + '      model_key: one\n      labels: "{{ sample.human }}"\n'
    board = run(project, scorer, [("down", "", "", "perhaps"), *SAID[:2]], code=3)
    assert board.tasks[0].failures == {"scorer/bad_label": 1}


def test_a_panel_beside_people_has_both_agreements(project: Path) -> None:
    found = numbers(run(project, RIGHT_OR_WRONG + THREE + '      labels: "{{ sample.human }}"\n'))
    assert {"judges_kappa", "people_kappa", "judges_agreement", "people_agreement"} <= {*found}
    majority = [sum(word == "correct" for word in words[:3]) >= 2 for words in SAID if words[-1]]
    people = [words[-1] == "true" for words in SAID if words[-1]]
    assert found["people_agreement"] == pytest.approx(np.mean(np.equal(majority, people)))


def test_check_tries_a_panel_as_it_tries_one_judge(project: Path) -> None:
    done = assay("check", "t.yaml", cwd=written(project, RIGHT_OR_WRONG + THREE, SAID))
    assert done.returncode == 0, done.stdout
