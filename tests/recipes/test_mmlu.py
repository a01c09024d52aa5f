"""MMLU by likelihood knows the right letter."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recipes.made import made, with_data

from assay.core.describe import ModelOffers
from assay.core.types import Completion, Request
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


class Oracle:
    """Finds the right letter likeliest, or no letter at all."""

    name = "oracle"
    offers = ModelOffers(likelihoods="yes")

    def __init__(self, right: dict[str, str]) -> None:
        self._right = right

    async def generate(self, request: Request) -> Completion:
        likely = request.continuation == f" {self._right.get(str(request.prompt))}"
        return Completion(text="", logprob=-0.1 if likely else -5.0)


@with_data
def test_mmlu_by_likelihood_knows_the_right_letter(tmp_path: Path) -> None:
    definitions = load_tasks([str(made("mmlu", tmp_path / "tasks") / "mmlu-global-facts.jsonl")])
    samples = list(build_task(definitions[0]).dataset)
    right = {sample.prompt: sample.targets[0] for sample in samples}
    board = run_evaluation(definitions, RunConfig(), model=Oracle(right), folder=tmp_path / "run").leaderboard
    assert board.tasks[0].score == 1.0
    blind = run_evaluation(definitions, RunConfig(), model=Oracle({}), folder=tmp_path / "blind").leaderboard
    first_letter = sum(sample.targets[0] == "A" for sample in samples) / len(samples)
    assert blind.tasks[0].score == pytest.approx(first_letter)  # ties go to the first choice
