"""The process that lm_eval runs in."""

from __future__ import annotations

from assay.tasks.library.process import TaskLibrary

LIBRARY = TaskLibrary(
    "lm_eval",
    worker="assay.tasks.lm_eval.worker",
    folder="lm-eval",
    missing="tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]'",
)
