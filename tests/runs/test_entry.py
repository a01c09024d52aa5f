"""From Python a run is what it is from the command line: models, gates, run files, progress, results."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import Completion, Request
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.plan import make_config, plan_runs
from assay.runs.progress import run_blocking
from assay.tasks.load import load_tasks


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + 1)]} for n in range(8)]
    Path("sums.jsonl").write_text("".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines))
    return "sums.jsonl"


def right(prompt: str) -> str:
    return str(eval(prompt.removeprefix("compute:")))


def wrong(prompt: str) -> str:
    return "no"


@pytest.mark.parametrize("wrong", [None, 3, assay.Example(id="1", prompt="p", targets=("x",), metric="exact_match")])
def test_what_is_not_a_task_is_refused_with_what_would_be_one(task: str, wrong: Any) -> None:
    for tasks in (wrong, [task, wrong]):
        with pytest.raises(UsageError, match=r"is not a task: give a path, .*`load_tasks`"):
            assay.evaluate(tasks, right)
    assert assay.evaluate(Path().glob("*.jsonl"), right).leaderboard.complete


def test_progress_is_a_function(task: str) -> None:
    heard: list[assay.ProgressUpdate] = []
    assay.evaluate(task, right, progress=heard.append)
    assert (heard[0].total, heard[0].done, heard[-1].done, heard[-1].failed) == (8, 0, 8, 0)


def test_tasks_of_other_programs_are_set_up_as_the_command_sets_them_up(task: str) -> None:
    with pytest.raises(UsageError, match=r"sums\.jsonl: --num-fewshot 2"):
        assay.evaluate(task, right, num_fewshot=2)
    with pytest.raises(UsageError, match="--registry: only for openai-evals tasks: `openai-evals:NAME`"):
        assay.evaluate(task, right, source_options={"openai-evals": {"registry": "evals"}})


def test_in_a_running_loop_one_waits_or_awaits(task: str) -> None:
    async def notebook() -> assay.EvaluationResult:
        assert assay.evaluate(task, right).leaderboard.overall_score == 1.0
        handler = signal.getsignal(signal.SIGINT)
        both = await asyncio.gather(assay.aevaluate(task, right), assay.aevaluate(task, wrong))
        assert signal.getsignal(signal.SIGINT) is handler
        return both[0]

    assert asyncio.run(notebook()).leaderboard.overall_score == 1.0


def test_a_service_that_cancels_a_run_can_resume_it(task: str) -> None:
    class Slow:
        name = "slow"
        answering = 3
        closed = 0

        async def generate(self, request: Request) -> Completion:
            self.answering -= 1
            if self.answering < 0:
                started.set()
                await asyncio.Event().wait()
            return Completion(text="1")

        async def aclose(self) -> None:
            self.closed += 1

    started = asyncio.Event()
    model = Slow()

    async def service() -> None:
        run = asyncio.ensure_future(assay.aevaluate(task, model, folder="run", concurrency=1))
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert model.closed == 1
        model.answering = 99
        again = await assay.aevaluate(task, model, folder="run", concurrency=1)
        assert (again.leaderboard.complete, model.answering) == (True, 99 - 5)

    asyncio.run(service())
    assert len(list(read_records(Path("run/journal.jsonl")))) == 8


def test_an_interrupted_run_says_so_and_loses_nothing(task: str) -> None:
    def interrupting(prompt: str) -> str:
        signal.raise_signal(signal.SIGINT) if prompt.startswith("compute: 3") else None
        return right(prompt)

    found = assay.evaluate(task, [interrupting, wrong], concurrency=1)
    assert [run.interrupted for run in found] == [True]
    assert found.exit_status == 130


class Counts:
    """A model that reports its tokens as a text."""

    name = "counts"

    async def generate(self, request: Request) -> Completion:
        return Completion(text="1", tokens_in="many" if "0 + 1" in request.text() else 3)  # type: ignore[arg-type]


class Grades:
    """A scorer that returns a number instead of a `Score`."""

    def __init__(self, *, key: str) -> None:
        self.name = key

    async def __call__(self, sample: assay.Sample, trace: assay.Trace) -> float:
        return 0.5


def test_what_own_parts_return_wrongly_fails_their_attempts_and_the_run_can_be_read(task: str) -> None:
    result = assay.evaluate(task, Counts())
    assert (result.exit_status, result.leaderboard.tasks[0].scored, result.leaderboard.tasks[0].failed) == (3, 7, 1)
    result = assay.evaluate(task, "toy", scorer=f"{__name__}:Grades")
    assert result.leaderboard.tasks[0].failed == 8
    [failure] = {each for record in read_records(result.runs[0].folder / "journal.jsonl") for each in record.failures}
    assert failure.message.startswith("returned no Score that can be written to the journal")


@pytest.mark.parametrize("second", ["nope:zzz", "openai:needs-a-key", "stub:x@y"])
def test_every_model_is_checked_before_the_first_one_is_asked(
    task: str, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    asked: list[str] = []

    def first(prompt: str) -> str:
        asked.append(prompt)
        return right(prompt)

    options: dict[str, Any] = {"temperature": 0.5} if second.startswith("stub") else {}
    with pytest.raises(UsageError):
        assay.evaluate(task, [first, second], **options)
    assert asked == []
    assert not Path("runs").exists()


def test_a_cache_that_the_last_model_cannot_have_is_refused_before_the_first_one_is_called(task: str) -> None:
    called: list[str] = []

    class First:
        name = "first"
        offers = assay.ModelOffers(cache=True)

        async def generate(self, request: Request) -> Completion:
            called.append(request.text())
            return Completion(text="3")

    with pytest.raises(UsageError, match=r"--cache: vllm:served at .* may change under the same name"):
        assay.evaluate(task, [First(), "vllm:served@http://127.0.0.1:9/v1"], cache=True)
    assert called == []
    assert not Path("runs").exists()


def test_a_model_that_was_checked_can_still_be_asked(task: str) -> None:
    class Closing:
        name = "closing"
        closed = False

        async def generate(self, request: Request) -> Completion:
            assert not self.closed
            return Completion(text=right(request.text()))

        async def aclose(self) -> None:
            self.closed = True

    model = Closing()
    found = assay.evaluate(task, [model, "toy"])
    assert [run.leaderboard.tasks[0].score for run in found] == [1.0, 1.0]
    assert model.closed


def test_a_baseline_without_a_gate_is_refused(task: str) -> None:
    assay.evaluate(task, "toy", folder="first")
    with pytest.raises(UsageError, match="--baseline is for gates, and there is none"):
        assay.evaluate(task, "toy", baseline="first")
    with pytest.raises(UsageError, match="--gate-cannot-tell is for gates"):
        assay.evaluate(task, "toy", cannot_tell_passes=True)


def test_the_code_tests_of_every_run_are_tried_before_the_first_model_is_called(tmp_path: Path, task: str) -> None:
    asked: list[str] = []

    def first(prompt: str) -> str:
        asked.append(prompt)
        return right(prompt)

    extras = {"entry_point": "f", "tests": "def check(candidate):\n    assert candidate(1) == undefined_name\n"}
    line = {"id": "1", "prompt": "write f", "targets": [], "metric": "code_exec", "extras": extras}
    (tmp_path / "code.jsonl").write_text(json.dumps(line) + "\n")
    config = make_config()
    planned = [
        *plan_runs(load_tasks([task]), config, [first]),
        *plan_runs(load_tasks([str(tmp_path / "code.jsonl")]), config, ["toy"]),
    ]
    with pytest.raises(UsageError, match="undefined_name"):
        run_blocking(run_all(planned, RunOptions()))
    assert asked == []
