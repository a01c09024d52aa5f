"""What an import makes: task files, and a list of what it could not carry over. Nothing is dropped in silence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from assay.core.errors import UsageError

Row = dict[str, Any]


class Imported(Struct, kw_only=True):
    """Task name -> its rows, and one sentence per thing that was left behind."""

    tasks: dict[str, list[Row]] = field(default_factory=dict)
    left_behind: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What is carried over but means something slightly different here."""

    def leave(self, sentence: str) -> None:
        if sentence not in self.left_behind:
            self.left_behind.append(sentence)


def write_imported(found: Imported, source: Path, out: Path) -> None:
    """The task files, and `import.json` with where they come from and what is missing."""
    if not any(found.tasks.values()):
        raise UsageError(f"{source}: nothing in it could be carried over: {'; '.join(found.left_behind) or 'empty'}")
    out.mkdir(parents=True, exist_ok=True)
    for task, rows in found.tasks.items():
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        _write(out / f"{task}.jsonl", "\n".join([f"# imported from {source.name}", *lines]) + "\n")
    told = {
        "source": source.name,
        "tasks": {task: len(rows) for task, rows in found.tasks.items()},
        "left_behind": found.left_behind,
        "remarks": found.remarks,
    }
    _write(out / "import.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def task_name(text: str) -> str:
    """A name that is also a file's."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in text).strip("-.") or "task"


def read_records(path: Path) -> list[dict[str, Any]]:
    """The rows of a local data file: JSON Lines, JSON (a list, or an object that holds one), CSV or TSV."""
    import csv

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if path.suffix in (".csv", ".tsv"):
        return list(csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix == ".tsv" else ","))
    try:
        if path.suffix == ".json":
            whole = json.loads(text)
            if isinstance(whole, dict):
                whole = next((value for value in whole.values() if isinstance(value, list)), [whole])
            return [record for record in whole if isinstance(record, dict)]
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise UsageError(f"{path}: is not JSON: {error}") from error
