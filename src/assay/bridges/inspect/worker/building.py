"""Writes the samples of a task into a file, each with the request that its solvers make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.bridges.inspect.worker.loading import load, shown_name
from assay.bridges.inspect.worker.parts import GRADED, MEANS, metrics_of, name_of
from assay.bridges.inspect.worker.replay import UnansweredError, run_here, solved
from assay.bridges.process.plain import plain
from assay.bridges.process.problem import BridgeError
from assay.bridges.process.samples_file import write_samples


def build(order: dict[str, Any]) -> dict[str, Any]:
    """The task's samples in a file, its scorers and what they report."""
    task = load(order)
    name = str(task.name).rpartition("/")[2]
    samples = run_here(_samples(task, shown_name(order)))
    path, sha256 = write_samples(name, samples, Path(order["folder"]))
    return {
        "name": name,
        "path": str(path),
        "sha256": sha256,
        "size": len(samples),
        "epochs": task.epochs or 1,
        "scorers": scorers_of(task),
        "task_version": str(task.version),
    }


def scorers_of(task: Any) -> list[dict[str, Any]]:
    """The task's scorers: unique names, and the means that each reports."""
    from inspect_ai.scorer._scorer import unique_scorer_name

    names: list[str] = []
    scorers = []
    for scorer in task.scorer:
        names.append(unique_scorer_name(scorer, names))
        means = [item for item in map(name_of, metrics_of(scorer)) if item in MEANS]
        scorers.append({"name": names[-1], "means": means, "graded": name_of(scorer) in GRADED})
    return scorers


async def _samples(task: Any, shown: str) -> list[dict[str, Any]]:
    return [await _sample(task, sample, number, shown) for number, sample in enumerate(task.dataset, 1)]


async def _sample(task: Any, sample: Any, number: int, shown: str) -> dict[str, Any]:
    sample = sample.model_copy(update={"id": number if sample.id is None else sample.id})
    request = await _request(task, sample, shown)
    targets = [sample.target] if isinstance(sample.target, str) else list(sample.target)
    metadata = plain(sample.metadata or {})
    return {
        "id": str(sample.id),
        "prompt": request["messages"][-1]["content"],
        "targets": targets,
        "extras": request,
        "metadata": metadata,
        "row": {**sample.model_dump(mode="json", exclude_none=True, exclude={"metadata"}), "metadata": metadata},
    }


async def _request(task: Any, sample: Any, shown: str) -> dict[str, Any]:
    """The request that the solvers make; `BridgeError` where they fail, or make none."""
    try:
        await solved(task, sample, None)
    except UnansweredError as unanswered:
        return unanswered.request
    except BridgeError as error:
        raise BridgeError(f"`{shown}`: {error}") from error
    except Exception as error:
        message = f"`{shown}`: its request for sample `{sample.id}` cannot be built: {type(error).__name__}: {error}"
        raise BridgeError(message) from error
    raise BridgeError(f"`{shown}`: its solvers make no request for sample `{sample.id}`")
