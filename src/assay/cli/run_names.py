"""Runs as a command line names them: `runs/*` also matches the searches of `assay optimize`, which are no runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import SearchFolderError, UsageError


def without_searches(names: Sequence[str]) -> list[str]:
    """The runs among several folders; a search is skipped with a line on stderr. Searches alone are refused later."""
    searches = [name for name in names if is_search(Path(name))]
    if len(searches) == len(names):
        return list(names)
    for name in searches:
        print(f"skipped {name}: holds a search of `assay optimize`, not a run", file=sys.stderr)
    return [name for name in names if name not in searches]


def is_search(folder: Path) -> bool:
    from assay.core.run_file import read_run_file

    try:
        read_run_file(folder)
    except SearchFolderError:
        return True
    except UsageError:
        return False  # whoever reads it says what is wrong with it
    return False
