"""assay measures language models, prompts and datasets. The public names, imported when first asked for."""

from importlib import import_module
from typing import Any

_HOME = {
    "Completion": "assay.core.types",
    "Example": "assay.tasks.task_folder_rules",
    "Failure": "assay.core.types",
    "FailureError": "assay.core.errors",
    "METRIC_FNS": "assay.harness",
    "Model": "assay.core.seams",
    "ModelAdapter": "assay.core.seams",
    "Record": "assay.core.types",
    "Request": "assay.core.types",
    "RunConfig": "assay.core.config",
    "Sample": "assay.core.types",
    "Score": "assay.core.types",
    "TaskDefinition": "assay.core.types",
    "TaskSpec": "assay.tasks.spec_file",
    "ToyAdapter": "assay.models.toy",
    "Trace": "assay.core.types",
    "UsageError": "assay.core.errors",
    "evaluate": "assay.metrics.assertions",
    "has_forbidden": "assay.metrics.assertions",
    "label_in_set": "assay.metrics.assertions",
    "load_all_tasks": "assay.tasks.task_folder",
    "load_fixtures": "assay.tasks.spec_file",
    "load_tasks": "assay.tasks.load",
    "post_process": "assay.metrics.post_process",
    "render": "assay.prompts.few_shot",
    "run_evaluation": "assay.evaluation",
    "run_leaderboard": "assay.harness",
    "run_task": "assay.harness",
    "seed_fixture_tasks": "assay.tasks.fixtures",
    "validate_file": "assay.tasks.spec_file",
    "validate_task": "assay.tasks.spec_file",
    "write_leaderboard": "assay.harness",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the table above is the list


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
