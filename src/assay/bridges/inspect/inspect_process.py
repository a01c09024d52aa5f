"""The process that Inspect runs in."""

from __future__ import annotations

from assay.bridges.process.library_process import TaskLibrary

LIBRARY = TaskLibrary(
    "inspect_ai",
    worker="assay.bridges.inspect.worker",
    folder="inspect",
    missing="Inspect tasks need its package: pip install 'assay-eval[inspect-ai]'",
)
