"""A Python metric that breaks whatever the scores are is refused before a model is called; one that may not is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import EQUALS, python_scorer, run_task, write_task

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.types import Completion, Request
from assay.results.board.board_types import Leaderboard
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.runs.exit_status import exit_status_of

ROWS = [{"q": f"{n}", "a": f"{n}"} for n in range(4)]


class Unasked:
    name = "unasked"

    async def generate(self, request: Request) -> Completion:
        raise AssertionError("a model was asked")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def with_metric(folder: Path, snippet: str, scorer: dict[str, Any] = EQUALS) -> Path:
    metrics = [{"type": "python", "compute_metrics_snippet": snippet}]
    return write_task(folder, ROWS, [{**scorer, "metrics": metrics}])


def body(*lines: str) -> str:
    return "def compute_metrics(scores):\n" + "".join(f"    {line}\n" for line in lines)


def refused(path: Path) -> str:
    """Why the task is not run; no model was called and nothing is left behind."""
    with pytest.raises(UsageError) as caught:
        run_evaluation(read_yaml_tasks(path), RunConfig(), model=Unasked(), folder=path.parent / "run")
    assert not (path.parent / "run").exists()
    assert not (path.parent / ".assay").exists()
    return str(caught.value)


REFUSED = {
    "raises": (body("raise RuntimeError('later')"), "RuntimeError: later (line 2 of the snippet)"),
    "divides by zero": (body("return {'m': 1 / 0}"), "ZeroDivisionError"),
    "no module": ("import no_such_module_at_all\n" + body("return {'m': 1}"), "no_such_module_at_all"),
    "no module inside": (body("n = len(scores)", "import no_such_module_at_all"), "no_such_module_at_all"),
    "a name nobody defined": (
        body("total = sum(s.values['is_correct'] for s in scores)", "return totl"),
        "totl",
    ),
    "no argument": ("def compute_metrics():\n    return {'m': 1}\n", "takes no argument; it is called with (scores)"),
    "two arguments": ("def compute_metrics(scores, more):\n    return {'m': 1}\n", "demands 2 arguments"),
    "a number": (body("return sum(s.values['is_correct'] for s in scores) / len(scores)"), "got float"),
    "nothing": (body("return None"), "got NoneType"),
    "a text": (body("return {'m': 'high'}"), "`m` is"),
    "no number": (body("return {'m': float('nan')}"), "NaN"),
    "beyond any number": (body("return {'m': 10 ** 400}"), "`m` is"),
    "an empty mapping": (body("return {}"), "an empty one"),
    "needs more than there are": (body("assert len(scores) > 99, 'too few'", "return {'m': 1}"), "too few"),
    "a value that the scorer never gives": (
        body("return {'m': sum(s.values['is_corect'] for s in scores)}"),
        "reads the value `is_corect`, which its scorer never gives. Did you mean `is_correct`?",
    ),
    "the same by attribute": (body("return {'m': scores[0].values.is_corect}"), "Did you mean `is_correct`?"),
    "and by item": (body("return {'m': scores[0]['is_corect']}"), "Did you mean `is_correct`?"),
}


@pytest.mark.parametrize(("snippet", "why"), REFUSED.values(), ids=REFUSED)
def test_what_breaks_whatever_the_scores_are_is_refused(tmp_path: Path, snippet: str, why: str) -> None:
    message = refused(with_metric(tmp_path, snippet))
    placed = ": definition.scorers[0].metrics[0].compute_metrics_snippet: "
    assert message.startswith("task `t`: metric `main.python`: ") or placed in message
    assert why in message


def test_an_async_metric_is_tried_too(tmp_path: Path) -> None:
    assert "RuntimeError" in refused(with_metric(tmp_path, "async " + body("raise RuntimeError")))


MAY_WORK = {
    "looks for a label": body(
        "good = [s for s in scores if s.values['label'] == 'good']",
        "if not good:",
        "    raise ValueError('nothing is good')",
        "return {'m': len(good) / len(scores)}",
    ),
    "weighs labels": body("return {'m': sum({'good': 1, 'bad': 0}[s.values['label']] for s in scores)}"),
    "counts what there is": body(
        "return {name: 1 for name in ('good', 'bad') if any(s.values.get('label') == name for s in scores)}"
    ),
    "reads texts": body("return {'m': sum(len(s.values.label.upper()) for s in scores)}"),
    "reads metadata": body("return {'m': sum(s.metadata['weight'] for s in scores)}"),
    "any name": body("return {name: 1 for s in scores for name in s.values}"),
    "finds nothing": body("return {'m': 1} if any(s['label'] == 'good' for s in scores) else None"),
}


@pytest.mark.parametrize("snippet", MAY_WORK.values(), ids=MAY_WORK)
def test_what_depends_on_unknown_scores_is_run(tmp_path: Path, snippet: str) -> None:
    scorer = python_scorer('{"scores": {"label": "good"}, "metadata": {"weight": 2}}')
    board = run_task(with_metric(tmp_path, snippet, scorer))
    assert board.tasks[0].score is not None
    assert exit_status_of(board) == 0


def test_what_a_known_scorer_gives_is_there_to_be_tried(tmp_path: Path) -> None:
    labels = {"type": "labeler_via_model", "model_key": "toy", "user_prompt": "x", "valid_labels": ["safe", "unsafe"]}
    weighed = body("return {'m': sum({'safe': 1.0, 'unsafe': 0.0}[s['label']] for s in scores), 'n': no_such_name}")
    assert "no_such_name" in refused(with_metric(tmp_path, weighed, labels))


def test_a_metric_that_breaks_on_the_scores_there_are_fails_the_run_and_says_so(tmp_path: Path) -> None:
    snippet = body("if any(s['is_correct'] for s in scores):", "    return {'m': 1}", "raise ValueError('all wrong')")
    board: Leaderboard = run_task(with_metric(tmp_path, snippet), model=lambda prompt: "nonsense")
    assert (board.tasks[0].score, exit_status_of(board)) == (None, 3)
    [failure] = board.tasks[0].failures
    assert failure == "metric/exception"


def test_an_aggregate_of_ones_own_that_raises_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_aggregates.py").write_text(
        "def at_once(table, *, level):\n    raise RuntimeError('never')\n"
        "def late(table, *, level):\n    if len(table) < 9:\n        raise RuntimeError('too few')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = write_task(tmp_path, ROWS, [{**EQUALS, "metrics": [{"type": "own_aggregates:at_once"}]}])
    assert "RuntimeError: never (own_aggregates.py:2)" in refused(path)
    board = run_task(write_task(tmp_path, ROWS, [{**EQUALS, "metrics": [{"type": "own_aggregates:late"}]}]))
    assert exit_status_of(board) == 3


def test_the_command_exits_2_and_check_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_metric(tmp_path, body("raise RuntimeError('later')"))
    for command in (["run", str(path), "--model", "toy"], ["check", str(path)]):
        assert main(command) == 2
        assert "RuntimeError: later" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
