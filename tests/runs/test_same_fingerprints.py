"""The same work has the same fingerprints and the same scores, whichever way it is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

import assay
from assay.cli.main import main
from assay.optimize.task_fitness import TaskFitness
from assay.run_config import RunConfig
from assay.run_file import read_run_file
from assay.runs.assemble import assemble_tasks
from assay.runs.evaluate import run_evaluation
from assay.runs.finish import finish
from assay.runs.plan import make_config, plan_runs, read_tasks
from assay.runs.shards import merge_run
from assay.runs.worker import Terms, open_worker, payload_of

RUN_FILE = """\
datasets:
  - key: sums
    display_name: S
    source: {type: inline, samples: [{q: "compute: 1 + 1", a: "2"}, {q: "compute: 2 + 2", a: "5"}]}
models:
  - {key: one, display_name: A, config: {connection_type: assay, model: toy}, rate_limit: 60000}
  - {key: two, display_name: B, config: {connection_type: assay, model: "stub:2"}}
tasks:
  - key: add
    display_name: T
    description: d
    definition:
      dataset: {key: sums}
      solver:
        type: single_turn_solver
        input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
      scorers: [{type: string_equals, ground_truth: "{{ sample.a }}"}]
evaluation:
  key: e
  display_name: E
  task_specifications: [{task_key: add, model_key: one}, {task_key: add, model_key: two, key: again}]
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count in (("sums", 20), ("more", 7)):
        lines = [{"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + n % 5)]} for n in range(count)]
        texts = [json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines]
        Path(f"{name}.jsonl").write_text("".join(texts))


needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` is not installed")
SOURCES = ["sums.jsonl", "more.jsonl"]
SETTINGS: dict[str, Any] = {"repeat": 2, "limit": 15, "keep_thinking": True}
FLAGS = ["--repeat", "2", "--limit", "15", "--keep-thinking", "--quiet"]


def by_command(folder: Path) -> None:
    assert main(["run", *SOURCES, *FLAGS, "--run-dir", str(folder)]) == 0


def by_shards(folder: Path) -> None:
    for shard in ("2/3", "1/3", "3/3"):
        assert main(["run", *SOURCES, *FLAGS, "--run-dir", str(folder), "--shard", shard]) == 0
    assert main(["merge", str(folder)]) == 0


def by_a_worker(folder: Path) -> None:
    """What a worker of a cluster does, without the cluster: the driver's folder, a shard at a time."""
    assert main(["run", *SOURCES, *FLAGS, "--run-dir", str(folder), "--shard", "1/4"]) == 0
    worker = open_worker(msgspec.json.encode(payload_of(read_run_file(folder), folder)))
    terms = msgspec.json.encode(Terms(share=1.0, budget_tokens=None, budget_cost=None))
    assert worker.run(0, 12, terms)
    assert worker.run(12, 22, terms)
    worker.close()
    assert merge_run(folder).remaining == []


def on_ray(folder: Path) -> None:
    assert main(["run", *SOURCES, *FLAGS, "--run-dir", str(folder), "--executor", "ray", "--workers", "1"]) == 0


def by_rescoring(folder: Path) -> None:
    assert main(["run", *SOURCES, *FLAGS, "--run-dir", "first"]) == 0
    assert main(["rescore", "first", *SOURCES, "--run-dir", str(folder), "--quiet"]) == 0


def from_a_script(folder: Path) -> None:
    assert assay.evaluate(SOURCES, "toy", folder=folder, **SETTINGS).exit_status == 0


def from_a_notebook(folder: Path) -> None:
    tasks = assay.load_tasks(SOURCES)
    assert asyncio.run(assay.aevaluate(tasks, folder=folder, **SETTINGS)).exit_status == 0


def by_run_evaluation(folder: Path) -> None:
    run_evaluation(assay.load_tasks(SOURCES), RunConfig(**SETTINGS), folder=folder)


WAYS = [by_shards, by_a_worker, by_rescoring, from_a_script, from_a_notebook, by_run_evaluation]


@pytest.mark.parametrize("way", [*WAYS, pytest.param(on_ray, marks=needs_ray)])
def test_every_way_gives_the_same_fingerprints_and_scores(way: Callable[[Path], None]) -> None:
    by_command(Path("whole"))
    way(Path("other"))
    assert traits(Path("other")) == traits(Path("whole"))


def traits(folder: Path) -> dict[str, Any]:
    run, board = read_run_file(folder), asyncio.run(finish(folder))
    return {
        "run": run.fingerprint,
        "tasks": run.tasks,
        "model": run.model,
        "settings": run.settings,
        "board": board.fingerprint,
        "rows": [(row.sha256, row.fingerprint, row.score, row.interval, row.total) for row in board.tasks],
    }


def test_a_search_and_a_check_are_about_the_same_tasks_as_a_run() -> None:
    by_command(Path("whole"))
    run = read_run_file(Path("whole"))
    definitions = assay.load_tasks(SOURCES)
    identity = TaskFitness(definitions, RunConfig(**SETTINGS)).identity
    assert (identity["tasks"], identity["model"], identity["settings"]) == (run.tasks, run.model, run.settings)

    async def checked() -> dict[str, str]:
        async with assemble_tasks(definitions, RunConfig(limit=15)) as parts:
            return {task.name: task.fingerprint for task in parts.tasks}

    assert asyncio.run(checked()) == run.tasks


def test_a_run_file_means_the_same_from_python_and_from_the_command_line() -> None:
    Path("run.yaml").write_text(RUN_FILE)
    assert main(["run", "run.yaml", "--quiet"]) == 0
    commanded = {folder.name: traits(folder) for folder in Path("runs").iterdir()}
    Path("runs").rename("commanded")
    found = assay.evaluate(assay.load_tasks(["run.yaml"]))
    assert [run.leaderboard.adapter for run in found] == ["toy", "stub:2"]
    assert {run.folder.name: traits(run.folder) for run in found} == commanded


def test_the_default_settings_are_those_of_the_command_line() -> None:
    main(["run", *SOURCES, "--quiet", "--run-dir", "run"])
    assert make_config(model="toy") == read_run_file(Path("run")).config


def test_a_model_that_was_chosen_is_meant_for_every_task_of_a_run_file() -> None:
    Path("run.yaml").write_text(RUN_FILE)
    config = make_config()
    definitions = read_tasks(["run.yaml"], config).definitions
    assert [run.config.model for run in plan_runs(definitions, config, ["stub:7"])] == ["stub:7"]
    named = plan_runs(definitions, config)
    assert [(run.config.model, run.config.requests_per_minute) for run in named] == [("toy", 60000), ("stub:2", None)]
