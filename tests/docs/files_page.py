"""The reference page of the files that a run writes, field by field, read from the records that they are made of."""

from __future__ import annotations

from assay.core.types import (
    Bounds,
    Completion,
    Failure,
    Message,
    Record,
    Score,
    Summary,
    TaskDefinition,
    Trace,
    Usage,
)
from assay.results.board.board_types import Leaderboard, ScoreInterval, TaskRow
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, Repair, RunFile
from tests.docs.python_page import members

HEAD = f"""\
# File formats

After this page you can read every file of a run folder with your own program. Generated from the records that
write them; `make docs` regenerates it. A field that holds its default may be absent.

| file | content | written |
| --- | --- | --- |
| `run.json` | what the run is: schema `{RUN_SCHEMA}` | once, when the run begins |
| `journal.jsonl` | one line per attempt, append-only | as attempts finish |
| `journal.damaged.jsonl` | damaged lines that a [repair](../how-to/repair-a-run.md) set aside | by `assay repair` |
| `shards/` | a journal for each part of a [run on several machines](../scale.md) | as attempts finish |
| `leaderboard.json` | the [numbers](../leaderboard.md): schema `leaderboard.v1` | when the run ends, from the journal |
| `report.md` | the leaderboard as Markdown | when the run ends |
| `seals/` | which users may resume the run ([security](../security.md)) | when a user starts or resumes it |
| `.viewer*` | the viewer's index; may be deleted | by `assay view` |

From Python use [`assay.open_run`](../how-to/analyse-in-python.md), as a table
[`assay export`](cli.md#assay-export). Every line of the journal ends with `line`, its number, and `sum`, a checksum of
everything before that field; readers refuse a line without one, or that does not match. An attempt may have several
lines, because failed attempts are retried: of the lines with the same `key`, the first without failures counts, or else
the last. The JSON Schema of the leaderboard ships in the package.
"""
SECTIONS = {
    "run.json": (RunFile, Repair, RunConfig, TaskDefinition),
    "journal.jsonl": (Record, Trace, Message, Completion, Score, Failure, Usage),
    "leaderboard.json": (Leaderboard, TaskRow, ScoreInterval, Summary, Bounds),
}


def files_page() -> str:
    lines = [HEAD]
    for file, records in SECTIONS.items():
        lines += [f"## {file}", ""]
        for record in records:
            lines += [f"### {record.__name__}", "", (record.__doc__ or "").split("\n\n")[0], "", *members(record)]
    return "\n".join(lines).rstrip() + "\n"
