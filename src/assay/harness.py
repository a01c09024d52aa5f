"""The small harness API: task folders in, an adapter with `generate(prompts)`, a leaderboard out.

    seed_fixture_tasks("outputs/tasks")
    tasks = load_all_tasks("outputs/tasks")
    board = run_leaderboard(tasks, ToyAdapter(), batch_size=8)
    write_leaderboard(board, "outputs/leaderboard.json")

Thin wrappers of the one runner: these functions return what `assay run` writes.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.catalog import resolve
from assay.core.errors import UsageError
from assay.core.seams import Metric, ModelAdapter, TakesBatches, close_part
from assay.core.types import DatasetSpec, TaskDefinition, Trace
from assay.event_loop import run_anywhere
from assay.formats.fixtures import seed_fixture_tasks
from assay.formats.folder.reader import ContentHash, define_task, load_all_tasks, sample_of, scorer_of
from assay.formats.folder.rules import CATALOG_NAMES, Example
from assay.formats.frozen_spec.reader import TaskSpec, load_fixtures, post_process, validate_file, validate_task
from assay.metrics.assertions import evaluate, has_forbidden, label_in_set
from assay.models.adapters.python_callable import as_model
from assay.models.adapters.toy import ToyAdapter
from assay.results.board.board_types import Leaderboard, TaskRow, write_leaderboard_file
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.scorers.code_exec import code_exec as code_exec_scorer
from assay.tasks.own_metric import metric_name

__all__ = [
    "METRIC_FNS",
    "Example",
    "ModelAdapter",
    "TaskResult",
    "TaskSpec",
    "ToyAdapter",
    "evaluate",
    "has_forbidden",
    "label_in_set",
    "load_all_tasks",
    "load_fixtures",
    "post_process",
    "run_leaderboard",
    "run_task",
    "seed_fixture_tasks",
    "validate_file",
    "validate_task",
    "write_leaderboard",
]
DEFAULT_BATCH_SIZE = 8
TaskResult = TaskRow
"""What `run_task` returns: score, counts, latency and the per-example records of one task."""


def run_task(
    task_name: str, examples: Sequence[Example], adapter: Any, batch_size: int = DEFAULT_BATCH_SIZE
) -> TaskRow:
    """Score one task: its row of the leaderboard, per-example records included."""
    return run_leaderboard({task_name: examples}, adapter, batch_size).tasks[0]


def run_leaderboard(
    tasks: Mapping[str, Sequence[Example]], adapter: Any, batch_size: int = DEFAULT_BATCH_SIZE
) -> Leaderboard:
    """Score every task with the adapter, `batch_size` prompts at a time."""
    if batch_size < 1:
        raise UsageError(f"batch_size is {batch_size}; it must be 1 or more")
    if not inspect.isfunction(adapter) and not (isinstance(adapter, ModelAdapter) and isinstance(adapter.name, str)):
        raise UsageError(f"an adapter is a function or has a `name` and `generate(prompts)`, which {adapter!r} has not")
    model = as_model(adapter)
    definitions = [inline_task(name, examples) for name, examples in tasks.items()]
    config = RunConfig(model=model.name, concurrency=batch_size, include_per_example=True)
    if isinstance(model, TakesBatches):
        config = msgspec.structs.replace(config, batch_size=batch_size)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        return run_evaluation(definitions, config, model=model, folder=Path(folder) / "run").leaderboard


def write_leaderboard(
    board: Leaderboard, path: Path | str, adapter_name: str | None = None, include_per_example: bool = False
) -> None:
    """Write the leaderboard as JSON; predictions and scores of every example only on request."""
    if adapter_name is not None:
        board = msgspec.structs.replace(board, adapter=adapter_name)
    if not include_per_example:
        rows = [msgspec.structs.replace(row, per_example=msgspec.UNSET) for row in board.tasks]
        board = msgspec.structs.replace(board, tasks=rows)
    write_leaderboard_file(Path(path), board)


def code_exec(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """The metric `code_exec` of task folders for one program, which runs in the sandbox.

    Each call starts a sandbox and ends it, about a tenth of a second; a run shares one among all its programs.
    `FailureError` if the program could not be judged: that is not a score.
    """
    example = Example(id="program", prompt="", targets=tuple(targets), metric="code_exec", extras=dict(extras))
    part = scorer_of(example)
    scorer = code_exec_scorer(part.key, **part.options)

    async def score() -> float:
        try:
            return cast(float, (await scorer(sample_of(example), Trace(prediction=prediction))).values["score"])
        finally:
            await close_part(scorer)

    return run_anywhere(score())


METRIC_FNS: dict[str, Metric] = {
    **{word: resolve("metric", name) for word, name in CATALOG_NAMES.items()},
    "code_exec": code_exec,
}
"""A task folder's word -> `(prediction, targets, extras) -> float in [0, 1]`."""


def inline_task(name: str, examples: Sequence[Example]) -> TaskDefinition:
    """A task that needs no file: its examples travel inside the definition."""
    if not examples:
        raise UsageError(f"task `{name}` has no examples")
    content = ContentHash()
    # a function is allowed where a file has a name; `Example` is also what a file is read into, so its type says text
    named = [msgspec.structs.replace(each, metric=metric_name(each.metric)) for each in examples]
    try:
        for example in named:
            content.add(example)
        plain = [msgspec.to_builtins(example) for example in named]
    except TypeError as error:
        raise UsageError(
            f"task `{name}`: an example holds what no file can ({error}); a metric is a name or `module:function`"
        ) from error
    dataset = DatasetSpec(use="task_folder", options={"examples": plain}, sha256=content.hexdigest(), size=content.size)
    return define_task(name, named[0], dataset)
