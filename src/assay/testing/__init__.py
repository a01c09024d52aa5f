"""Contract checks for parts of your own: call one in a test, and it says which clause a part breaks and for what input.

    from assay.testing import check_metric

    def test_my_metric_keeps_the_contract() -> None:
        check_metric(my_metric, cases=[{"prediction": "Paris", "targets": ["paris"], "score": 1.0}])

The built-in parts pass the same checks. Nothing here needs a test runner.
"""

from assay.testing.aggregate import check_aggregate
from assay.testing.contract import BrokenContractError
from assay.testing.dataset import check_dataset
from assay.testing.metric import check_metric
from assay.testing.model import Exam, check_model, check_model_wrapper
from assay.testing.post_process import check_post_process
from assay.testing.sandbox import check_sandbox
from assay.testing.scorer import check_scorer
from assay.testing.scripted import ScriptedModel, context_with
from assay.testing.solver import check_solver

__all__ = [
    "BrokenContractError",
    "Exam",
    "ScriptedModel",
    "check_aggregate",
    "check_dataset",
    "check_metric",
    "check_model",
    "check_model_wrapper",
    "check_post_process",
    "check_sandbox",
    "check_scorer",
    "check_solver",
    "context_with",
]
