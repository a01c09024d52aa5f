"""The records of declarative files: every field of task, dataset, model, evaluation and run files, a table each.

`checked_task` and its sisters take a document as it was read and return plain data with defaults filled in. The same
tables make the JSON Schema that editors use (`assay schema`). One file for each kind of thing that can be written.
"""

from assay.tasks.declarative.schema.checked import (
    EDITOR_SCHEMAS,
    checked_dataset,
    checked_evaluation,
    checked_model,
    checked_run,
    checked_task,
    editor_schema,
    kind_of,
)

__all__ = [
    "EDITOR_SCHEMAS",
    "checked_dataset",
    "checked_evaluation",
    "checked_model",
    "checked_run",
    "checked_task",
    "editor_schema",
    "kind_of",
]
