"""The records of declarative files: every field of task, dataset, model, evaluation and run files, a table each.

`checked_task` and its sisters take a document as it was read and return a record (`declarative/records.py`). The same
tables make the JSON Schema that editors use (`assay schema`). One file for each kind of thing that can be written.
"""

from assay.tasks.declarative.schema.checked import (
    EDITOR_SCHEMAS,
    check_definition,
    checked_adapter,
    checked_dataset,
    checked_definition,
    checked_evaluation,
    checked_model,
    checked_run,
    checked_specifications,
    checked_task,
    editor_schema,
    kind_of,
    other_kind,
)

__all__ = [
    "EDITOR_SCHEMAS",
    "check_definition",
    "checked_adapter",
    "checked_dataset",
    "checked_definition",
    "checked_evaluation",
    "checked_model",
    "checked_run",
    "checked_specifications",
    "checked_task",
    "editor_schema",
    "kind_of",
    "other_kind",
]
