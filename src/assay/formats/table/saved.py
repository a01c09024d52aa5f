"""The task of a table as a YAML file, which says the same in the format's own words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from assay.core.errors import UsageError
from assay.formats.table.table_options import TableOptions
from assay.formats.table.table_source import written_task
from assay.formats.task_source import SourceContext
from assay.run_file import write_whole

_WIDTH = 100


def save_task(table: str, options: Mapping[str, Any], context: SourceContext, path: Path) -> None:
    """Write the run file of a table; a file that says something else is never overwritten."""
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--save {path}: a YAML task ends in .yaml")
    written = written_task(table, msgspec.convert(dict(options), TableOptions), context)
    text = f"# `assay run {path.name}` runs it, with --model for the models.\n" + yaml.safe_dump(
        written.run_file(path.parent), sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
        raise UsageError(f"--save {path}: there is another file already; move it, or save under another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
