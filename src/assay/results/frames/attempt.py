"""An attempt and a sample in Python: the record of the journal, and what follows from it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from assay.core.types import Failure, Record, Score
from assay.costs.spending import Cost
from assay.overriding import override
from assay.results.conversation import answer_of
from assay.results.measure import Measure
from assay.results.per_example import per_example, question
from assay.text.numbers import number
from assay.text.printable import one_line


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt at a sample: its record in the journal, and the numbers that tables show."""

    record: Record
    """The journal's line in full: trace, scores, failures, usage."""
    score: float | None
    """The number that the task's score averages; None where the attempt failed, is excluded or has none."""
    outcome: str
    """`right`, `partial`, `wrong`, `scored`, `unparsed`, `unscored`, `excluded`, `failed` or `timeout`."""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    """The part of `tokens_out` spent on reasoning, where the model reports it."""
    cached: int = 0
    """Answers from assay's own cache, which cost nothing."""
    cost: Cost | None = None
    """Of the evaluated model, without earlier tries that failed: those are in the cost of the task."""
    judge_tokens_in: int = 0
    judge_tokens_out: int = 0
    judge_cost: Cost | None = None
    """None when no judge was called."""
    measure: Measure = Measure()

    @property
    def task(self) -> str:
        return self.record.task

    @property
    def sample_id(self) -> str:
        return self.record.sample_id

    @property
    def attempt(self) -> int:
        """Which repetition this is, from 1."""
        return self.record.attempt

    @property
    def prompt(self) -> str | None:
        """The prompt, or the turns of the conversation that were not the model's own."""
        trace = self.record.trace
        return self.record.last_request if trace is None else question(trace)

    @property
    def prediction(self) -> str | None:
        """The model's answer, or its tool calls where it made some instead: `get_weather(city="Oslo")`."""
        return None if self.record.trace is None else answer_of(self.record.trace)

    @property
    def answer(self) -> str | None:
        """What was extracted from the prediction and compared; None when that is the prediction itself."""
        return per_example(self.record, self.measure).answer

    @property
    def targets(self) -> tuple[str, ...]:
        return self.record.targets

    @property
    def scores(self) -> tuple[Score, ...]:
        return self.record.scores

    @property
    def failures(self) -> tuple[Failure, ...]:
        return self.record.failures

    @property
    def metadata(self) -> dict[str, Any]:
        return self.record.metadata

    @property
    def seconds(self) -> float:
        return self.record.seconds

    @override
    def __repr__(self) -> str:
        prediction = one_line(self.prediction or "", 60)
        where = one_line(f"{self.task} / {self.sample_id}", 120)
        score = "" if self.score is None else f", score {number(self.score)}"
        return f"<Attempt {self.attempt} at {where}: {self.outcome}{score}, {prediction!r}>"

    @override
    def __str__(self) -> str:
        from assay.pages.attempt_text import attempt_text

        return attempt_text(self.record, {self.task: self.measure}, longest=None).text()

    def _repr_html_(self) -> str:
        from assay.pages.html.notebook import attempts_html

        return attempts_html([self])


class SampleResult(Struct, frozen=True, kw_only=True):
    """One sample of a task with every attempt at it, in order."""

    task: str
    id: str
    attempts: tuple[Attempt, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        return self.attempts[0].targets

    @property
    def metadata(self) -> dict[str, Any]:
        return self.attempts[0].metadata

    @property
    def scores(self) -> tuple[float | None, ...]:
        """The number of each attempt."""
        return tuple(attempt.score for attempt in self.attempts)

    @override
    def __repr__(self) -> str:
        return "\n\n".join(map(str, self.attempts))

    def _repr_html_(self) -> str:
        from assay.pages.html.notebook import attempts_html

        return attempts_html(self.attempts)
