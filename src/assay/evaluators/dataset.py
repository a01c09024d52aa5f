"""Datasets and valsets of evaluators: JSON lines, one object each, every bad line reported at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.evaluators.payload import kind_of
from assay.reading.strict_json import MAX_LINE_BYTES, Line, StrictJsonError, decode_strictly, read_given_lines

MAX_RECORDS = 10_000
MAX_REPORTED = 100
"""Bad lines that are shown one by one; the others are counted."""


class DatasetError(UsageError, ValueError):
    """A file that is no dataset: every bad line, with what is wrong with it."""


def load_dataset(path: Path | str) -> list[dict[str, Any]]:
    """The records of a file, in order. `DatasetError` lists every bad line with its number and what is wrong with it.

    An empty file gives an empty list; whoever needs records says so. `-`, `/dev/stdin` and `<(…)` are read too, once.
    """
    path = Path(path)
    records: list[dict[str, Any]] = []
    problems: list[str] = []
    for line in read_given_lines(path):
        try:
            records.append(_record(line))
        except ValueError as error:
            problems.append(f"{path}:{line.number}: {error}")
        if len(records) > MAX_RECORDS:
            problems.append(
                f"{path}:{line.number}: more than {MAX_RECORDS:,} records, which is the most a set may hold"
            )
            break
        if len(problems) > MAX_RECORDS:
            problems.append(f"{path}: the lines after {line.number} were not read; this is not a file of JSON lines")
            break
    if problems:
        raise DatasetError("\n".join(_reported(problems)))
    return records


def _reported(problems: list[str]) -> list[str]:
    """All of them, or the first, how many more there are, and the last, which may say where the reading ended."""
    if len(problems) <= MAX_REPORTED:
        return problems
    more = f"… and {len(problems) - MAX_REPORTED:,} more bad lines"
    return [*problems[: MAX_REPORTED - 1], more, problems[-1]]


def _record(line: Line) -> dict[str, Any]:
    if line.too_long:
        raise ValueError(f"the line is longer than {MAX_LINE_BYTES} bytes")
    try:
        value = decode_strictly(line.content)
    except StrictJsonError as error:
        what = "not UTF-8" if error.rule == "not_utf8" else "not valid JSON"
        raise ValueError(f"{what}: {error.detail}") from error
    if not isinstance(value, dict):
        raise ValueError(f"each record must be an object, not {kind_of(value)}")
    return value
