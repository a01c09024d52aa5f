"""A function, or another metric by name, takes the place of the metric that a task names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.tasks.load import load_tasks
from assay.tasks.own_metric import metric_name, with_metric
from assay.trust.consent import require_trust


def shorter(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    return float(len(prediction) < len(targets[0]))


def task_of(folder: Path, **fields: Any) -> TaskDefinition:
    line = {"id": "1", "prompt": "2 + 2?", "targets": ["4"], "metric": "exact_match", **fields}
    (folder / "sums.jsonl").write_text(json.dumps(line) + "\n")
    return load_tasks(str(folder / "sums.jsonl"))[0]


def test_a_function_scores_instead_and_its_text_is_kept(tmp_path: Path) -> None:
    changed = with_metric(task_of(tmp_path, post_process="lower"), shorter)
    assert changed.metric == f"{__name__}:shorter"
    assert changed.scorers[0].options == {"metric": changed.metric, "post_process": "lower"}
    assert "len(prediction) < len(targets[0])" in changed.provenance.functions[changed.metric]


@pytest.mark.parametrize("metric", [shorter, f"{__name__}:shorter"])
def test_a_metric_that_the_program_gives_needs_no_trust_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: Any
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    require_trust([with_metric(task_of(tmp_path / "data"), metric)], trust=False)
    stranger = task_of(tmp_path / "data", metric="json:loads")
    with pytest.raises(UsageError, match="would run the Python `json:loads`"):
        require_trust([stranger], trust=False)


def test_a_name_means_what_it_means_in_a_task_folder(tmp_path: Path) -> None:
    changed = with_metric(task_of(tmp_path), "exact_match")
    assert (changed.metric, changed.scorers[0].options["metric"]) == ("exact_match", "normalized_exact_match")


def test_no_metric_of_texts_takes_the_place_of_likelihoods(tmp_path: Path) -> None:
    task = task_of(tmp_path, metric="choice_likelihood", extras={"choices": ["3", "4"]})
    with pytest.raises(UsageError, match="measures likelihoods"):
        with_metric(task, shorter)


async def waits(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (3, "is not a metric: give a function"),
        (dict, "is not a metric: give a function"),
        (waits, "the metric `waits` is `async`"),
        (lambda prediction: 1.0, r"must take \(prediction, targets, extras\): too many positional arguments"),
    ],
)
def test_what_cannot_be_a_metric_is_refused(metric: Callable[..., Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        metric_name(metric)
