"""Which runs a request amounts to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest
from msgspec.structs import replace

import assay
from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.costs.spending import GENERATION
from assay.runs.plan import RunKeywords, plan_runs
from assay.tasks.load import load_tasks


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + 1)]} for n in range(8)]
    Path("sums.jsonl").write_text("".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines))
    return "sums.jsonl"


def right(prompt: str) -> str:
    return str(eval(prompt.removeprefix("compute:")))


def wrong(prompt: str) -> str:
    return "no"


def test_a_model_that_is_named_twice_is_run_once(task: str) -> None:
    assert [run.config.model for run in plan_runs(load_tasks([task]), RunConfig(), ["toy", "stub", "toy"])] == [
        "toy",
        "stub",
    ]


def test_what_samples_cost_to_write_is_paid_once_by_the_first_of_several_models(task: str) -> None:
    [definition] = load_tasks([task])
    written = replace(definition, metadata={**definition.metadata, GENERATION: [{"model": "m", "answers": 1}]})
    runs = plan_runs([written], RunConfig(), ["toy", "stub"])
    assert [GENERATION in run.definitions[0].metadata for run in runs] == [True, False]


def test_several_models_are_several_runs(task: str) -> None:
    found = assay.evaluate_tasks(task, [right, wrong, "toy"], limit=4)
    assert [run.leaderboard.overall_score for run in found] == [1.0, 0.0, 1.0]
    assert len({run.folder for run in found}) == 3
    assert found.exit_status == 0
    with pytest.raises(UsageError, match="there are 3 runs"):
        found.leaderboard  # noqa: B018
    with pytest.raises(UsageError, match="leave the folder of the run"):
        assay.evaluate_tasks(task, [right, wrong], folder="one")


def test_an_empty_list_of_models_is_refused_and_asks_no_other(task: str) -> None:
    with pytest.raises(UsageError, match="the list of models is empty"):
        assay.evaluate_tasks(task, [])
    assert not Path("runs").exists()


def test_tasks_may_be_paths_definitions_or_both(task: str) -> None:
    other = Path("more.jsonl")
    other.write_text(Path(task).read_text())
    found = assay.evaluate_tasks([other, *assay.load_tasks([task])], right)
    assert [row.task for row in found.leaderboard.tasks] == ["more", "sums"]


def test_a_setting_that_does_not_exist_or_cannot_be_is_named(task: str) -> None:
    with pytest.raises(UsageError, match=r"unknown setting of a run `temprature`\. Did you mean `temperature`"):
        assay.evaluate_tasks(task, right, temprature=0.5)
    with pytest.raises(UsageError, match="repeat must be 1 or more, got 0"):
        assay.evaluate_tasks(task, right, repeat=0)
    with pytest.raises(UsageError, match=r"Expected `int \| null`, got `str` - at `\$\.limit`"):
        assay.evaluate_tasks(task, right, limit="3")


def test_python_takes_the_settings_by_the_names_and_types_of_their_fields() -> None:
    fields = get_type_hints(RunConfig)
    del fields["model"]
    assert get_type_hints(RunKeywords) == {**fields, "concurrency": int | None}
