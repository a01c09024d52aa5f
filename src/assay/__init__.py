"""assay measures language models, prompts and datasets. The public names, each imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_NAMES = {
    "assay.run_config": "RunConfig",
    "assay.core.describe": "DatasetInfo Mean ModelOffers ScorerInfo SolverNeeds Value Whole describes",
    "assay.core.errors": "FailureError UsageError",
    "assay.core.seams": "BuildContext Model ModelAdapter Served",
    "assay.core.types": (
        "Completion DatasetSpec Failure Message PartSpec Record Request Sample Score Summary TaskDefinition Trace"
    ),
    "assay.core.fingerprint": "fingerprint",
    "assay.harness": "METRIC_FNS TaskResult run_leaderboard run_task write_leaderboard",
    "assay.metrics.assertions": "has_forbidden label_in_set",
    "assay.models.adapters.toy": "ToyAdapter",
    "assay.prompts.few_shot": "render",
    "assay.results.board.board_types": "Leaderboard",
    "assay.results.diff.differences": "BoardDiff",
    "assay.results.frames.attempt": "Attempt SampleResult",
    "assay.runs.entry": "aevaluate evaluate",
    "assay.runs.evaluate": "EvaluationResult RunResult",
    "assay.runs.run_handle": "Run open_run",
    "assay.runs.progress": "ProgressUpdate",
    "assay.formats.fixtures": "seed_fixture_tasks",
    "assay.formats.folder.reader": "load_all_tasks",
    "assay.formats.folder.rules": "Example",
    "assay.formats.frozen_spec.reader": "TaskSpec load_fixtures post_process validate_file validate_task",
    "assay.task_records": "RatioOfSums",
    "assay.tasks.load": "load_tasks",
}
"""By the module that has them."""
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the table above is the list

if TYPE_CHECKING:  # the same names for type checkers and editors, which do not follow a table
    from assay.core.describe import DatasetInfo as DatasetInfo
    from assay.core.describe import Mean as Mean
    from assay.core.describe import ModelOffers as ModelOffers
    from assay.core.describe import ScorerInfo as ScorerInfo
    from assay.core.describe import SolverNeeds as SolverNeeds
    from assay.core.describe import Value as Value
    from assay.core.describe import Whole as Whole
    from assay.core.describe import describes as describes
    from assay.core.errors import FailureError as FailureError
    from assay.core.errors import UsageError as UsageError
    from assay.core.fingerprint import fingerprint as fingerprint
    from assay.core.seams import BuildContext as BuildContext
    from assay.core.seams import Model as Model
    from assay.core.seams import ModelAdapter as ModelAdapter
    from assay.core.seams import Served as Served
    from assay.core.types import Completion as Completion
    from assay.core.types import DatasetSpec as DatasetSpec
    from assay.core.types import Failure as Failure
    from assay.core.types import Message as Message
    from assay.core.types import PartSpec as PartSpec
    from assay.core.types import Record as Record
    from assay.core.types import Request as Request
    from assay.core.types import Sample as Sample
    from assay.core.types import Score as Score
    from assay.core.types import Summary as Summary
    from assay.core.types import TaskDefinition as TaskDefinition
    from assay.core.types import Trace as Trace
    from assay.formats.fixtures import seed_fixture_tasks as seed_fixture_tasks
    from assay.formats.folder.reader import load_all_tasks as load_all_tasks
    from assay.formats.folder.rules import Example as Example
    from assay.formats.frozen_spec.reader import TaskSpec as TaskSpec
    from assay.formats.frozen_spec.reader import load_fixtures as load_fixtures
    from assay.formats.frozen_spec.reader import post_process as post_process
    from assay.formats.frozen_spec.reader import validate_file as validate_file
    from assay.formats.frozen_spec.reader import validate_task as validate_task
    from assay.harness import METRIC_FNS as METRIC_FNS
    from assay.harness import TaskResult as TaskResult
    from assay.harness import run_leaderboard as run_leaderboard
    from assay.harness import run_task as run_task
    from assay.harness import write_leaderboard as write_leaderboard
    from assay.metrics.assertions import has_forbidden as has_forbidden
    from assay.metrics.assertions import label_in_set as label_in_set
    from assay.models.adapters.toy import ToyAdapter as ToyAdapter
    from assay.prompts.few_shot import render as render
    from assay.results.board.board_types import Leaderboard as Leaderboard
    from assay.results.diff.differences import BoardDiff as BoardDiff
    from assay.results.frames.attempt import Attempt as Attempt
    from assay.results.frames.attempt import SampleResult as SampleResult
    from assay.run_config import RunConfig as RunConfig
    from assay.runs.entry import aevaluate as aevaluate
    from assay.runs.entry import evaluate as evaluate
    from assay.runs.evaluate import EvaluationResult as EvaluationResult
    from assay.runs.evaluate import RunResult as RunResult
    from assay.runs.progress import ProgressUpdate as ProgressUpdate
    from assay.runs.run_handle import Run as Run
    from assay.runs.run_handle import open_run as open_run
    from assay.task_records import RatioOfSums as RatioOfSums
    from assay.tasks.load import load_tasks as load_tasks
else:

    def __getattr__(name: str) -> Any:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'assay' has no attribute {name!r}")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
