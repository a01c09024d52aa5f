"""The runs that the viewer shows, by name, and the list of them."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from assay.core.errors import SearchFolderError, UsageError
from assay.viewer.builders import LONG_BYTES, Builders
from assay.viewer.run_folders import find_runs
from assay.viewer.run_view import RunView
from assay.viewer.searches import listed_search

LOOK_SECONDS = 1.0
IN_MEMORY = 12
"""Runs whose columns are kept; the least recently used free their memory."""


class UnknownRunError(UsageError):
    """No run has this name."""


class RunList:
    """Looks for new run folders as they appear."""

    def __init__(self, roots: list[Path], *, awaited: bool = False) -> None:
        """Roots that are `awaited` need not be there yet."""
        self._roots, self._awaited = roots, awaited
        self.builders = Builders()
        self._views: dict[str, RunView] = {}
        self._looked = -LOOK_SECONDS
        self._used: dict[str, RunView] = {}
        self._lock = threading.Lock()

    def views(self) -> list[RunView]:
        with self._lock:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                folders = find_runs(self._roots, awaited=self._awaited)
                kept = {name: view for name, view in self._views.items() if folders.get(name) == view.folder}
                self._views = {
                    name: kept[name] if name in kept else RunView(name, folder, self.builders)
                    for name, folder in folders.items()
                }
                self._looked = time.monotonic()
            return list(self._views.values())

    def run(self, name: str) -> RunView:
        """A run by its name: looked up, never made into a path."""
        view = next((view for view in self.views() if view.name == name), None)
        if view is None:
            raise UnknownRunError(f"there is no run `{name[:200]}` here")
        with self._lock:
            self._used.pop(name, None)
            self._used[name] = view
            while len(self._used) > IN_MEMORY:
                self._used.pop(next(iter(self._used))).release()
        return view

    def stamps(self) -> dict[str, Any]:
        """What changes when a run does, without reading any of it."""
        return {view.name: view.stamp() for view in self.views()}


def listed(view: RunView) -> dict[str, Any]:
    """One line of the list of runs; a run that cannot be read says why."""
    try:
        with view.reading():
            return _line(view)
    except (UsageError, sqlite3.Error, OSError) as error:
        return {"name": view.name, "error": str(error)}


def _line(view: RunView) -> dict[str, Any]:
    try:
        run = view.run_file()
    except SearchFolderError:
        view.refuse_damaged()
        return listed_search(view.name, view.folder)
    board, moved_on = view.latest_board()
    known_done = board is not None and not moved_on and board["complete"]
    # a finished run's leaderboard has everything; only other runs need their index for the list
    progress = finished_progress(board) if known_done and board else view.progress()
    rows = board["tasks"] if board else []
    return {
        "kind": "run",
        "name": view.name,
        "model": run.model_label,
        "model_name": run.model.get("name"),
        "model_settings": {key: value for key, value in run.model.items() if key != "name"},
        "tasks": [definition.name for definition in run.definitions],
        "created": run.created,
        "changed": view.changed(),
        "score": board["overall_score"] if board else None,
        "reason": board.get("overall_reason") if board else None,
        "interval": board.get("overall_interval") if board else None,
        "by_task": [{"task": row["task"], "score": row["score"], "metric": row["metric_definition"]} for row in rows],
        "failed": sum(row["failed"] + row["timeouts"] for row in rows) if board else progress["failed"],
        "tokens_in": sum(row["tokens_in"] for row in rows),
        "tokens_out": sum(row["tokens_out"] for row in rows),
        "cost": cost_of(board),
        "progress": progress,
        "large": view.size() > LONG_BYTES,
        "marks": len(view.marks()),
    }


def cost_of(board: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the model and its judges cost, as the leaderboard has it; None when no vendor bills them."""
    judges = (board or {}).get("judge_cost")
    cost = (board or {}).get("cost") or (judges and {**judges, "amount": 0.0})  # nothing is due for the model itself
    if cost is None:
        return None
    return {
        "value": cost["amount"],
        "judges": judges["amount"] if judges else None,
        "judged": judges is not None,
        "currency": cost["currency"],
        "reason": cost["reason"] or (judges["reason"] if judges else None),
        "prices": f"{cost['source']}, {cost['date']}" if cost["source"] else None,
    }


def finished_progress(board: dict[str, Any]) -> dict[str, Any]:
    total = sum(row["total"] for row in board["tasks"])
    return {"total": total, "done": total, "failed": 0, "running": False, "complete": True, "indexed": 1.0}
