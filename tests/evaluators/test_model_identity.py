"""A wrapper around a model does not make it another model."""

from __future__ import annotations

from assay.core.model_stack import Limited, Retrying
from assay.evaluators import llm_judge_evaluator
from assay.evaluators.model_identity import unwrapped_identity
from assay.models.stub import ConstantModel


class WithSettings(ConstantModel):
    settings = {"temperature": 0.5}  # noqa: RUF012 - as adapters have it


def test_wrappers_are_seen_through() -> None:
    model = WithSettings()
    assert unwrapped_identity(Retrying(Limited(model, 2), retries=1)) == unwrapped_identity(model)
    assert unwrapped_identity(model)["temperature"] == 0.5


def test_a_judge_with_other_settings_is_another_evaluator() -> None:
    one = llm_judge_evaluator("be kind", Retrying(WithSettings(), retries=1)).identity
    other = llm_judge_evaluator("be kind", Retrying(ConstantModel(), retries=1)).identity
    assert one != other
