"""Logs that other programs made of their runs: each becomes a run folder, by the part of the catalog that claims it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from assay import catalog


class RunLogs(Protocol):
    """The logs of one program."""

    def claims(self, path: Path) -> bool: ...

    def run_folder(self, path: Path) -> Path:
        """The run folder of a log, made if there is none yet."""
        ...

    def other_results(self, folder: Path) -> list[str]:
        """What the program itself reports and assay's numbers do not."""
        ...


def logs_of(path: Path) -> RunLogs | None:
    """The logs that this file is one of; None for run folders, for which no bridge is imported."""
    if not path.is_file():
        return None
    made: list[RunLogs] = [catalog.resolve("run_log", name)() for name in catalog.CATALOG["run_log"]]
    return next((logs for logs in made if logs.claims(path)), None)
