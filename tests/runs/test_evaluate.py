"""A run resumes, refuses what changed, keeps failures apart, and counts the same whatever its speed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.runs.sums import run, write_sums

from assay.core.errors import UsageError
from assay.core.journal import Journal, read_records
from assay.core.types import Completion, Request
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks


class Flaky:
    """An adapter that cannot answer some prompts the first time it sees them."""

    name = "flaky"

    def __init__(self, *broken: str) -> None:
        self.broken = set(broken)
        self.asked: list[str] = []

    def generate(self, prompts: Sequence[str]) -> list[str]:
        self.asked += prompts
        found = self.broken.intersection(prompts)
        if found:
            self.broken -= found
            raise ValueError("the line is down")
        return [str(eval(prompt.removeprefix("compute:"))) for prompt in prompts]


def test_a_failure_is_not_a_score_and_a_second_run_retries_only_the_failed_attempts(tmp_path: Path) -> None:
    path = write_sums(tmp_path / "sums.jsonl", 10, wrong=0)
    model = Flaky("compute: 3 + 1", "compute: 7 + 1")
    first = run(path, tmp_path / "run", model, batch_size=1)
    row = first.tasks[0]
    assert (row.score, row.scored, row.failed, row.complete, first.complete) == (1.0, 8, 2, False, False)
    assert (row.bounds.low, row.bounds.high) == (0.8, 1.0)
    assert row.coverage == 0.8

    model.asked.clear()
    second = run(path, tmp_path / "run", model, batch_size=1)
    assert sorted(model.asked) == ["compute: 3 + 1", "compute: 7 + 1"]
    assert (second.tasks[0].score, second.tasks[0].scored, second.complete) == (1.0, 10, True)
    assert second.tasks[0].bounds is None


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    path = write_sums(tmp_path / "sums.jsonl")
    model = Flaky()
    first = run(path, tmp_path / "run", model)
    model.asked.clear()
    assert run(path, tmp_path / "run", model).fingerprint == first.fingerprint
    assert model.asked == []


@pytest.mark.parametrize(("batch_size", "concurrency"), [(1, 1), (3, 2), (16, 64), (1000, 7)])
def test_batch_size_and_concurrency_do_not_change_a_number(tmp_path: Path, batch_size: int, concurrency: int) -> None:
    path = write_sums(tmp_path / "sums.jsonl")
    plain = run(path, tmp_path / "plain", Flaky())
    other = run(path, tmp_path / "other", Flaky(), batch_size=batch_size, concurrency=concurrency)
    assert other.fingerprint == plain.fingerprint
    assert other.tasks[0].score == 0.9


def test_repetitions_are_attempts_of_their_own_and_cluster_by_sample(tmp_path: Path) -> None:
    path = write_sums(tmp_path / "sums.jsonl", 12, wrong=3)
    board = run(path, tmp_path / "run", repeat=4)
    row = board.tasks[0]
    assert (row.total, row.scored, row.score) == (48, 48, 0.75)
    once = run(path, tmp_path / "once").tasks[0]
    # asking a deterministic model four times teaches nothing: the interval must not shrink
    assert row.interval.high - row.interval.low >= 0.9 * (once.interval.high - once.interval.low)


def test_an_adapter_that_answers_with_the_wrong_number_of_texts_fails_and_does_not_score(tmp_path: Path) -> None:
    class Short:
        name = "short"

        def generate(self, prompts: Sequence[str]) -> list[str]:
            return ["1"] * (len(prompts) - 1)

    board = run(write_sums(tmp_path / "sums.jsonl", 5), tmp_path / "run", Short())
    assert (board.tasks[0].failed, board.tasks[0].score, board.overall_score) == (5, None, None)
    assert board.overall_reason == "no sample was scored in sums"


def test_a_slow_answer_has_its_own_column(tmp_path: Path) -> None:
    import threading

    released = threading.Event()

    def slow(prompt: str) -> str:
        if prompt == "compute: 2 + 1":
            released.wait(20)
        return str(eval(prompt.removeprefix("compute:")))

    try:
        board = run(write_sums(tmp_path / "sums.jsonl", 5, wrong=0), tmp_path / "run", slow, timeout_seconds=1.0)
    finally:
        released.set()
    row = board.tasks[0]
    assert (row.timeouts, row.failed, row.scored, row.score) == (1, 0, 4, 1.0)


def test_truncated_answers_are_counted(tmp_path: Path) -> None:
    class Cut:
        name = "cut"

        async def generate(self, request: Request) -> Completion:
            return Completion(text="1", finish_reason="length")

    board = run(write_sums(tmp_path / "sums.jsonl", 5), tmp_path / "run", Cut())
    assert board.tasks[0].truncated == 5


def test_answers_without_anything_to_extract_are_counted(tmp_path: Path) -> None:
    line = {
        "task_id": "m1",
        "category": "mcq",
        "prompt": "Which one?\nA) this\nB) that\nAnswer:",
        "targets": ["B"],
        "metric_name": "exact_match",
        "post_process": "extract_letter",
    }
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(line) + "\n")
    board = run(path, tmp_path / "run", lambda prompt: "no idea, sorry")
    assert (board.tasks[0].nothing_extracted, board.tasks[0].score) == (1, 0.0)


def test_the_journal_can_be_read_without_the_task_file(tmp_path: Path) -> None:
    path = write_sums(tmp_path / "sums.jsonl", 2)
    run(path, tmp_path / "run")
    path.unlink()
    record = next(read_records(tmp_path / "run" / "journal.jsonl"))
    assert record.trace is not None
    assert (record.trace.prompt, record.targets, record.task) == ("compute: 0 + 1", ("no",), "sums")


def test_a_model_is_closed_also_when_its_run_cannot_be_written(tmp_path: Path) -> None:
    class Closing:
        name = "closing"
        closed = False

        async def generate(self, request: Request) -> Completion:
            return Completion(text="4")

        async def aclose(self) -> None:
            self.closed = True

    model = Closing()
    other = Journal(tmp_path / "run" / "journal.jsonl")
    with pytest.raises(UsageError, match="another process is writing this run"):
        run_evaluation(load_tasks(["starter"])[:1], RunConfig(), model=model, folder=tmp_path / "run")
    other.close()
    assert model.closed
