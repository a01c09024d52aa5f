"""Searches of `assay optimize` among the runs: what came of one, read from the summary it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular

NOT_YET = "no summary yet: the search is running, or was interrupted; the same command resumes it"
SHOWN_REJECTED = 200


class _SetScore(Struct):
    mean: float | None = None
    scored: int = 0
    failed: int = 0


class _Comparison(Struct):
    seed: _SetScore
    best: _SetScore
    verdict: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None


class _Candidate(Struct):
    number: int
    parent: int | None = None
    calls: int = 0
    mean: float | None = None
    failed: int = 0
    text: str = ""
    diff: list[str] = []


class SearchSummary(Struct):
    """As much of `summary.json` as the viewer shows."""

    verdict: str
    stopped: str
    evaluator: str
    proposer: str
    selected_on: str
    best: str
    seed: str
    best_number: int
    valset: _Comparison
    lineage: list[_Candidate]
    testset: _Comparison | None = None
    better: bool | None = None
    problem: str | None = None
    proposals: dict[str, int] = {}
    calls: dict[str, int] = {}
    rejected: list[dict[str, Any]] = []


def search_of(name: str, folder: Path) -> dict[str, Any]:
    """One search from above."""
    found = _summary(folder)
    if found is None:
        return {"kind": "search", "name": name, "summary": None, "reason": NOT_YET}
    found.rejected = found.rejected[:SHOWN_REJECTED]
    return {"kind": "search", "name": name, "summary": msgspec.to_builtins(found)}


def listed_search(name: str, folder: Path) -> dict[str, Any]:
    """One line of the list: who proposed and what came of it; no score of a run, and never broken."""
    found = _summary(folder)
    changed = (folder / "journal.jsonl") if (folder / "journal.jsonl").exists() else folder / "run.json"
    line: dict[str, Any] = {"kind": "search", "name": name, "changed": changed.stat().st_mtime, "tasks": []}
    if found is None:
        return {**line, "model": name, "verdict": NOT_YET}
    held = found.testset or found.valset
    return {
        **line,
        "model": found.proposer,
        "tasks": [found.evaluator],
        "verdict": found.verdict,
        "seed": held.seed.mean,
        "best": held.best.mean,
        "on": "held-out data" if found.testset else found.selected_on,
        "calls": found.calls.get("used", 0),
    }


def _summary(folder: Path) -> SearchSummary | None:
    path = folder / "summary.json"
    try:
        return msgspec.json.decode(read_regular(path), type=SearchSummary)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not the summary of a search: {error}") from error
