"""A template that reads a column which no sample has is refused before a model is called, not once for each answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from assay.catalog import POSTPROCESS, unknown_name
from assay.core.errors import UsageError
from assay.core.seams import ReadsColumns
from assay.core.task import Task
from assay.datasets.content import is_elsewhere

KNOWN_COLUMNS = 1000
"""Samples whose columns are offered when one is misspelt."""


def refuse_missing_columns(tasks: Iterable[Task], templates: Sequence[ReadsColumns]) -> None:
    """`UsageError` for the first, with its place. What only some samples lack is a failure of those samples.

    Samples are read until one has each column: the first, as a rule. Those of a server are not read twice.
    """
    for task in tasks:
        own = [
            (template, template.columns())
            for template in templates
            if template.task == task.name and not _reads_parts(task, template.field)
        ]
        if not any(columns for _, columns in own) or is_elsewhere(task.definition.dataset):
            continue
        known: dict[str, None] = {}
        missing = _missing(task, {column for _, columns in own for column in columns}, known)
        for template, columns in own:
            if lacking := [column for column in columns if column in missing]:
                raise _refusal(task, template, lacking[0], known)


def _reads_parts(task: Task, field: str) -> bool:
    """Whether a scorer reads the parts that the solver's `postprocessor` makes of an answer: other columns."""
    kind, _, rest = field.partition(".")
    keys = [part.key for part in task.definition.scorers if POSTPROCESS in part.options]
    return kind == "scorers" and any(rest == key or rest.startswith(f"{key}.") for key in keys)


def _missing(task: Task, columns: Collection[str], known: dict[str, None]) -> set[str]:
    missing = set(columns)
    for number, sample in enumerate(task.dataset):
        if not sample.row:  # it has no columns at all, or stands for rows that are not there yet
            return set()
        missing.difference_update(sample.row)
        if not missing:
            break
        if number < KNOWN_COLUMNS:
            known |= dict.fromkeys(sample.row)
    return missing


def _refusal(task: Task, template: ReadsColumns, column: str, known: Collection[str]) -> UsageError:
    from assay.formats.declarative.places import located_text  # reads the file again: only for error messages

    definition = task.definition
    message = f"`sample.{column}`: {unknown_name('field of `sample`', column, known)} (no sample has it)"
    return located_text(template.source, message, definition.provenance.files, key=definition.name) or UsageError(
        f"{definition.source or definition.format}: task `{task.name}`, field `{template.field}`: {message}"
    )
