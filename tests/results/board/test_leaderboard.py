"""What a board counts: correct answers, values by scorer, and nothing that broke."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.yaml_runs import EQUALS, Runs, only, python_scorer

import assay
from assay.pages.documents.leaderboard import notes
from assay.results.outcomes import OUTCOMES
from assay.viewer.builders import Builders
from assay.viewer.query import Filters
from assay.viewer.run_view import RunView
from assay.viewer.samples import table_rows


def test_a_scorer_that_broke_is_missing_in_its_own_aggregates_alone(runs: Runs, tmp_path: Path) -> None:
    rows = [{"q": "a", "a": "a"}, {"q": "b", "a": "x"}]
    breaks = python_scorer('1 / 0 if sample["q"] == "b" else {"v": 1}', metrics=[{"type": "mean", "field": "v"}])
    row = only(runs(rows, [EQUALS, breaks]))
    assert [(each.value, each.scored, each.failed) for each in row.aggregates] == [(0.5, 2, 0), (1.0, 1, 1)]
    assert (row.score, row.correct, row.scored, row.failed, row.coverage) == (0.5, 1, 2, 1, 1.0)
    assert (row.bounds, row.missing_scores, row.complete) == (None, {"own": 1}, False)
    view = RunView("run", tmp_path / "run", Builders())
    outcomes = [each["outcome"] for each in table_rows(view, view.rows(Filters(), "order", False, []).tolist(), [])]
    assert outcomes == ["right", "wrong"]


CORRECT: list[tuple[str, list[dict[str, Any]], float | None, int | None]] = [
    # the headline is `unique`, whatever `score` says next to it
    ('{"unique": sample["q"] == "a", "score": 1.0}', [{"type": "mean", "field": "unique", "bounds": [0, 1]}], 0.5, 1),
    ('{"v": 1.0 if sample["q"] == "a" else 0.0}', [{"type": "mean", "field": "v", "bounds": [0, 1]}], 0.5, 1),
    # a number that nobody describes is no mark, whatever values occur
    ('{"v": 1.0 if sample["q"] == "a" else 0}', [{"type": "mean", "field": "v"}], 0.5, None),
    ('{"v": 3 if sample["q"] == "a" else 1}', [{"type": "mean", "field": "v"}], 2.0, None),
    ('{"score": 7}', [{"type": "mean", "field": "score"}], 7.0, None),
    ('{"v": 1.0}', [{"type": "std_dev", "field": "v"}], 0.0, None),
]


@pytest.mark.parametrize(("body", "metrics", "score", "correct"), CORRECT, ids=[case[0] for case in CORRECT])
def test_correct_is_the_count_of_the_headline(
    runs: Runs, tmp_path: Path, body: str, metrics: list[dict[str, Any]], score: float | None, correct: int | None
) -> None:
    row = only(runs([{"q": "a"}, {"q": "b"}], [python_scorer(body, metrics=metrics)], solver=None))
    assert (row.score, row.correct) == (score, correct)
    view = RunView("run", tmp_path / "run", Builders())
    right = int((view.snapshot().column("outcome") == OUTCOMES.index("right")).sum())
    assert right == (correct or 0) or not row.aggregates[0].name.endswith("mean")


def test_a_scorer_for_quality_does_not_change_what_is_correct(runs: Runs) -> None:
    quality = {**EQUALS, "key": "quality", "purpose": "qa", "ground_truth": "never"}
    row = only(runs([{"q": "a", "a": "a"}], [EQUALS, quality]))
    assert (row.score, row.correct) == (1.0, 1)


def test_each_scorers_values_stand_by_themselves(runs: Runs) -> None:
    quality = {**EQUALS, "key": "quality", "purpose": "qa", "ground_truth": "never"}
    row = only(runs([{"q": "a", "a": "a"}], [EQUALS, quality], include_per_example=True))
    assert not isinstance(row.per_example, msgspec.UnsetType)
    [example] = row.per_example
    assert (example.score, example.values) == (1.0, {"main": {"is_correct": True}, "quality": {"is_correct": False}})


def test_values_that_some_samples_lack_are_reported(runs: Runs) -> None:
    rows: list[dict[str, Any]] = [{"q": "a", "v": 1}, {"q": "b"}, {"q": "c", "v": None}, {"q": "d", "v": 5}]
    scorer = python_scorer('{"v": sample.get("v")}', metrics=[{"type": "mean", "field": "v"}])
    board = runs(rows, [scorer], solver=None)
    row = only(board)
    assert (row.score, row.total, row.scored, row.unscored, row.coverage, row.remaining) == (3.0, 4, 2, 2, 0.5, 0)
    assert "t: the score is over 2: 2 of 4 attempts have no value for it" in notes(board)


class SilentAboutTokens:
    """A model that gives log-probabilities for every question but `b`."""

    name = "silent"

    async def generate(self, request: assay.Request) -> assay.Completion:
        told = None if request.prompt == "b" else [{"token": "x", "logprob": -0.5}]
        return assay.Completion(text="x", logprobs=told)


def test_answers_without_the_log_probabilities_that_were_asked_for_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": each, "prompt": each, "targets": ["x"], "metric": "exact_match", "extras": {}} for each in "abc"]
    Path("asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [with_them] = assay.evaluate("asked.jsonl", SilentAboutTokens(), logprobs=2)
    assert with_them.leaderboard.notices == ["asked: 1 attempt without log-probabilities, which --logprobs asks for"]
    [without] = assay.evaluate("asked.jsonl", SilentAboutTokens())
    assert not without.leaderboard.notices
