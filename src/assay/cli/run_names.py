"""Runs as a command line names them: folders, Inspect logs, and in `runs/*` also searches, which are no runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import SearchFolderError, UsageError


def run_named(name: str) -> str:
    """The run folder of an Inspect log; any other name unchanged."""
    path = Path(name)
    if path.suffix.lower() not in (".eval", ".json"):
        return name
    from assay.runs.logs import logs_of

    logs = logs_of(path)
    if logs is None:
        return name
    folder = logs.run_folder(path)
    if others := logs.other_results(folder):
        print(f"{path}: scores are means over attempts; Inspect also reports {', '.join(others)}", file=sys.stderr)
    return str(folder)


def runs_named(given: Sequence[str]) -> list[str]:
    """The runs among several names; a search is skipped with a line on stderr. Searches alone are refused later."""
    names = list(map(run_named, given))
    searches = [name for name in names if is_search(Path(name))]
    if len(searches) == len(names):
        return names
    for name in searches:
        print(f"skipped {name}: holds a search of `assay optimize`, not a run", file=sys.stderr)
    return [name for name in names if name not in searches]


def is_search(folder: Path) -> bool:
    from assay.run_file import read_run_file

    try:
        read_run_file(folder)
    except SearchFolderError:
        return True
    except UsageError:
        return False  # its reader reports what is wrong with it
    return False
