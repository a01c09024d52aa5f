"""The source of tables: what the flags say of a table is written as a run file, and read as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.datasets.tables import READERS
from assay.formats.declarative.library import Library
from assay.formats.declarative.load import reading_options
from assay.formats.declarative.nearby_files import NearbyFiles
from assay.formats.declarative.run_file import tasks_of_run
from assay.formats.declarative.yaml_reader import Document
from assay.formats.table.given_rows import given_rows
from assay.formats.table.table_options import TableOptions
from assay.formats.table.written_task import TableTask, task_of_file, task_of_rows
from assay.formats.task_source import LoadedTask, SourceContext
from assay.trust.project import root_of


class TableSource:
    """The source of `.csv`, `.tsv`, `.parquet`, `.xlsx`, lists in `.json`, and `.jsonl` of any keys."""

    Options = TableOptions
    uses_config = False

    def claims(self, path: Path) -> bool:
        if path.suffix != ".json":
            return path.suffix in READERS
        with open_regular(path) as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")

    def read(self, text: str, options: TableOptions, context: SourceContext) -> list[LoadedTask]:
        return tasks_as_written(written_task(text, options, context), Path(text), context)


class RowsSource:
    """The source of rows that a Python program passes: `rows:NAME`."""

    Options = TableOptions

    def read(self, text: str, options: TableOptions, context: SourceContext) -> list[LoadedTask]:
        name = text.partition(":")[2]
        refuse_models(options, context)
        written = task_of_rows(name, given_rows(name), options)
        return tasks_as_written(written, Path(name), context)


def written_task(text: str, options: TableOptions, context: SourceContext) -> TableTask:
    """What the flags and the columns of a table say, before it is a task."""
    refuse_models(options, context)
    return task_of_file(Path(text), options)


def refuse_models(options: TableOptions, context: SourceContext) -> None:
    if options.answers is not None and context.evaluated:
        raise UsageError("--answers: recorded answers call no model; leave --model out")


def tasks_as_written(written: TableTask, path: Path, context: SourceContext) -> list[LoadedTask]:
    """The tasks of the run file that says the same."""
    files = [path] if written.path is not None else []
    document = Document(written.run_file(path.parent), path, {}, warnings=list(written.remarks), files=files)
    # the user named every one of these files
    reading = replace(reading_options(context), allow_outside=True)
    library = Library(NearbyFiles(home=path.parent, root=root_of(path).resolve(), reading=reading))
    return [_from_table(task, written) for task in tasks_of_run(document, library, context.config)]


def _from_table(task: LoadedTask, written: TableTask) -> LoadedTask:
    provenance = msgspec.structs.replace(task.definition.provenance, table=written.columns)
    return task._replace(definition=msgspec.structs.replace(task.definition, provenance=provenance))
