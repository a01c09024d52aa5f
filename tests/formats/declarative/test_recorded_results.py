"""A task specification with the log of a finished task: its answers are scored again, and no model is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.yaml_tasks import RUN, Read, run

from assay.core.errors import UsageError

SPEC = "{task_key: t, model_key: m, task_result_log_path: logs/t.json}"


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def log(*samples: dict[str, Any], **more: Any) -> str:
    return json.dumps({"format_version": "v1", "evidence": {"metrics": [], "samples": samples, "errors": []}, **more})


def sample(number: int, gold: str, output: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    solver = None if output is None else {"output": output}
    return {"sample_id": number, "sample": {"data": {"q": "x", "a": gold}}, "solver": solver, "errors": [], **more}


TRACE = {"trace": {"items": [message("right")]}, "raw_outputs": []}
CHAT = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "wrong"}], "output": None}


def write(folder: Path, text: str) -> str:
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / "t.json").write_text(text)
    return RUN.replace("{task_key: t, model_key: m}", SPEC)


def test_recorded_answers_are_scored_by_the_task_without_a_model(read: Read, tmp_path: Path) -> None:
    failed = sample(2, "right", None, errors=[{"message": "the server was down"}])
    in_trials = {
        "sample_id": 3,
        "sample": None,
        "solver": None,
        "errors": [],
        "trials": [sample(3, "right", TRACE)],
    }
    text = write(tmp_path, log(sample(0, "right", TRACE), sample(1, "right", CHAT), failed, in_trials))
    [definition] = read(text)
    assert (definition.plan.model, definition.dataset.size) == (None, 4)
    assert str(tmp_path / "logs" / "t.json") in definition.provenance.files

    def model(prompt: str) -> str:
        raise AssertionError("it is not called")

    row = run([definition], model, tmp_path / "run").tasks[0]
    assert (row.score, row.scored, row.failed) == (pytest.approx(2 / 3), 3, 1)
    journal = (tmp_path / "run" / "journal.jsonl").read_text()
    assert "the server was down" in journal


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "is no log of a task result"),
        (log(), "the log has no samples"),
        (log(sample(0, "a", TRACE), format_version="v2"), "of the format 'v2'"),
        (log({**sample(0, "a", TRACE), "trials": [sample(0, "a", TRACE)] * 2}), "sample 0 has 2 trials"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_field(read: Read, tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=rf"task_result_log_path: .*{says}"):
        read(write(tmp_path, text))


def test_a_log_that_is_not_there(read: Read, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"task_result_log_path: there is no file .*missing.json"):
        read(write(tmp_path, log()).replace("logs/t.json", "missing.json"))
