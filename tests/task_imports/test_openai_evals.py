"""OpenAI's evals are scored by their template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.task_imports.scripted_import import Script, run

from assay.task_imports.imported import write_imported
from assay.task_imports.openai_evals import import_openai_evals

EVALS: list[dict[str, Any]] = [
    {"input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "France?"}], "ideal": "Paris"},
    {"input": "Italy?", "ideal": ["Rome", "Roma"], "note": "x"},
    {"input": "nothing"},
]


@pytest.mark.parametrize(
    ("template", "answers", "score"),
    [
        ("match", {"France?": "Paris.", "Italy?": "It is Rome"}, 0.5),
        ("match", {"France?": " Paris", "Italy?": "Roma!"}, 0.5),
        ("includes", {"France?": "Paris.", "Italy?": "It is Roma"}, 1.0),
        ("includes", {"France?": "paris.", "Italy?": "an aroma"}, 0.0),
        ("includes_ignore_case", {"France?": "paris.", "Italy?": "an aroma"}, 1.0),
        ("fuzzy_match", {"France?": "the PARIS!", "Italy?": "Ro"}, 1.0),
    ],
)
def test_openai_evals_are_scored_by_their_template(
    tmp_path: Path, template: str, answers: dict[str, str], score: float
) -> None:
    path = tmp_path / "capitals.jsonl"
    path.write_text("\n".join(map(json.dumps, EVALS)))
    found = import_openai_evals(path, template)
    assert found.left_behind == ["field note: has no counterpart here"]
    assert found.losses == ["documents: line 3: has no ideal"]
    write_imported(found, path, tmp_path / "out", partial=True)
    model = Script(answers)
    assert run(tmp_path / "out", model)["capitals-partial"].score == score
    roles = [[message.role for message in request.messages or ()] for request in model.asked]
    assert sorted(roles) == [[], ["system", "user"]]
