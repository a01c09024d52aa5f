"""The source of tables: what the flags say of a table is written as a run file, and read as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import open_regular
from assay.datasets.tables import READERS
from assay.formats.declarative.library import Library
from assay.formats.declarative.load import reading_options
from assay.formats.declarative.nearby_files import NearbyFiles
from assay.formats.declarative.run_file import tasks_of_run
from assay.formats.declarative.yaml_reader import Document
from assay.formats.table.written_task import TableTask, task_of_table
from assay.formats.task_source import LoadedTask, SourceContext
from assay.trust.project import root_of


class TableOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of a table; the rest follows from its columns where only one can be meant."""

    prompt: tuple[str, ...] = ()
    """Files with templates, or templates: each is tried with each model."""
    target: str | None = None
    """The column of right answers."""
    answers: str | None = None
    """The column of recorded answers: no model is called."""
    contexts: str | None = None
    """The column of retrieved passages."""
    scorer: tuple[str, ...] = ()
    separator: str | None = None
    encoding: str | None = None
    sheet: str | None = None


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
        written = written_task(text, options, context)
        path = Path(text)
        document = Document(written.run_file(path.parent), path, {}, warnings=list(written.remarks), files=[path])
        # the user named every one of these files
        reading = replace(reading_options(context), allow_outside=True)
        library = Library(NearbyFiles(home=path.parent, root=root_of(path).resolve(), reading=reading))
        return [_from_table(task, written) for task in tasks_of_run(document, library, context.config)]


def _from_table(task: LoadedTask, written: TableTask) -> LoadedTask:
    provenance = msgspec.structs.replace(task.definition.provenance, table=written.columns)
    return task._replace(definition=msgspec.structs.replace(task.definition, provenance=provenance))


def written_task(text: str, options: TableOptions, context: SourceContext) -> TableTask:
    """What the flags and the columns of a table say, before it is a task."""
    if options.answers is not None and context.evaluated:
        raise UsageError("--answers: recorded answers call no model; leave --model out")
    return task_of_table(
        Path(text),
        prompts=options.prompt,
        target=options.target,
        answers=options.answers,
        contexts=options.contexts,
        scorers=options.scorer,
        form={"separator": options.separator, "encoding": options.encoding, "sheet": options.sheet},
    )
