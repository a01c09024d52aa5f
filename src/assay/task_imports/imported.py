"""What an import makes: task files, and a list of what it could not carry over. Nothing is dropped in silence."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.run_file import write_text
from assay.tasks.project import is_hidden, is_of_this_project, root_of

Row = dict[str, Any]

MAX_YAML_BYTES = 16 << 20
MAX_DATA_BYTES = 1 << 30


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
    for task, rows in found.tasks.items():
        try:
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        except (TypeError, ValueError, RecursionError) as error:  # a day, say, which YAML has and JSON has not
            raise UsageError(f"{source}: a value in it cannot be written as JSON: {error}") from error
        write_text(out / f"{task}.jsonl", "\n".join([f"# imported from {source.name}", *lines]) + "\n")
    told = {
        "source": source.name,
        "tasks": {task: len(rows) for task, rows in found.tasks.items()},
        "left_behind": found.left_behind,
        "remarks": found.remarks,
    }
    write_text(out / "import.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def inside(path: Path, named: Path) -> Path:
    """A file that an imported file names: of its project or of the current one, for what it holds becomes a prompt."""
    root, target = root_of(path), named.resolve()
    if not is_of_this_project(named) and (not target.is_relative_to(root) or is_hidden(target, root)):
        raise UsageError(f"{path}: names `{named}`, which lies outside its project ({root}); copy it there")
    return named


def task_name(text: str) -> str:
    """A name that is also a file's."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in text).strip("-.") or "task"


def read_records(path: Path) -> list[dict[str, Any]]:
    """The rows of a local data file: JSON Lines, JSON (a list, or an object that holds one), CSV or TSV."""
    text = read_text(path, MAX_DATA_BYTES)
    try:
        if path.suffix in (".csv", ".tsv"):
            return list(csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix == ".tsv" else ","))
        if path.suffix == ".json":
            whole = json.loads(text)
            if isinstance(whole, dict):
                whole = next((value for value in whole.values() if isinstance(value, list)), [whole])
            return [record for record in whole if isinstance(record, dict)] if isinstance(whole, list) else []
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
    except csv.Error as error:
        raise UsageError(f"{path}: is not a table: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON: {error}") from error
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise UsageError(f"{path}: record {number}: a JSON object is expected")
    return records


def read_text(path: Path, most: int = MAX_YAML_BYTES) -> str:
    """The text of a regular file that is not too large."""
    try:
        return read_regular(path, most).decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error


def shaped(value: Any, shape: Any, where: str) -> Any:
    """A value as the record it should be; a `UsageError` says which field is something else."""
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{where}: is not in a shape that can be carried over: {error}") from error
