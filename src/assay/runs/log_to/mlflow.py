"""The listener `mlflow`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.types import Record
from assay.runs.evaluate import RunResult
from assay.runs.listeners import RunStart, SearchEvent
from assay.runs.log_to.facts import artifacts_of, metrics_of, params_of, run_id
from assay.runs.log_to.mlflow_run import ExperimentRun, client


class MLflow:
    """A run of an MLflow experiment, with params, metrics and the leaderboard; resumed with its run.

    Set the destination with MLflow's own variables: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME (default `assay`), …
    """

    def __init__(self) -> None:
        client()  # what is missing is said before the run begins

    def run_began(self, run: RunStart) -> None:
        self._done, self._failed = run.done, 0
        self._run = ExperimentRun(run_id(run), run.folder, params_of(run))

    def records(self, batch: Sequence[Record]) -> None:
        self._done += len(batch)
        self._failed += sum(record.failed for record in batch)
        self._run.log({"attempts/done": self._done, "attempts/failed": self._failed}, self._done)

    def run_finished(self, result: RunResult) -> None:
        self._run.log(metrics_of(result.leaderboard), self._done)
        for path in artifacts_of(result):
            self._run.keep(path)
        self._run.end(early=result.interrupted or result.stopped is not None)

    def search_event(self, event: SearchEvent) -> None:
        """A run for the search too: its best score over evaluator calls, and its summary and page at the end."""
        if event.event == "began":
            self._run = ExperimentRun(event.fingerprint, Path(event.folder), {"budget": event.budget})
        elif event.event == "step":
            best = {} if event.best is None else {"search/best": event.best}
            self._run.log({"search/calls": event.calls} | best, event.calls)
        elif event.event == "finished":
            for name in ("summary.json", "best.txt", "page.html"):
                self._run.keep(Path(event.folder) / name)
            self._run.end(early=event.result.stop_reason == "interrupted")
