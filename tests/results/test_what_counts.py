"""What is in a task's numbers: rules on every sample, nothing that broke, values as their scorer gave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.journals import rewritten
from tests.results.runs import build_standings
from tests.results.yaml_runs import EQUALS, Runs, only, python_scorer, run_task, write_task

from assay.core.errors import UsageError
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.ends import diff_ends
from assay.results.gates.drops import check_drop
from assay.results.gates.expression import DropGate, parse_gates
from assay.results.marks import Mark, append_mark, marks_agreement
from assay.results.report_settings import View
from assay.runs.exit_status import exit_status_of
from assay.viewer.builders import Builders
from assay.viewer.comparing import compare_runs
from assay.viewer.query import Filters, summary
from assay.viewer.run_view import RunView

SKIP = {"skip": {"op": "is_true", "expression": "{{ sample.skip }}"}}


def test_a_rule_excludes_samples_on_which_a_scorer_failed(runs: Runs) -> None:
    rows = [
        {"q": "a", "a": "a", "skip": False},
        {"q": "b", "a": "c", "skip": True},
        {"q": "c", "a": "d", "skip": True},
    ]
    breaks = python_scorer('1 / 0 if sample["q"] == "b" else {"v": 1}', metrics=[], purpose="qa")
    row = only(runs(rows, [EQUALS, breaks], rules=SKIP))
    assert (row.score, row.correct, row.scored, row.excluded, row.failed) == (1.0, 1, 1, 2, 0)


def test_a_rule_excludes_samples_that_the_model_could_not_answer(runs: Runs) -> None:
    def model(prompt: str) -> str:
        if prompt == "b":
            raise ValueError("the line is down")
        return prompt

    rows = [{"q": q, "a": "a", "skip": q == "b"} for q in ("a", "b")]
    board = runs(rows, [EQUALS], rules=SKIP, model=model)
    assert (only(board).score, only(board).excluded, only(board).failed) == (1.0, 1, 0)
    assert exit_status_of(board) == 0


ABOUT_SCORES = [
    ({"op": "equals", "expression": "{{ scores.main.is_correct }}", "value": False}, (1, 0)),
    ({"op": "not_exists", "expression": "{{ scores.own.v }}"}, (0, 1)),
    ({"op": "not_exists", "expression": "{{ scores['own'].v }}"}, (0, 1)),
]


@pytest.mark.parametrize(("rule", "counts"), ABOUT_SCORES)
def test_a_rule_about_scores_goes_by_those_there_are_and_takes_no_broken_one_for_none(
    runs: Runs, rule: dict[str, Any], counts: tuple[int, int]
) -> None:
    rows = [{"q": "a", "a": "a"}, {"q": "b", "a": "x"}]
    breaks = python_scorer('1 / 0 if sample["q"] == "b" else {"v": 1}', metrics=[], purpose="qa")
    row = only(runs(rows, [EQUALS, breaks], rules={"rule": rule}))
    assert (row.excluded, row.failed) == counts
    assert (row.score, row.scored) == (1.0, 1)


def test_a_rule_that_cannot_be_applied_leaves_its_samples_out_of_every_number(runs: Runs) -> None:
    rule = {"large": {"op": "greater_than", "expression": "{{ sample.c }}", "value": 4}}
    rows = [{"q": "a", "a": "a", "c": "text"}, {"q": "b", "a": "c", "c": "text"}]
    board = runs(rows, [EQUALS], rules=rule)
    row = only(board)
    assert (row.score, row.bounds, row.interval, row.scored, row.failed, row.coverage) == (None, None, None, 0, 2, 0.0)
    assert exit_status_of(board) == 3


def test_the_bounds_hold_what_a_rule_that_could_not_be_applied_hides(runs: Runs) -> None:
    rule = {"large": {"op": "greater_than", "expression": "{{ sample.c }}", "value": 4}}
    rows = [{"q": "a", "a": "a", "c": 1}, {"q": "b", "a": "b", "c": 1}, {"q": "c", "a": "x", "c": "text"}]
    row = only(runs(rows, [EQUALS], rules=rule))
    assert (row.score, row.scored, row.failed, row.coverage) == (1.0, 2, 1, 2 / 3)
    assert row.bounds is not None
    assert (row.bounds.low, row.bounds.high) == (pytest.approx(2 / 3), 1.0)


MULTICLASS = [{"type": "multiclass-classification", "field_gt": "gt", "field_pred": "pred"}]
BINARY = [
    {
        "type": "binary-classification",
        "field_gt": "gt",
        "field_pred": "pred",
        "positive_answer": 1,
        "negative_answer": 0,
    }
]
TYPES: list[tuple[str, list[dict[str, Any]], dict[str, float]]] = [
    ('{"gt": sample["a"], "pred": int(sample["a"])}', MULTICLASS, {"accuracy": 1.0}),
    ('{"gt": int(sample["a"]), "pred": 1}', BINARY, {"accuracy": 0.5, "recall": 1.0, "precision": 0.5}),
    ('{"v": int(sample["a"])}', [{"type": "frequency", "field": "v"}], {"v_0": 0.5, "v_1": 0.5}),
    ('{"v": float(sample["a"])}', [{"type": "frequency", "field": "v"}], {"v_0.0": 0.5, "v_1.0": 0.5}),
    (
        '{"v": 1 + int(sample["a"])}',
        [{"type": "weighted_average", "field": "v", "weights": {"1": 0.25, "2": 0.75}}],
        {"v_weighted_average": 0.5},
    ),
    ('{"v": int(sample["a"]) or 0.5}', [{"type": "frequency", "field": "v"}], {"v_1": 0.5, "v_0.5": 0.5}),
    ('{"gt": 2**60, "pred": 2**60 + int(sample["a"])}', MULTICLASS, {"accuracy": 0.5}),
]


@pytest.mark.parametrize(("body", "metrics", "numbers"), TYPES, ids=[str(n) for n in range(len(TYPES))])
def test_values_keep_their_type_from_scorer_to_leaderboard(
    runs: Runs, body: str, metrics: list[dict[str, Any]], numbers: dict[str, float]
) -> None:
    rows = [{"q": "a", "a": "0"}, {"q": "b", "a": "1"}]
    row = only(runs(rows, [python_scorer(body, metrics=metrics)], solver=None))
    assert {each.name: each.value for each in row.aggregates if each.name in numbers} == numbers


def test_a_frequency_is_no_score_until_it_names_its_label(runs: Runs, tmp_path: Path) -> None:
    rows = [{"q": "a"}, {"q": "b"}]
    said = '{"label": "refusal" if sample["q"] == "a" else "safe"}'
    every = [{"type": "frequency", "field": "label"}]
    row = only(board := runs(rows, [python_scorer(said, metrics=every)], solver=None))
    assert (row.score, row.correct, row.scored, row.has_score) == (None, None, 2, False)
    assert [(each.name, each.value) for each in row.aggregates] == [("label_refusal", 0.5), ("label_safe", 0.5)]
    assert "`label` selects one" in (row.reason or "")
    assert board.overall_reason == "none of its tasks has a score"
    assert exit_status_of(board) == 0

    for label, score in (("safe", 0.5), ("unsafe", 0.0)):
        named = [*every, {"type": "frequency", "field": "label", "label": label}]
        folder = tmp_path / label
        row = only(run_task(write_task(folder, rows, [python_scorer(said, metrics=named)], solver=None)))
        assert (row.metric, row.score, row.correct) == (f"label_{label}", score, 2 * score)


METRIC = "def compute_metrics(scores):\n    return {} if scores[0]['v'] == 'seen' else {'m': 1}\n"
BROKEN = ['{"m": 1 / 0}', '{"m": float("nan")}', '{"m": "high"}', "None", '{"m": 10 ** 400}', '{"m": None}', "{}"]


@pytest.mark.parametrize("returned", BROKEN)
def test_a_python_metric_that_breaks_is_a_failure_of_the_run(runs: Runs, returned: str) -> None:
    snippet = METRIC.replace("{}", returned, 1)
    metrics = [{"type": "python", "compute_metrics_snippet": snippet}]
    board = runs([{"q": "a"}, {"q": "b"}], [python_scorer('{"v": "seen"}', metrics=metrics)], solver=None)
    row = only(board)
    assert (row.score, row.complete, exit_status_of(board)) == (None, False, 3)
    assert [kind.split("/")[0] for kind in row.failures] == ["metric"]


def test_an_integer_that_no_number_holds_fails_its_sample_and_not_the_run(runs: Runs) -> None:
    body = '{"v": 10**400 if sample["q"] == "b" else 2}'
    row = only(
        runs([{"q": "a"}, {"q": "b"}], [python_scorer(body, metrics=[{"type": "mean", "field": "v"}])], solver=None)
    )
    assert (row.score, row.scored, row.failed) == (2.0, 1, 1)


def test_a_journal_with_such_an_integer_can_be_read(runs: Runs, tmp_path: Path) -> None:
    runs([{"q": "a"}, {"q": "b"}], [python_scorer('{"v": 2}', metrics=[{"type": "mean", "field": "v"}])], solver=None)
    journal = tmp_path / "run" / "journal.jsonl"
    first, *others = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(rewritten(first, b'"v":2', b'"v":1' + b"0" * 400) + b"".join(others))
    row = only(build_leaderboard(tmp_path / "run"))
    assert (row.score, row.scored, row.unscored) == (2.0, 1, 1)
    assert RunView("run", tmp_path / "run", Builders()).snapshot().rows == 2


def test_excluded_samples_are_in_no_comparison_whatever_file_it_reads(runs: Runs, tmp_path: Path) -> None:
    rows = [{"q": "a", "a": "a", "skip": False}, {"q": "b", "a": "b", "skip": True}]
    runs(rows, [EQUALS], rules=SKIP, include_per_example=True)
    run, file = tmp_path / "run", tmp_path / "run" / "leaderboard.json"
    for source in (run, file):
        [task] = diff(source, source).tasks
        assert task.comparison is not None
        assert task.comparison.n == 1


def test_marks_agree_with_scores_by_the_tasks_own_scale(runs: Runs, tmp_path: Path) -> None:
    scorer = python_scorer(
        '{"v": sample["v"]}', metrics=[{"type": "weighted_average", "field": "v", "weights": {"bad": -1, "good": 9}}]
    )
    runs([{"q": "a", "v": "good"}, {"q": "b", "v": "bad"}], [scorer], solver=None)
    lines = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        verdict = "right" if line["index"] == 0 else "wrong"
        append_mark(tmp_path / "run", Mark(key=line["key"], task="t", sample_id=line["sample_id"], verdict=verdict))  # type: ignore[arg-type]
    found = marks_agreement(tmp_path / "run")
    assert found is not None
    assert (found.overall.raw, found.unscored) == (1.0, 0)


YES_NO = {"field_gt": "gt", "field_pred": "said", "positive_answer": "yes", "negative_answer": "no"}
EVERYWHERE: list[tuple[str, dict[str, Any]]] = [
    ('{"score": sample["n"] / 4}', {"type": "mean", "field": "score"}),
    ('{"gt": "yes", "said": ["yes", "no", "maybe", "yes"][sample["n"]]}', {"type": "binary-classification", **YES_NO}),
    ('{"gt": 1, "said": sample["n"]}', {"type": "multiclass-classification", "field_gt": "gt", "field_pred": "said"}),
    ('{"v": sample["n"] % 3}', {"type": "frequency", "field": "v", "label": 0}),
    ('{"v": "ab"[sample["n"] % 2]}', {"type": "weighted_average", "field": "v", "weights": {"a": 3, "b": -1}}),
    ('{"v": 1 / 0 if sample["n"] == 1 else sample["n"]}', {"type": "mean", "field": "v"}),
]


@pytest.mark.parametrize(("body", "metric"), EVERYWHERE, ids=[each[1]["type"] for each in EVERYWHERE])
def test_leaderboard_examples_diff_and_viewer_have_the_same_numbers(
    runs: Runs, tmp_path: Path, body: str, metric: dict[str, Any]
) -> None:
    rows = [{"q": "a", "n": n, "skip": n == 3} for n in range(4)]
    scorer = python_scorer(body, metrics=[metric])
    row = only(runs(rows, [scorer], rules=SKIP, include_per_example=True))
    assert not isinstance(row.per_example, msgspec.UnsetType)
    numbers = [example.score for example in row.per_example if example.score is not None]
    [task] = diff(tmp_path / "run", tmp_path / "run").tasks
    assert task.comparison is not None
    view = RunView("run", tmp_path / "run", Builders())
    shown = summary(view.snapshot(), view.rows(Filters(), "order", False, []), view.level)
    assert row.score == pytest.approx(sum(numbers) / len(numbers))
    assert row.score == pytest.approx(task.comparison.first)
    assert row.score == pytest.approx(shown["score"]["value"])
    assert row.scored == len(numbers) == task.comparison.n == shown["score"]["n"]
    if row.correct is not None:
        assert row.correct == shown["outcomes"].get("right", 0)
    else:
        assert shown["outcomes"]["scored"] == row.scored
    assert (row.excluded, row.failed, row.unscored) == tuple(
        shown["outcomes"].get(word, 0) for word in ("excluded", "failed", "unscored")
    )


COUNTS = python_scorer(
    '{"tp": sample["n"] % 2, "fp": (sample["n"] + 1) % 2, "fn": int(solver_output.output == "x")}',
    metrics=[
        {
            "type": "f1_score",
            "num_true_positives_field": "tp",
            "num_false_positives_field": "fp",
            "num_false_negatives_field": "fn",
        }
    ],
)


def test_a_task_whose_samples_have_no_number_is_compared_over_shared_samples_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_task(tmp_path, [{"q": f"q{n}", "n": n} for n in range(9)], [COUNTS])
    run_task(path)
    Path("run").rename("whole")
    run_task(path, limit=4)
    with pytest.raises(UsageError, match=r"t: .*4 in both"):
        diff("whole", "run")
    found = build_standings(["whole", "run"])
    assert [(row.tasks["t"].score, row.compared) for row in found.models] == [(pytest.approx(2 / 3), 4)] * 2
    assert "its samples have no number of their own" in found.ranking
    [task] = diff("whole", "run", allow_unequal=True).tasks
    assert (task.score_a, task.score_b, task.compared) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 4)
    assert task.verdict.startswith("the difference hangs on 4 samples, and a test needs at least 5")
    assert task.changes is not None
    assert task.changes.score_only == 0, "two scores that are not there do not differ"


FOUND = python_scorer(
    'right = solver_output.output != "no"\nreturn {"tp": int(right), "fp": int(not right), "fn": int(not right)}',
    metrics=COUNTS["metrics"],
)


def test_a_drop_of_f1_is_found_by_a_test_of_f1_itself_on_every_surface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_task(tmp_path, [{"q": f"q{n}", "n": n} for n in range(40)], [FOUND])
    for name, wrong in (("before", 4), ("after", 20)):
        run_task(path, lambda prompt, wrong=wrong: "no" if int(prompt[1:]) % 40 < wrong else "yes")
        Path("run").rename(name)
        write_leaderboard_file(Path(f"{name}.json"), build_leaderboard(Path(name), View(per_example=True)))
    [task] = diff("before", "after").tasks
    assert task.comparison is not None
    assert (task.comparison.n, task.flips, task.comparison.test) == (40, 16, "jackknife-t")
    assert task.comparison.difference == pytest.approx(task.change)
    assert task.verdict.startswith("B is worse: -0.400 ")
    [back] = diff("after", "before").tasks
    assert back.comparison is not None
    assert back.comparison.difference == pytest.approx(-task.comparison.difference)
    assert diff("before.json", "after.json").tasks == [task], "a leaderboard file holds what its score is made of"
    ends = diff_ends("before", "after", View())
    for text, outcome in (("no-significant-drop", "not met"), ("no-drop-beyond 0.6", "met")):
        [gate] = parse_gates([text])
        assert isinstance(gate, DropGate)
        assert check_drop(gate, ends).outcome == outcome


def test_a_drop_of_a_score_without_numbers_per_sample_cannot_be_ruled_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(prompt: str) -> str:
        if prompt == "q3":
            raise ValueError("no answer")
        return prompt

    monkeypatch.chdir(tmp_path)
    path = write_task(tmp_path, [{"q": f"q{n}", "n": n} for n in range(9)], [COUNTS])
    run_task(path)
    Path("run").rename("whole")
    run_task(path, breaks)
    assert diff_ends("whole", "run", View()).unbounded == ["t"]
    assert diff_ends("whole", "whole", View()).unbounded == []


def test_the_users_time_limit_is_that_of_snippets_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hangs = python_scorer("import time\ntime.sleep(sample['seconds'])\nreturn {'v': 1.0}")
    path = write_task(tmp_path, [{"q": "x", "seconds": 0}, {"q": "y", "seconds": 600}], [hangs])
    (row,) = run_task(path, timeout_seconds=4.0).tasks
    assert (row.scored, row.timeouts) == (1, 1)


@pytest.mark.parametrize("labels", [["a", "b", "c", "a"], [1, 2, True, 1]])
def test_a_label_without_a_weight_leaves_no_mean_on_any_surface(
    runs: Runs, tmp_path: Path, labels: list[str | int]
) -> None:
    metric = {"type": "weighted_average", "field": "v", "weights": {str(labels[0]): 1, str(labels[1]): 0}}
    scorer = python_scorer('{"v": sample["v"]}', metrics=[metric])
    rows = [{"q": str(at), "v": label, "part": at // 2} for at, label in enumerate(labels)]
    board = runs(rows, [scorer], solver=None, include_per_example=True)
    row = only(board)
    assert (row.score, row.scored) == (None, 4)
    assert not isinstance(row.per_example, msgspec.UnsetType)
    assert [example.score for example in row.per_example] == [None] * 4
    view = RunView("run", tmp_path / "run", Builders())
    shown = summary(view.snapshot(), view.rows(Filters(), "order", False, []), view.level)["score"]
    assert (shown["value"], shown["low"], shown["high"]) == (None, None, None)
    # as a slice of the leaderboard has one where its labels have weights
    first = summary(view.snapshot(), view.rows(Filters(), "order", False, [])[:2], view.level)["score"]
    assert first["value"] == 0.5
    write_leaderboard_file(tmp_path / "board.json", board)
    for source in (tmp_path / "run", tmp_path / "board.json"):
        [task] = diff(source, source).tasks
        assert task.comparison is not None
        assert task.comparison.n == 0
    assert compare_runs([view, view])["pairs"][0]["overall"] is None
    assert build_standings([tmp_path / "run", tmp_path / "board.json"]).models[0].overall is None
    assert board.overall_reason == "there is no score of t"
