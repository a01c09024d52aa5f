"""The process that lm_eval runs in."""

from __future__ import annotations

from assay.bridges.process.library_process import TaskLibrary

LIBRARY = TaskLibrary(
    "lm_eval",
    worker="assay.bridges.lm_eval.worker",
    folder="lm-eval",
    missing="tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]'",
)
