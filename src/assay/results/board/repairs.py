"""What a leaderboard says about a journal whose damaged lines were set aside."""

from __future__ import annotations

from assay.run_file import RunFile


def repair_notices(run: RunFile) -> list[str]:
    """A notice per day of repairs: spoiling wrong answers to have the model try again is visible."""
    days: dict[str, int] = {}
    for repair in run.repairs:
        days[repair.time[:10]] = days.get(repair.time[:10], 0) + repair.lines
    return [
        f"repaired on {day}: {lines:,} damaged {'line was' if lines == 1 else 'lines were'} set aside, to be run again"
        for day, lines in days.items()
    ]
