"""Searches of `assay optimize` among the runs: the result of one, read from the summary it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.core.journal import Failed, read_journal
from assay.core.regular_file import read_regular
from assay.pages.charts.course import ScoredText, search_chart
from assay.pages.charts.figure import plain_figure
from assay.results.conversation import ends_kept
from assay.results.search_rows import EvaluationRow, SearchSummary

SHOWN_RECORDS = 500
MOST_BYTES = 512 << 20
"""A summary holds every evaluation."""
LONGEST = 4000
"""Characters of one value; what is longer keeps its ends, and `summary.json` all of it."""
NOT_YET = "no summary yet: the search is running, or was interrupted; the same command resumes it"
SHOWN_REJECTED = 200


def search_of(name: str, folder: Path) -> dict[str, Any]:
    summary = _summary(folder)
    if summary is None:
        return {"kind": "search", "name": name, "summary": None, "reason": NOT_YET, "so_far": _so_far(folder)}
    records = _records(summary)
    omitted = len(summary.examples) - len(records)
    rejected = summary.rejected[:SHOWN_REJECTED]
    plain = msgspec.to_builtins(replace(summary, rejected=rejected, examples=[], evaluations=[]))
    chart = _curve(plain["lineage"], plain["rejected"], plain, unit=summary.score_range == "unit")
    shown = {**plain, "chart": chart, "records": records, "records_omitted": omitted}
    return {"kind": "search", "name": name, "summary": shown}


def _curve(
    lineage: list[dict[str, Any]], rejected: list[dict[str, Any]], about: dict[str, Any], *, unit: bool
) -> dict[str, Any] | None:
    """The course of the search as a chart; None where nothing was scored."""
    kept = [
        ScoredText(calls=item["calls"], score=item["mean"], name=_name(item["number"], about.get("best_number")))
        for item in lineage
        if item["mean"] is not None
    ]
    turned_down = [
        ScoredText(calls=item.get("calls", 0), score=item["score"], name=_name(item["number"], None))
        for item in rejected
        if item.get("score") is not None
    ]
    if not kept:
        return None
    last = max(about["calls"].get("used", 0), *(candidate.calls for candidate in kept))
    return plain_figure(search_chart(kept, turned_down, last=last, unit=unit, on=about["selected_on"]))


def _name(number: int, best: int | None) -> str:
    name = "seed" if number == 0 else f"#{number}"
    return f"{name} (best)" if number == best else name


class _Line(Struct):
    """What is needed of a line of the journal."""

    kind: str
    candidate: int | None = None
    part: str = ""
    index: int = 0
    repeat: int = 1
    score: float | None = None
    unusable: str | None = None
    reused: bool = False

    @property
    def failures(self) -> tuple[str, ...]:
        """An evaluation without a score failed."""
        return () if self.score is not None or self.kind != "evaluation" else (self.kind,)


def _so_far(folder: Path) -> dict[str, Any] | None:
    """How far a search without a summary is: what its journal holds, and every text scored on all that the seed was."""
    calls, proposals = {"used": 0, "failed": 0}, {"answers": 0, "unusable": 0}
    scored: dict[int, dict[tuple[int, int], float]] = {}
    calls_at: dict[int, int] = {}
    """Per candidate, the calls that had been made when it was last scored."""
    selected_on = ""
    try:
        for item in read_journal(folder / "journal.jsonl", _Line):
            line = item.record
            if line.kind == "proposal":
                proposals["unusable" if line.unusable else "answers"] += 1
            elif line.kind == "evaluation" and line.part != "testset":
                selected_on = selected_on or line.part  # the seed comes first, on all that is selected on
                calls["used"] += not line.reused
                calls["failed"] += isinstance(item, Failed)
                if line.part == selected_on and line.score is not None:
                    candidate = line.candidate or 0
                    scored.setdefault(candidate, {})[line.index, line.repeat] = line.score
                    calls_at[candidate] = calls["used"]
    except FileNotFoundError:
        return None
    wanted = len(scored.get(0, ()))
    lineage = [
        {"number": number, "calls": calls_at[number], "mean": sum(scores.values()) / wanted}
        for number, scores in scored.items()
        if len(scores) == wanted
    ]
    words = "text" if selected_on == "single" else selected_on
    about = {"calls": calls, "selected_on": words}
    unit = all(0.0 <= each["mean"] <= 1.0 for each in lineage)
    return {**about, "proposals": proposals, "lineage": lineage, "chart": _curve(lineage, [], about, unit=unit)}


def _records(summary: SearchSummary) -> list[dict[str, Any]]:
    """Every record that seed and best were scored on, with each evaluation that any candidate had there."""
    seen: dict[tuple[str, int], list[EvaluationRow]] = {}
    for row in summary.evaluations:
        seen.setdefault((row.part, row.index), []).append(row)
    return [
        {
            "part": example.part,
            "index": example.index,
            "record": _cut(example.record),
            "seed": example.seed,
            "best": example.best,
            "failed": example.best_failure is not None,
            "evaluations": [_evaluation(row) for row in seen.get((example.part, example.index), ())],
        }
        for example in summary.examples[:SHOWN_RECORDS]
    ]


def _evaluation(row: EvaluationRow) -> dict[str, Any]:
    side_info = {name: _cut(value) for name, value in row.side_info.items() if value != row.output and name != "scores"}
    return {
        "candidate": row.candidate,
        "repeat": row.repeat,
        "score": row.score,
        "output": _cut(row.output),
        "scores": row.scores,
        "side_info": side_info,
        "failure": None if row.failure is None else _cut(row.failure.message),
        "seconds": row.seconds,
        "cost": row.cost,
        "reused": row.reused,
    }


def _cut(value: Any) -> Any:
    """A value that is small enough to be shown, or its text without the middle."""
    if isinstance(value, str):
        return ends_kept(value, LONGEST)
    if value is None or isinstance(value, bool | int | float):
        return value
    text = msgspec.json.encode(value).decode()
    return value if len(text) <= LONGEST else ends_kept(text, LONGEST)


def listed_search(name: str, folder: Path) -> dict[str, Any]:
    """One line of the list: the proposer and the result; not the score of a run, and never an error."""
    summary = _summary(folder)
    changed = (folder / "journal.jsonl") if (folder / "journal.jsonl").exists() else folder / "run.json"
    line: dict[str, Any] = {"kind": "search", "name": name, "changed": changed.stat().st_mtime, "tasks": []}
    if summary is None:
        return {**line, "model": name, "verdict": NOT_YET}
    held = summary.testset or summary.valset
    return {
        **line,
        "model": summary.proposer,
        "tasks": [summary.evaluator],
        "verdict": summary.verdict,
        "seed": held.seed.mean,
        "best": held.best.mean,
        "on": "held-out data" if summary.held_out else "testset" if summary.testset else summary.selected_on,
        "calls": summary.calls.get("used", 0),
    }


def _summary(folder: Path) -> SearchSummary | None:
    path = folder / "summary.json"
    try:
        return msgspec.json.decode(read_regular(path, MOST_BYTES), type=SearchSummary)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not the summary of a search: {error}") from error
