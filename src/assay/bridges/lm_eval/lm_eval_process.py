"""The process that lm_eval runs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.bridges.process.library_process import TaskLibrary
from assay.bridges.process.names import LM_EVAL

LIBRARY = TaskLibrary(
    "lm_eval",
    worker="assay.bridges.lm_eval.worker",
    folder="lm-eval",
    missing="tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]'",
)


def named_task(options: Mapping[str, Any]) -> str:
    """The task of a scorer's or an aggregate's options, as the user names it."""
    library = options.get("library")
    file = library.get("file") if isinstance(library, Mapping) else None
    return f"{LM_EVAL}{options.get('task')}{f'@{file}' if file else ''}"
