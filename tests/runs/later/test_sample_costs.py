"""What an attempt at every sample takes: from the prompts, or from what an earlier run used."""

from __future__ import annotations

from pathlib import Path

from tests.results.runs import Adder, run_into, write_sums

from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.run_config import RunConfig
from assay.runs.later.sample_costs import costs_of_models, costs_of_run, tasks_to_plan
from assay.runs.plan import plan_runs
from assay.tasks.load import load_tasks


def test_samples_and_their_groups_are_counted_within_the_limit(tmp_path: Path) -> None:
    path = write_sums(tmp_path, "sums", 40, metadata=lambda n: {"group": n // 4})
    [task] = tasks_to_plan(load_tasks([str(path)]), RunConfig(limit=20), "group")
    assert (task.samples, task.group) == (20, 4.0)
    [alone] = tasks_to_plan(load_tasks([str(path)]), RunConfig(), "other")
    assert (alone.samples, alone.group) == (40, 1.0)


def test_a_model_is_priced_from_the_prompts(tmp_path: Path) -> None:
    definitions = load_tasks([str(write_sums(tmp_path, "sums", 40))])
    config = RunConfig(model="openai:gpt-4o-mini")
    tasks = tasks_to_plan(definitions, config, "group")
    [cost] = costs_of_models(tasks, plan_runs(definitions, config), priced=True)
    assert cost.requests == 40
    assert (cost.amount or 0.0) > 0.0
    [unnamed] = costs_of_models(tasks, plan_runs(definitions, RunConfig()), priced=False)
    assert (unnamed.amount, unnamed.reason) == (None, "no --model is named")


def test_an_earlier_run_is_scaled_to_the_samples_at_hand(tmp_path: Path) -> None:
    path = write_sums(tmp_path, "sums", 40)
    run_into(tmp_path / "run", path, Adder(), repeat=3)
    tasks = tasks_to_plan(load_tasks([str(path)]), RunConfig(limit=20), "group")
    [cost] = costs_of_run(tasks, read_side(tmp_path / "run", View()))
    assert cost.requests == 20
    assert cost.tokens is None
    assert cost.amount is None
    assert cost.reason is not None
