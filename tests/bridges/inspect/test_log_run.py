"""An Inspect log becomes a run once, with Inspect's own numbers; what broke or reached a limit is no score there."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.bridges.inspect.log_run import CONVERTED, is_log, other_results, run_of_log
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.results.board.board_types import TaskRow
from assay.run_file import read_run_file
from assay.runs.run_handle import Run, open_run

LOGS = Path(__file__).parent / "logs"
"""Written by inspect_ai 0.3.285 with its mock model; the events were taken out."""
QUIZ = LOGS / "quiz.eval"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def own_numbers(path: Path) -> dict[str, float]:
    """The means that Inspect reports in the log."""
    return {
        score["name"]: metric["value"]
        for score in json.loads(path.read_text())["results"]["scores"]
        if score.get("reducer") in (None, "mean")
        for name, metric in score["metrics"].items()
        if name in ("accuracy", "mean")
    }


def row(run: Run) -> TaskRow:
    (found,) = run.leaderboard.tasks
    return found


@pytest.mark.parametrize("name", ["epochs", "graded", "errors", "tools"])
def test_the_numbers_are_those_of_inspect(name: str) -> None:
    run = open_run(LOGS / f"{name}.json")
    assert {each.name: each.value for each in row(run).aggregates} == pytest.approx(own_numbers(LOGS / f"{name}.json"))


def test_epochs_are_attempts() -> None:
    run = open_run(LOGS / "epochs.json")
    assert (row(run).total, run.provenance.config.repeat, run.leaderboard.complete) == (12, 4, True)
    assert [each.id for each in run.samples()] == ["one", "two", "three"]
    answers = [each.record.trace.prediction for each in run.sample("one").attempts if each.record.trace]
    assert answers == ["2", "2", "3", "2"]


def test_an_error_is_a_failure_and_not_a_score() -> None:
    run = open_run(LOGS / "errors.json")
    (failed,) = run.failures()
    assert (failed.sample_id, failed.record.scores) == ("two", ())
    assert (failed.record.failures[0].kind, failed.record.failures[0].message) == ("error", "ValueError('it broke')")
    assert (row(run).failed, row(run).score) == (1, 1.0)


def test_a_limit_is_a_failure_though_inspect_scored_it() -> None:
    assert own_numbers(LOGS / "limited.json") == {"includes": 0.0}
    run = open_run(LOGS / "limited.json")
    assert (row(run).failed, row(run).score) == (2, None)
    assert {failed.record.failures[0].kind for failed in run.failures()} == {"limit"}
    assert (run.provenance.config.temperature, run.provenance.config.max_tokens) == (0.3, 77)


def test_a_grader_without_a_grade_leaves_no_value() -> None:
    run = open_run(LOGS / "graded.json")
    values = {each.sample_id: each.record.scores[0].values for each in run.attempts()}
    assert values["one"] == {"score": 1.0, "value": "C"}
    assert values["two"] == {"score": 0.5, "value": "P"}
    assert values["three"] == {"score": None}
    assert row(run).unscored == 1


def test_what_the_grader_used_is_kept_apart_from_the_answers() -> None:
    model, judge = open_run(LOGS / "graded.json").costs()
    assert (model.tokens_in, model.tokens_out) == (5, 7)
    assert (judge.tokens_in, judge.tokens_out) == (485, 42)


def test_a_conversation_keeps_its_tool_calls() -> None:
    (attempt,) = open_run(LOGS / "tools.json").sample("one").attempts
    trace = attempt.record.trace
    assert trace is not None
    assert [message.role for message in trace.messages or ()] == ["user", "assistant", "tool", "assistant"]
    call = (trace.messages or ())[1].tool_calls
    assert call is not None
    assert call[0]["function"] == {"name": "add", "arguments": '{"x":1,"y":1}'}
    assert (trace.completions[0].tokens_in, trace.completions[0].tokens_out) == (70, 23)


def test_the_run_says_where_it_comes_from() -> None:
    run = open_run(LOGS / "epochs.json").provenance
    (definition,) = run.definitions
    assert (run.model["name"], definition.name, run.versions["inspect_ai"]) == ("mockllm/model", "epochs", "0.3.285")
    assert run.created.startswith("2026-")
    assert definition.provenance.recorded["log"].endswith("epochs.json")
    assert len(definition.provenance.recorded["sha256"]) == 64


def test_a_log_is_converted_once() -> None:
    folder = run_of_log(LOGS / "epochs.json")
    before = (folder / "run.json").stat().st_mtime_ns
    assert run_of_log(LOGS / "epochs.json") == folder
    assert (folder / "run.json").stat().st_mtime_ns == before
    assert [each.name for each in CONVERTED.iterdir()] == [folder.name]


def test_numbers_that_are_no_means_are_named() -> None:
    found = other_results(run_of_log(LOGS / "epochs.json"))
    assert found == ["includes accuracy by max 1", "includes accuracy by at_least_2 0.6667"]


def test_an_archive_is_a_run_too() -> None:
    pytest.importorskip("zstandard", reason="the inspect extra is not installed")
    run = open_run(QUIZ)
    assert (run.tasks, row(run).total) == (("quiz",), 2)


def test_other_json_is_no_log(tmp_path: Path) -> None:
    other = tmp_path / "leaderboard.json"
    other.write_text('{"schema": "leaderboard.v1"}')
    assert not is_log(other)


@pytest.mark.parametrize("samples", [None, []])
def test_a_log_without_samples_is_refused_and_leaves_nothing(samples: Any, tmp_path: Path) -> None:
    log = json.loads((LOGS / "epochs.json").read_text())
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({**log, "samples": samples}))
    with pytest.raises(UsageError, match="holds no samples"):
        run_of_log(path)
    assert not list(CONVERTED.iterdir())


def other_model(path: Path) -> Path:
    """The same questions, and another model that answers one of them otherwise."""
    log = json.loads((LOGS / "epochs.json").read_text())
    log["eval"]["model"] = "mockllm/other"
    log["samples"][0]["scores"]["includes"]["value"] = "I"
    path.write_text(json.dumps(log))
    return path


def test_two_logs_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = str(LOGS / "epochs.json"), str(other_model(tmp_path / "other.json"))
    assert main(["diff", a, b, "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["score_a"], task["score_b"]) == (0.5, pytest.approx(5 / 12))
    assert main(["leaderboard", a, b, "--csv"]) == 0
    assert "mockllm/other" in capsys.readouterr().out


def test_a_log_alone_keeps_its_scores_when_rescored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescore", str(LOGS / "epochs.json"), "--run-dir", "again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall_score"] == 0.5
    assert read_run_file(Path("again")).answers_of


def test_a_log_is_rescored_with_a_task_of_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"one": "1+1?", "two": "2+2?", "three": "Capital of France?"}
    targets = {"one": "3", "two": "5", "three": "Paris"}
    lines = [{"id": each, "prompt": asked[each], "targets": [targets[each]], "metric": "exact_match"} for each in asked]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["rescore", str(LOGS / "epochs.json"), "sums.jsonl", "--run-dir", "again", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["tasks"][0]["correct"] == 6
    assert "scored 12 answers again; 0 attempts have no answer" in printed.err


def test_an_error_has_no_answer_to_rescore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads((LOGS / "errors.json").read_text())
    broken = next(each for each in log["samples"] if each["id"] == "one")
    broken["error"] = {"message": "RuntimeError('after it had answered')"}
    (tmp_path / "late.json").write_text(json.dumps(log))
    main(["rescore", "late.json"])
    assert "scored 1 answers again; 2 attempts have no answer" in capsys.readouterr().err
    assert (tmp_path / "late.json.rescored" / "journal.jsonl").exists()


def test_the_viewer_and_export_take_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(LOGS / "tools.json")
    assert main(["view", log, "--export", "site"]) == 0
    assert (tmp_path / "site" / "index.html").exists()
    capsys.readouterr()
    assert main(["export", log, "--format", "jsonl"]) == 0
    assert [json.loads(line)["sample_id"] for line in capsys.readouterr().out.splitlines()] == ["one", "two"]
    assert main(["show", log, "--sample", "one"]) == 0
    assert "add(x=1, y=1)" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")  # of its own parts, which it leaves open
def test_a_log_that_inspect_writes_here_has_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    tiktoken = pytest.importorskip("tiktoken", reason="inspect_ai is not installed")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import f1, includes, match

    # the mock model counts its tokens with a file that it would download
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: SimpleNamespace(encode=lambda text, **_: text.split()))
    answers = [ModelOutput.from_content("mockllm/model", text) for text in ("2", "It is Paris", "3", "Lyon")]
    task = inspect_ai.Task(
        dataset=[Sample(id="sum", input="1+1?", target="2"), Sample(input="Capital of France?", target="Paris")],
        scorer=[match(), includes(), f1()],
        epochs=2,
    )
    model = get_model("mockllm/model", custom_outputs=answers)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success"
    run = open_run(Path(log.location.removeprefix("file://")))
    ours = {each.name: each.value for each in row(run).aggregates}
    theirs = {each.name: next(iter(each.metrics.values())).value for each in log.results.scores}
    assert ours == pytest.approx(theirs)
    assert row(run).total == 4
