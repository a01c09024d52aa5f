"""The result of an import: task files, and what could not be carried over. Nothing is dropped silently.

An import that would prompt or score differently from the original program is refused, unless the caller accepts a
partial one: it has another name, lists what is missing at its head, and is marked on every leaderboard.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.formats.folder.reader import NOT_CARRIED_OVER
from assay.formats.folder.rules import LineError, check_line
from assay.reading.strict_json import MAX_LINE_BYTES, Line
from assay.run_file import write_text
from assay.text.printable import one_line
from assay.trust.project import is_of_this_project, out_of_bounds, root_of

Row = dict[str, Any]

MAX_YAML_BYTES = 16 << 20
MAX_DATA_BYTES = 1 << 30


class Imported(Struct, kw_only=True):
    """Task name -> its rows, and one message for every difference from the original file."""

    tasks: dict[str, list[Row]] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    """Documents, prompts and scoring that could not be carried over: the tasks would measure something else."""
    left_behind: list[str] = field(default_factory=list)
    """What does not affect the scores of these tasks: further metrics, tags."""
    remarks: list[str] = field(default_factory=list)
    """What is carried over but means something slightly different here."""

    def lose(self, category: Literal["documents", "prompt", "scoring"], message: str) -> None:
        _once(self.losses, f"{category}: {message}")

    def leave(self, message: str) -> None:
        _once(self.left_behind, message)

    def remark(self, message: str) -> None:
        _once(self.remarks, message)


def _once(messages: list[str], message: str) -> None:
    if message not in messages:
        messages.append(message)


def write_imported(imported: Imported, source: Path, out: Path, *, partial: bool = False) -> None:
    """Write the task files, and `import.json` with their source and what is missing; all of it or nothing.

    With losses, nothing is written unless `partial` is set; the names of the tasks then end in `-partial`.
    """
    if not any(imported.tasks.values()):
        missing = "; ".join([*imported.losses, *imported.left_behind])
        raise UsageError(f"{source}: nothing in it could be carried over: {missing or 'empty'}")
    if imported.losses and not partial:
        raise UsageError(
            f"{source}: nothing was written: the imported task would measure something else, because this could "
            f"not be carried over:\n{_listed(imported.losses)}\nAdd --partial to write what remains, named `…-partial` "
            "and marked as such on every leaderboard"
        )
    tasks = {f"{name}-partial": rows for name, rows in imported.tasks.items()} if imported.losses else imported.tasks
    head = [f"# imported from {source.name}", *(f"{NOT_CARRIED_OVER}{one_line(loss)}" for loss in imported.losses)]
    texts = {task: "\n".join([*head, *_lines(rows, source)]) + "\n" for task, rows in tasks.items() if rows}
    for task, text in texts.items():
        write_text(out / f"{task}.jsonl", text)
    record = {
        "source": source.name,
        "partial": bool(imported.losses),
        "tasks": {task: len(rows) for task, rows in tasks.items()},
        "losses": imported.losses,
        "left_behind": imported.left_behind,
        "remarks": imported.remarks,
    }
    write_text(out / "import.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")


_SHOWN_LOSSES = 50


def _listed(losses: list[str]) -> str:
    more = [f"… and {len(losses) - _SHOWN_LOSSES} more"] if len(losses) > _SHOWN_LOSSES else []
    return "\n".join(f"  - {loss}" for loss in [*losses[:_SHOWN_LOSSES], *more])


def _lines(rows: list[Row], source: Path) -> list[str]:
    """The rows as lines of a task file, each of which can be read back."""
    lines = []
    for number, row in enumerate(rows, 1):
        try:
            line = json.dumps(row, ensure_ascii=False)
            content = line.encode()
            check_line(Line(number, content, too_long=len(content) > MAX_LINE_BYTES))
        except (TypeError, ValueError, RecursionError) as error:  # a date, for example, which YAML has and JSON has not
            raise UsageError(f"{source}: a value in it cannot be written as JSON: {error}") from error
        except LineError as error:
            raise UsageError(f"{source}: sample {row['id']}: {error.field}: {error.detail}") from error
        lines.append(line)
    return lines


def inside(path: Path, named: Path) -> Path:
    """A file named by an imported file; it must be in that project or the current one, since it becomes a prompt."""
    if not is_of_this_project(named) and (reason := out_of_bounds(named, root_of(path))):
        raise UsageError(f"{path}: names `{named}`, which {reason}; copy it there")
    return named


def task_name(text: str) -> str:
    """The text as a name that is also valid for a file."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in text).strip("-.") or "task"


def read_records(path: Path) -> list[dict[str, Any]]:
    """The rows of a local data file: JSON Lines, JSON (a list, or an object that holds one), CSV or TSV."""
    text = read_text(path, MAX_DATA_BYTES)
    try:
        if path.suffix in (".csv", ".tsv"):
            return _table(text, "\t" if path.suffix == ".tsv" else ",")
        if path.suffix == ".json":
            content = json.loads(text)
            if isinstance(content, dict):
                content = next((value for value in content.values() if isinstance(value, list)), [content])
            records = content if isinstance(content, list) else [content]
        else:
            # not `splitlines`: a JSON string may hold U+2028 and other characters that would split it
            records = [json.loads(line) for line in text.split("\n") if line.strip()]
    except csv.Error as error:
        raise UsageError(f"{path}: is not a table: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON: {error}") from error
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise UsageError(f"{path}: record {number}: a JSON object is expected")
    return records


def _table(text: str, delimiter: str) -> list[dict[str, Any]]:
    """The rows, keyed by the header; a column that holds only numbers becomes numbers, as in pandas."""
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    header, rows = rows[0] if rows else [], rows[1:]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise csv.Error(f"row {number} has {len(row)} columns, the first row {len(header)}")
    columns = [_typed([row[at] for row in rows]) for at in range(len(header))]
    return [dict(zip(header, row, strict=True)) for row in zip(*columns, strict=True)]


def _typed(values: list[str]) -> list[Any]:
    for kind, pattern in ((int, _WHOLE), (float, _FRACTION)):
        if all(pattern.fullmatch(value) for value in values):
            return [kind(value) for value in values]
    return list(values)


_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_FRACTION = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def read_text(path: Path, most: int = MAX_YAML_BYTES) -> str:
    """The text of a regular file that is not too large."""
    try:
        return read_regular(path, most).decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error


def shaped(value: Any, shape: Any, where: str) -> Any:
    """The value converted to `shape`; a `UsageError` names the field that does not fit."""
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{where}: is not in a shape that can be carried over: {error}") from error
