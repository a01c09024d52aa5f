"""What a test asserts on: the leaderboard of a run, its tasks, and scores that explain themselves.

A failure is never a score. If attempts failed, a comparison has a result only if it would be the same whatever they had
scored; otherwise `CannotMeasureError` says what broke, and the test is an error, not a failed assertion.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from numbers import Real

from assay.catalog import unknown_name
from assay.core.errors import AssayError
from assay.core.types import Bounds, Record
from assay.overriding import override
from assay.results.board.board_types import Leaderboard, ScoreInterval, TaskRow
from assay.results.board.overall import open_attempts
from assay.results.measure import Measure, measure_of
from assay.results.per_example import PerExample, per_example
from assay.results.worst_attempts import worst_attempts
from assay.run_file import read_run_file
from assay.runs.evaluate import RunResult
from assay.text.numbers import level_text, number
from assay.text.printable import one_line

WORST = 3
LONGEST = 100


class CannotMeasureError(AssayError):
    """A score cannot be determined, because something broke."""


class Board(Mapping[str, "MeasuredTask"]):
    """The tasks of one run by name, and the score over all of them."""

    def __init__(self, result: RunResult) -> None:
        self.result = result
        self._tasks = {row.task: MeasuredTask(row, self) for row in result.leaderboard.tasks}

    @property
    def leaderboard(self) -> Leaderboard:
        return self.result.leaderboard

    @property
    def overall(self) -> MeasuredScore:
        board = self.leaderboard
        return MeasuredScore.of(
            self,
            "overall",
            board.overall_score,
            board.overall_interval,
            board.overall_bounds,
            reason=board.overall_reason,
            rows=board.tasks,
        )

    @override
    def __getitem__(self, name: str) -> MeasuredTask:
        __tracebackhide__ = True
        if name not in self._tasks:
            raise CannotMeasureError(unknown_name("task of the run", name, self._tasks))
        return self._tasks[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    @override
    def __len__(self) -> int:
        return len(self._tasks)

    @override
    def __repr__(self) -> str:
        return f"Board({', '.join(map(repr, self._tasks.values()))})"

    def causes(self, failures: Iterable[str]) -> str:
        """Why attempts have no score: their failures, each once, and what stopped the run."""
        stopped = [self.result.stopped] if self.result.stopped else []
        return one_line("; ".join(dict.fromkeys([*stopped, *failures])), 500)

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        definitions = read_run_file(self.result.folder).definitions
        return {definition.name: measure_of(definition) for definition in definitions}

    def worst(self, task: str | None = None) -> list[str]:
        """A line for each of the attempts worth reading first."""
        attempts = worst_attempts(self.result.folder / "journal.jsonl", self._measures, WORST, task=task)
        seen = [(record, per_example(record, self._measures[record.task])) for record in attempts]
        return [self._line(*item) for item in seen if item[1].failure is not None or item[1].score != 1.0]

    def _line(self, record: Record, seen: PerExample) -> str:
        verdict = f"failed ({seen.failure})" if seen.failure is not None else f"score {seen.score}"
        texts = [("input", seen.prompt or record.last_request), ("answer", seen.prediction)]
        texts.append(("targets", " / ".join(seen.targets) or None))
        words = [f"{name} {one_line(text, LONGEST)!r}" for name, text in texts if text is not None]
        return "  ".join([f"{one_line(f'{record.task}/{seen.id}', LONGEST)}: {one_line(verdict, 200)}", *words])


class MeasuredTask:
    """One task of a run: its score, and the row of the leaderboard behind it."""

    def __init__(self, row: TaskRow, board: Board) -> None:
        self.row = row
        self._board = board

    @property
    def score(self) -> MeasuredScore:
        __tracebackhide__ = True
        row = self.row
        return MeasuredScore.of(
            self._board, row.task, row.score, row.interval, row.bounds, reason=row.reason, rows=[row], task=row.task
        )

    @property
    def low(self) -> float:
        """The lower end of the interval at the confidence level of the run."""
        return self._interval.low

    @property
    def high(self) -> float:
        return self._interval.high

    @property
    def failed(self) -> int:
        """Attempts that failed, timeouts included."""
        return self.row.failed + self.row.timeouts

    @property
    def _interval(self) -> ScoreInterval:
        __tracebackhide__ = True
        whole = self.score  # without a score there is no interval either
        if whole.missing:
            raise CannotMeasureError(f"{self.row.task}: {whole.missing_in_words()}, so the interval is not the task's")
        if self.row.interval is None:
            raise CannotMeasureError(f"{self.row.task}: its score has no interval")
        return self.row.interval

    @override
    def __repr__(self) -> str:
        row = self.row
        return f"<{row.task}: {'no score' if row.score is None else number(row.score)}, {self.failed} failed>"


def _comparing(compare: Callable[[float, float], bool]) -> Callable[[MeasuredScore, object], bool]:
    def compared(score: MeasuredScore, other: object) -> bool:
        __tracebackhide__ = True
        return score._decided(compare, other)

    return compared


class MeasuredScore(float):
    """A score that compares as a number, unless failed attempts could have decided otherwise, and explains itself."""

    board: Board
    name: str
    task: str | None
    interval: ScoreInterval | None
    bounds: Bounds | None
    rows: list[TaskRow]

    @classmethod
    def of(
        cls,
        board: Board,
        name: str,
        value: float | None,
        interval: ScoreInterval | None,
        bounds: Bounds | None,
        *,
        reason: str | None,
        rows: list[TaskRow],
        task: str | None = None,
    ) -> MeasuredScore:
        __tracebackhide__ = True
        if value is None:
            broke = board.causes(f"{kind}: {said}" for row in rows for kind, said in row.failure_examples.items())
            why = one_line(f"{reason or 'nothing was scored'}{f' ({broke})' if broke else ''}", 600)
            raise CannotMeasureError(f"{name} has no score: {why}. See: assay show {board.result.folder}")
        made = cls(value)
        made.board, made.name, made.task, made.interval, made.bounds, made.rows = (
            *(board, name, task, interval, bounds),
            list(rows),
        )
        return made

    @property
    def missing(self) -> int:
        """Attempts without a score: they failed, or have not run."""
        return sum(open_attempts(row) for row in self.rows)

    def missing_in_words(self) -> str:
        kinds = [f"{count} × {kind}" for row in self.rows for kind, count in row.failures.items()]
        remaining = sum(row.remaining for row in self.rows)
        kinds += [f"{remaining} not yet run"] if remaining else []
        total = sum(row.total for row in self.rows)
        return f"{self.missing} of {total} attempts have no score ({', '.join(kinds)})"

    def _possible(self) -> tuple[float, ...] | None:
        """The score, or the ends of what it could have been; None if there are none."""
        if not self.missing:
            return (float(self),)
        return None if self.bounds is None else (self.bounds.low, self.bounds.high)

    def _decided(self, compare: Callable[[float, float], bool], other: object) -> bool:
        __tracebackhide__ = True
        scores = [self, other] if isinstance(other, MeasuredScore) else [self]
        if not isinstance(other, Real):
            return NotImplemented  # type: ignore[no-any-return]
        open_ones = [score for score in scores if score.missing]
        if not open_ones:
            return compare(float(self), float(other))
        ours, theirs = self._possible(), scores[1]._possible() if scores[1:] else (float(other),)
        if ours is not None and theirs is not None and compare not in (operator.eq, operator.ne):
            results = {compare(one, another) for one in ours for another in theirs}
            if len(results) == 1:
                return results.pop()
        raise open_ones[0].not_decided(f"{float(other):g}")

    def whole(self) -> float:
        """The number, for computing with it."""
        __tracebackhide__ = True
        if self.missing:
            raise self.not_decided("what is computed from it")
        return float(self)

    def not_decided(self, what: str) -> CannotMeasureError:
        bounds = self.bounds
        between = "they could decide it"
        if bounds is not None:
            between = f"the score lies between {number(bounds.low)} and {number(bounds.high)}"
        broke = self.board.causes(message for row in self.rows for message in row.failure_examples.values())
        return CannotMeasureError(
            f"{self.name}: {self.missing_in_words()}: {between}, and {what} is not decided. "
            f"What broke: {broke}. See: assay show {self.board.result.folder}"
        )

    __ge__ = _comparing(operator.ge)
    __gt__ = _comparing(operator.gt)
    __le__ = _comparing(operator.le)
    __lt__ = _comparing(operator.lt)
    __eq__ = _comparing(operator.eq)
    __ne__ = _comparing(operator.ne)
    __hash__ = float.__hash__

    @override
    def __repr__(self) -> str:
        return format(float(self), ".4g")

    def in_words(self) -> list[str]:
        """The first line about a failed comparison."""
        scored, total = sum(row.scored for row in self.rows), sum(row.total for row in self.rows)
        sure = ""
        if (ends := self.interval) is not None:
            sure = f", {level_text(ends.level)} interval {number(ends.low)} to {number(ends.high)}"
        lines = [f"{self.name}: score {number(float(self))}{sure}, over {scored} of {total} attempts"]
        return lines + ([self.missing_in_words()] if self.missing else [])

    def sections(self) -> list[tuple[str, str]]:
        """The section below a failure: the worst samples, and where to find all of them."""
        lines = [*self.board.worst(self.task), f"all samples: assay show {self.board.result.folder}"]
        return [(f"assay: worst samples of {self.name}", "\n".join(lines))]


def _computing(compute: Callable[..., float]) -> Callable[..., float]:
    def computed(score: MeasuredScore, *others: object) -> float:
        __tracebackhide__ = True
        return compute(
            score.whole(), *(other.whole() if isinstance(other, MeasuredScore) else other for other in others)
        )

    return computed


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg", "abs", "round", "bool"):
    setattr(MeasuredScore, f"__{_name}__", _computing(getattr(float, f"__{_name}__")))
