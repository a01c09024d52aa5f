"""The fixture `assay_run`: runs each set of tasks once per session, and keeps rows for the summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.types import TaskDefinition
from assay.formats.folder.rules import Example
from assay.harness import inline_task
from assay.pytest_plugin.measured import Board, CannotMeasureError
from assay.results.worst_attempts import attempts_of
from assay.runs.entry import evaluate
from assay.runs.evaluate import RunResult
from assay.text.wording import show


class Runs:
    """Called with tasks, it runs them and returns the board; the same call again returns the same board."""

    def __init__(
        self,
        *,
        model: str | None,
        run_dir: str | None,
        limit: str | None,
        temporary: Callable[[], Path],
        worker: str | None,
    ) -> None:
        self._model = model
        self._limit = _count(limit)
        # workers of one session must not write one journal
        self._kept = None if run_dir is None else Path(run_dir, *([worker] if worker else []))
        self._temporary = temporary
        self._boards: dict[str, tuple[Board, Any]] = {}
        """Each with what it was called with, kept because another object could get the address of one that is gone."""
        self._rows: list[dict[str, Any]] = []

    def __call__(
        self,
        tasks: str | Path | TaskDefinition | Sequence[str | Path | TaskDefinition],
        model: object | None = None,
        **settings: Any,
    ) -> Board:
        """The result of `assay.evaluate` for one model: the given one, or that of the fixture."""
        __tracebackhide__ = True
        model = self._model if model is None else model
        if self._limit is not None:
            settings.setdefault("limit", self._limit)
        given = [tasks, model, *sorted(settings.items())]
        key = repr([_known(item) for item in given])
        if key not in self._boards:
            self._boards[key] = self._run(tasks, model, settings), given
        return self._boards[key][0]

    def answer(self, prompt: str, assertions: Sequence[dict[str, Any]], model: object | None) -> str:
        """The model's answer to a prompt, which is sent once."""
        __tracebackhide__ = True
        example = Example(
            id="prompt", prompt=prompt, targets=(), metric="assertions", extras={"assertions": list(assertions)}
        )
        board = self(inline_task(f"prompt-{short_fingerprint([prompt, list(assertions)])[:8]}", [example]), model)
        [record] = attempts_of(board.result.folder / "journal.jsonl", "prompt")
        broken = [failure for failure in record.failures if not failure.scorer]  # each test checks its own assertion
        if record.trace is None or broken:
            broke = "; ".join(f"{item.stage}/{item.kind}: {item.message}" for item in broken)
            raise CannotMeasureError(f"{show(prompt)} was not answered: {broke or 'nothing came'}")
        return record.trace.prediction

    def take_rows(self) -> list[dict[str, Any]]:
        """What the summary shows of the runs since it was last called."""
        rows, self._rows = self._rows, []
        return rows

    def _run(self, tasks: Any, model: object | None, settings: dict[str, Any]) -> Board:
        __tracebackhide__ = True
        try:
            result = evaluate(tasks, model, **{"runs_folder": self._kept or self._temporary(), **settings})
        except UsageError as error:
            raise CannotMeasureError(str(error)) from None
        if len(result.runs) != 1:
            raise CannotMeasureError("the tasks name several models; choose one with `model=`")
        [run] = result.runs
        if run.interrupted:
            raise KeyboardInterrupt
        self._rows += _rows_of(run)
        return Board(run)


def _known(value: object) -> object:
    """What distinguishes it from others: of data its content, of an object which one it is."""
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, str | int | float | dict | TaskDefinition | None) else id(value)


def _rows_of(run: RunResult) -> list[dict[str, Any]]:
    """Plain data: an xdist worker sends it to the main process as JSON."""
    cost = run.leaderboard.cost
    return [
        {
            "folder": str(run.folder),
            "model": run.leaderboard.model_label,
            "task": row.task,
            "metric": row.metric_definition,
            "score": row.score,
            "interval": None if row.interval is None else [row.interval.low, row.interval.high],
            "failed": row.failed + row.timeouts,
            "remaining": row.remaining,
            "total": row.total,
            "cost": cost.amount if cost is not None else None,
        }
        for row in run.leaderboard.tasks
    ]


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise CannotMeasureError(f"--assay-limit must be at least 1, got {text!r}")
    return int(text)
