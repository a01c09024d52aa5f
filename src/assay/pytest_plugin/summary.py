"""The summary at the end of a test session: scores with intervals, and the run folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.pages.document import TextTable
from assay.pages.markdown import markdown
from assay.text.numbers import amount, number
from assay.text.printable import one_line


def summary_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of all tasks, then the folder of each run."""
    counts = ["failed", *(["remaining"] if any(row["remaining"] for row in rows) else []), "total"]
    header = ["task", "model", "metric", "score", "95 % interval", *counts]
    shown = [
        [
            one_line(row["task"], 40),
            one_line(row["model"], 40),
            one_line(row["metric"], 40),
            number(row["score"]),
            "–" if row["interval"] is None else " to ".join(map(number, row["interval"])),
            *(str(row[count]) for count in counts),
        ]
        for row in rows
    ]
    folders = dict.fromkeys(row["folder"] for row in rows)
    costs = {row["folder"]: row["cost"] for row in rows}
    return [
        *markdown(TextTable(header=header, rows=shown, numeric_from=3)).splitlines(),
        *(f"run: {folder}{_cost(costs[folder])}" for folder in folders),
    ]


def _cost(cost: float | None) -> str:
    return f"   cost {amount(cost)}" if cost else ""
