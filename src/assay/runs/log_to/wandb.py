"""The listener `wandb`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from assay.core.types import Record
from assay.runs.evaluate import RunResult
from assay.runs.listeners import RunStart
from assay.runs.log_to.facts import artifacts_of, metrics_of, package, params_of, run_id


class WeightsAndBiases:
    """A run of Weights & Biases, with config, progress, a summary and the leaderboard as an artifact.

    Set the destination with its own variables: WANDB_PROJECT (default `assay`), WANDB_MODE=offline, WANDB_DIR. Neither
    the console nor the source code, the git state or the machine is sent.
    """

    def __init__(self) -> None:
        self._wandb = package("wandb", "wandb")
        self._run: Any = None
        self._done = self._failed = 0

    def run_began(self, run: RunStart) -> None:
        quiet = self._wandb.Settings(
            console="off",
            silent=True,
            disable_git=True,
            disable_code=True,
            save_code=False,
            x_disable_meta=True,
            x_disable_stats=True,
        )
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", "assay"),
            id=run_id(run),
            name=run.folder.name,
            config=params_of(run),
            resume="allow",
            settings=quiet,
        )
        self._done, self._failed = run.done, 0

    def records(self, batch: Sequence[Record]) -> None:
        self._done += len(batch)
        self._failed += sum(record.failed for record in batch)
        self._run.log({"attempts/done": self._done, "attempts/failed": self._failed})

    def run_finished(self, result: RunResult) -> None:
        self._run.summary.update(metrics_of(result.leaderboard))
        artifact = self._wandb.Artifact(f"leaderboard-{self._run.id}", type="leaderboard")
        for path in artifacts_of(result):
            artifact.add_file(str(path))
        self._run.log_artifact(artifact)
        self._run.finish(exit_code=result.exit_status)
