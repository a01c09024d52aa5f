"""Likelihood tasks: choices and texts as a model finds them likely, and the variant for models that only write."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.tasks.likelihood_tasks import ROWS, Reader, choice_task, run, text_task, write

from assay.checking.task_check import check_task
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import Completion, Request
from assay.formats.likelihood_words import generative_variant
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


def test_a_model_that_can_only_write_is_refused_and_offered_the_letters(tmp_path: Path) -> None:
    path = write(tmp_path, choice_task())

    class Writer:
        name = "writer"

        async def generate(self, request: Request) -> Completion:
            assert "B. certainly" in request.text()
            return Completion(text="B")

    with pytest.raises(UsageError, match=r"writer can only generate\. Add --generative"):
        run(path, Writer())
    assert not (tmp_path / "run").exists()
    definitions = [generative_variant(each) for each in load_tasks([str(path)])]
    board = run_evaluation(definitions, RunConfig(), model=Writer(), folder=tmp_path / "run").leaderboard
    assert (board.tasks[0].score, board.tasks[0].metric) == (0.5, "lettered_choice")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scorers": [{"type": "text_likelihood"}]}, "needs the solver `text_likelihood_solver`"),
        ({"scorers": []}, "needs a scorer of type `choice_likelihood`"),
        ({"scorers": [{"type": "choice_likelihood"}]}, "ground_truth_choice"),
        (
            {"scorers": [{"type": "choice_likelihood", "ground_truth_choice": "A", "normalize": "per_bite"}]},
            "Did you mean `per_byte`",
        ),
        ({"solver": {"type": "choice_likelihood_solver", "prompt": "{{ sample.q }}"}}, "needs the field `choices`"),
    ],
)
def test_what_does_not_go_together_is_reported(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    task = choice_task()
    task["definition"] |= change
    with pytest.raises(UsageError) as caught:
        load_tasks([str(write(tmp_path, task))])
    assert says in str(caught.value)
    assert "task.yaml:" in str(caught.value)


def test_a_window_of_one_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="window must be a whole number of at least 2"):
        run(write(tmp_path, text_task(window=1)), Reader())


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (ROWS[0], None),
        ({**ROWS[0], "right": "perhaps"}, "not among the choices"),
        ({**ROWS[0], "options": "no list"}, "expected a list of choices"),
        ({"q": "?", "right": "A"}, "options"),
    ],
)
def test_it_is_checked_without_a_model(tmp_path: Path, row: dict[str, Any], says: str | None) -> None:
    (definition,) = load_tasks([str(write(tmp_path, choice_task(), [row]))])
    found = asyncio.run(check_task(build_task(definition)))
    assert found.gold_checked == 1
    if says is None:
        assert not found.findings
    else:
        assert says in found.findings[0].detail
        assert found.findings[0].problem == "gold_failed"


def test_a_sample_that_fails_names_its_field(tmp_path: Path) -> None:
    path = write(tmp_path, choice_task(), [{"q": "?", "right": "A"}, {"q": "?", "right": "A", "options": ["A", "B"]}])
    row = run(path, Reader())
    assert (row.failed, row.scored) == (1, 1)
    (record,) = [each for each in read_records(tmp_path / "run" / "journal.jsonl") if each.failures]
    assert "definition.solver.choices" in msgspec.json.encode(record.failures).decode()
