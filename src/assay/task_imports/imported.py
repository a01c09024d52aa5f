"""What an import makes: task files, and what it could not carry over. Nothing is dropped in silence.

An import that would ask or score otherwise than the program it comes from is refused, unless the caller takes what
remains: that has another name, says at its head what is missing, and says so on every leaderboard.
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
from assay.core.run_file import write_text
from assay.printable import one_line
from assay.strict_json import MAX_LINE_BYTES, Line
from assay.tasks.folder.reader import NOT_CARRIED_OVER
from assay.tasks.folder.rules import LineError, check_line
from assay.tasks.project import is_hidden, is_of_this_project, root_of

Row = dict[str, Any]

MAX_YAML_BYTES = 16 << 20
MAX_DATA_BYTES = 1 << 30


class Imported(Struct, kw_only=True):
    """Task name -> its rows, and one sentence per thing that is otherwise than in the file they come from."""

    tasks: dict[str, list[Row]] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    """Documents, prompts and scoring that could not be carried over: the tasks would measure something else."""
    left_behind: list[str] = field(default_factory=list)
    """What has no part in the scores of these tasks: further metrics, tags."""
    remarks: list[str] = field(default_factory=list)
    """What is carried over but means something slightly different here."""

    def lose(self, what: Literal["documents", "prompt", "scoring"], sentence: str) -> None:
        _once(self.losses, f"{what}: {sentence}")

    def leave(self, sentence: str) -> None:
        _once(self.left_behind, sentence)

    def remark(self, sentence: str) -> None:
        _once(self.remarks, sentence)


def _once(sentences: list[str], sentence: str) -> None:
    if sentence not in sentences:
        sentences.append(sentence)


def write_imported(found: Imported, source: Path, out: Path, *, partial: bool = False) -> None:
    """The task files, and `import.json` with where they come from and what is missing; all of it or nothing.

    With losses only what `partial` allows is written, under a name that ends in `-partial`.
    """
    if not any(found.tasks.values()):
        missing = "; ".join([*found.losses, *found.left_behind])
        raise UsageError(f"{source}: nothing in it could be carried over: {missing or 'empty'}")
    if found.losses and not partial:
        raise UsageError(
            f"{source}: nothing was written: the imported task would measure something else, for this could not be "
            f"carried over:\n{_listed(found.losses)}\nAdd --partial to write what remains, named `…-partial` and "
            "marked as such on every leaderboard"
        )
    tasks = {f"{name}-partial": rows for name, rows in found.tasks.items()} if found.losses else found.tasks
    head = [f"# imported from {source.name}", *(f"{NOT_CARRIED_OVER}{one_line(loss)}" for loss in found.losses)]
    texts = {task: "\n".join([*head, *_lines(rows, source)]) + "\n" for task, rows in tasks.items() if rows}
    for task, text in texts.items():
        write_text(out / f"{task}.jsonl", text)
    record = {
        "source": source.name,
        "partial": bool(found.losses),
        "tasks": {task: len(rows) for task, rows in tasks.items()},
        "losses": found.losses,
        "left_behind": found.left_behind,
        "remarks": found.remarks,
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
        except (TypeError, ValueError, RecursionError) as error:  # a day, say, which YAML has and JSON has not
            raise UsageError(f"{source}: a value in it cannot be written as JSON: {error}") from error
        except LineError as error:
            raise UsageError(f"{source}: sample {row['id']}: {error.field}: {error.detail}") from error
        lines.append(line)
    return lines


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
            return _table(text, "\t" if path.suffix == ".tsv" else ",")
        if path.suffix == ".json":
            whole = json.loads(text)
            if isinstance(whole, dict):
                whole = next((value for value in whole.values() if isinstance(value, list)), [whole])
            records = whole if isinstance(whole, list) else [whole]
        else:
            # not `splitlines`: a JSON text may hold U+2028 and other ends of lines that are none of a file's
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
    """The rows by the names of the first one; a column of nothing but numbers holds numbers, as it does in pandas."""
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
    """A value as the record it should be; a `UsageError` says which field is something else."""
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{where}: is not in a shape that can be carried over: {error}") from error
