"""One run of an MLflow experiment: found again or made, written to in requests that MLflow takes, and ended."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.runs.log_to.facts import package, portable
from assay.text.printable import one_line


def client() -> Any:
    """MLflow's own; `UsageError` where it has no place to log to."""
    try:
        return package("mlflow.tracking", "mlflow").MlflowClient()
    except package("mlflow.exceptions", "mlflow").MlflowException as error:
        reason = one_line(str(error), 800).partition(". ")[0].rstrip(".")
        raise UsageError(
            f"--log-to mlflow: {reason}. Set MLFLOW_TRACKING_URI to a "
            "tracking server, such as http://127.0.0.1:5000, or, with `pip install mlflow`, to sqlite:///mlflow.db."
        ) from error


class ExperimentRun:
    """The run of the experiment that MLFLOW_EXPERIMENT_NAME names (else `assay`) which is known by this text."""

    def __init__(self, known_as: str, folder: Path, params: Mapping[str, Any]) -> None:
        self._entities = package("mlflow.entities", "mlflow")
        self._client = client()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "assay")
        known = self._client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self._client.create_experiment(name)
        tags = {"assay.run": known_as, "assay.folder": str(folder)}
        earlier = self._client.search_runs([experiment], f"tags.`assay.run` = '{known_as}'", max_results=1)
        made = earlier[0] if earlier else self._client.create_run(experiment, run_name=folder.name, tags=tags)
        self._run = made.info.run_id
        if earlier:
            self._client.update_run(self._run, status="RUNNING")
            return
        listed = [self._entities.Param(portable(key), str(value)[:500]) for key, value in params.items()]
        for first in range(0, len(listed), 100):  # what one request takes
            self._client.log_batch(self._run, params=listed[first : first + 100])

    def log(self, values: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [self._entities.Metric(portable(key), value, now, step) for key, value in values.items()]
        for first in range(0, len(metrics), 1000):
            self._client.log_batch(self._run, metrics=metrics[first : first + 1000])

    def keep(self, path: Path) -> None:
        self._client.log_artifact(self._run, str(path))

    def end(self, *, early: bool) -> None:
        self._client.set_terminated(self._run, "KILLED" if early else "FINISHED")
